"""What a client's hook says, in the house's own words.

Every client names its events, tools and arguments in its own way; its adapter turns them into one `ToolCall`, and
nothing behind the adapters knows a dialect. Both records hold what was said, not what it means: paths stand as the
client wrote them, and resolving or refusing them is left to whoever decides.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Action = Literal["edit", "create", "delete", "move", "run"]
    Kind = Literal["edit", "shell", "read", "mcp", "agent", "other"]
    Moment = Literal[
        "before",
        "after",
        "failed",
        "start",
        "prompt",
        "stop",
        "end",
        "interrupt",
        "compact",
        "child_start",
        "child_stop",
        "idle",
        "other",
    ]


class Target:
    """One path that a call is about to touch, as the client wrote it, and what happens to it there."""

    __slots__ = ("action", "path")

    def __init__(self, path: str, action: Action = "edit") -> None:
        self.path = path
        self.action: Action = action

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and (self.path, self.action) == (other.path, other.action)

    def __hash__(self) -> int:
        return hash((self.path, self.action))

    def __repr__(self) -> str:
        return f"Target({self.path!r}, {self.action!r})"


class ToolCall:
    """One event of one client. `problem` is a sentence about what could not be read, empty when all is well."""

    __slots__ = (
        "agent",
        "call",
        "client",
        "command",
        "cwd",
        "folder",
        "is_strange",
        "kind",
        "moment",
        "pid",
        "problem",
        "prompt",
        "raw",
        "running",
        "session",
        "source",
        "status",
        "targets",
        "task",
        "thread",
        "tool",
    )

    def __init__(
        self,
        *,
        client: str = "generic",
        moment: Moment = "other",
        session: str | None = None,
        thread: str | None = None,
        cwd: str | None = None,
        tool: str = "",
        kind: Kind = "other",
        targets: list[Target] | None = None,
        command: str = "",
        folder: str = "",
        call: str | None = None,
        source: str = "",
        pid: int | None = None,
        agent: str | None = None,
        prompt: str = "",
        problem: str = "",
        status: int | None = None,
        task: str = "",
        running: list[str] | None = None,
        raw: dict[str, Any] | None = None,
    ) -> None:
        self.client = client
        self.moment: Moment = moment
        self.session = session  # the root session
        self.thread = thread  # a subagent of it
        self.cwd = cwd
        self.tool = tool  # the client's own name for it
        self.kind: Kind = kind
        self.targets = targets if targets is not None else []  # of file tools and patches; a shell's are read later
        self.command = command
        self.folder = folder  # where the command runs, as the client wrote it; empty for its own folder
        self.is_strange = False  # its name says that it writes, and nobody knows what
        self.call = call
        self.source = source  # how a session started, why it ended, what asked for a compaction
        self.pid = pid
        self.agent = agent
        self.prompt = prompt
        self.problem = problem
        self.status = status  # of a command that is over, where the client tells it
        self.task = task  # the client's name for what the call has begun in the background
        self.running = running  # the names of all that goes on there; None where the client does not say
        self.raw: dict[str, Any] = raw if raw is not None else {}

    def __repr__(self) -> str:
        said = (f"{name}={getattr(self, name)!r}" for name in self.__slots__ if name != "raw" and getattr(self, name))
        return f"ToolCall({', '.join(said)})"

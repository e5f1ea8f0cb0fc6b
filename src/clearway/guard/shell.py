"""What a command line writes to and which scripts it starts, found by reading it, before it runs.

`writes` follows redirections, `tee`, patches and started scripts through everything that can stand around them: changed
directories, variables, loops, functions, wrappers, here-documents, shells within shells. It never raises and holds its
deadline. It speaks only of what the line itself shows: what a program does inside is not known here, and text that no
shell will run is no command.
"""

from __future__ import annotations

from clearway.guard.glance import starts_nothing
from clearway.guard.writers import cannot_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.guard.danger import Watch
    from clearway.guard.gitglance import GitRun
    from clearway.guard.toolcall import Target

__all__ = ["ShellWrites", "cannot_write", "of_windows", "writes"]


class ShellWrites:
    """What a command line writes: `targets` by itself, `patch_targets` by the patches it applies. `unknown` says that
    it may also write where this reading cannot tell: a target that depends on more than the line, or syntax that could
    not be read to its end. `unread` says why the line, or a part of it, was not read at all; of such text, `guesses`
    are what it plainly writes: enough to refuse, not to claim. What it runs: `runs`, scripts from files, and
    `commands`, the beginnings of its simple commands, both as far as they are known; `gits`, its git commands. `sweeps`
    are paths with wildcards for what programs find themselves, and files that are only suspected: to be asked about as
    well. A relative path is one from the caller's directory."""

    __slots__ = ("commands", "gits", "guesses", "patch_targets", "runs", "sweeps", "targets", "unknown", "unread")

    def __init__(
        self,
        targets: list[Target] | None = None,
        patch_targets: list[Target] | None = None,
        unknown: bool = False,
        runs: list[Target] | None = None,
        commands: list[str] | None = None,
        guesses: list[Target] | None = None,
        unread: str = "",
        gits: list[GitRun] | None = None,
        sweeps: list[Target] | None = None,
    ) -> None:
        self.targets = targets if targets is not None else []
        self.patch_targets = patch_targets if patch_targets is not None else []
        self.unknown = unknown
        self.runs = runs if runs is not None else []
        self.commands = commands if commands is not None else []
        self.guesses = guesses if guesses is not None else []
        self.unread = unread
        self.gits = gits if gits is not None else []
        self.sweeps = sweeps if sweeps is not None else []

    def __repr__(self) -> str:
        return f"ShellWrites({self.targets}, {self.patch_targets}, unknown={self.unknown}, runs={self.runs})"


def writes(command: str, cwd: str, home: str, *, declared: bool = False, watch: Watch | None = None) -> ShellWrites:
    """What a command line, started in `cwd`, writes to and starts. Paths stand as they were written, or absolute where
    the line has changed the directory. declared: `commands` are wanted, too. watch: hears of every program."""
    if cannot_write(command) and starts_nothing(command, declared) and not (watch and watch.cares(command)):
        return ShellWrites()
    from clearway.guard.shellwalk import Walk  # only for the few commands that may write or start something

    walk = Walk(watch)
    walk.read(command, cwd, home)
    return ShellWrites(
        list(walk.targets),
        list(walk.patch_targets),
        walk.unknown,
        list(walk.runs),
        list(walk.commands),
        [target for target in walk.guesses if target not in walk.targets],
        walk.unread,
        walk.gits,
        list(walk.sweeps),
    )


def of_windows(command: str) -> str:
    """A command of PowerShell as this reading takes it: a backslash parts folders, a backquote goes on in the next
    line."""
    return command.replace("`\n", " ").replace("\\", "/")

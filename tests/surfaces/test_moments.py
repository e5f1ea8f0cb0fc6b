"""The moments of a session, as its client's hooks tell them: calls, turns, subagents, compaction, ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git

from clearway import catalog, repository
from clearway.config import Caller, Settings
from clearway.db import Statement
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.surfaces import callers, hooks
from clearway.surfaces.mcp_callers import Connection

MINUTE = 60_000


class Session:
    """One session of one client: what its hooks are told, and what its model reads."""

    def __init__(self, desk: Desk, client: str, name: str, pid: int) -> None:
        self.desk = desk
        self.client = client
        self.name = name
        self.pid = pid
        self.thread = ""
        self.calls = 0

    def tell(self, event: str, **more: Any) -> str:
        """One event; the context that comes back."""
        out, err, code = self.raw(event, **more)
        assert (err, code) == ("", 0)
        if not out:
            return ""
        said = json.loads(out)["hookSpecificOutput"]
        assert set(said) == {"hookEventName", "additionalContext"}, said
        assert said["hookEventName"] == event
        return said["additionalContext"]

    def raw(self, event: str, **more: Any) -> tuple[str, str, int]:
        return hooks.answer(self.client, self.payload(event, **more), self.environ)

    def payload(self, event: str, **more: Any) -> bytes:
        payload = {"session_id": self.name, "cwd": str(self.desk.repo), "hook_event_name": event, **more}
        if self.thread:
            payload |= {"agent_id": self.thread, "agent_type": "worker"}
        return json.dumps(payload).encode()

    @property
    def environ(self) -> dict[str, str]:
        return {**self.desk.environ, "CLAUDE_PID": str(self.pid)}

    def before(self, tool: str, *, call: str | None = "", **given: Any) -> str:
        """A call is asked for; the reason why it is refused, or an empty text."""
        self.calls += 1
        named = {} if call is None else {"tool_use_id": call or f"call-{self.calls}"}
        out, err, code = self.raw("PreToolUse", tool_name=tool, tool_input=given, **named)
        assert (err, code) == ("", 0)
        return json.loads(out)["hookSpecificOutput"].get("permissionDecisionReason", "") if out else ""

    def after(self, tool: str, *, call: str | None = "", event: str = "PostToolUse", **given: Any) -> str:
        """The last call is over; the context that comes back."""
        named = {} if call is None else {"tool_use_id": call or f"call-{self.calls}"}
        response = given.pop("response", {"stdout": "", "interrupted": False})
        told = {"error": given.pop("error")} if "error" in given else {"tool_response": response}
        return self.tell(event, tool_name=tool, tool_input=given, **named, **told)

    def edits(self, path: str) -> str:
        refusal = self.before("Edit", file_path=str(self.desk.repo / path), old_string="a", new_string="b")
        if not refusal:
            self.after("Edit", file_path=str(self.desk.repo / path), old_string="a", new_string="b")
        return refusal

    def runs(self, command: str, **more: Any) -> str:
        return self.before("Bash", command=command, **more)

    def ran(self, command: str, **more: Any) -> str:
        return self.after("Bash", command=command, **more)

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """A call of one of our own tools, over a connection that knows the session."""
        rooms = Rooms(Settings(self.desk.environ))
        process = rooms.liveness.identify(self.pid)
        agent = callers.NAMES[self.client]
        caller = Caller(agent, self.name, cwd=str(self.desk.repo), host=rooms.liveness.host, process=process)
        try:
            return rooms.ask(catalog.OPERATIONS[operation], arguments, caller)
        finally:
            rooms.close()


class Desk:
    """A machine with one repository and a clock that is moved by hand, in a file."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.clock = tmp_path / "clock"
        self.now = 1_000_000
        self.clock.write_text(f"{self.now} 1780000000000")
        self.environ = {
            "HOME": str(tmp_path),
            "CLEARWAY_HOME": str(tmp_path / "state"),
            "PATH": os.environ["PATH"],
            "CLEARWAY_TEST_CLOCK": str(self.clock),
        }
        self.children: list[subprocess.Popen[bytes]] = []

    def forward(self, *, minutes: float = 0, ms: int = 0) -> None:
        self.now += int(minutes * MINUTE) + ms
        self.clock.write_text(f"{self.now} 1780000000000")

    def process(self) -> int:
        """A process that stands for a client; its death is real."""
        self.children.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        return self.children[-1].pid

    def kill(self, pid: int) -> None:
        child = next(child for child in self.children if child.pid == pid)
        child.kill()
        child.wait()

    def session(self, name: str, *, client: str = "claude", pid: int = 0, start: str = "startup") -> Session:
        made = Session(self, client, name, pid or self.process())
        if start:
            made.tell("SessionStart", source=start)
        return made

    def human(self, operation: str, **arguments: Any) -> dict[str, Any]:
        rooms = Rooms(Settings(self.environ))
        try:
            caller = Caller("human", cwd=str(self.repo), host=rooms.liveness.host, human=True)
            return rooms.ask(catalog.OPERATIONS[operation], arguments, caller)
        finally:
            rooms.close()

    def rows(self, text: str) -> list[Any]:
        rooms = Rooms(Settings(self.environ))
        try:
            found = repository.holding(str(self.repo))
            session = rooms.of_repository(found).engine.begin(writes=False)
            try:
                return list(session.rows(Statement("rows", text, text), {}))
            finally:
                session.rollback()
        finally:
            rooms.close()

    def open_calls(self, session: str) -> list[str]:
        folder = Path(self.environ["CLEARWAY_HOME"]) / "run" / "open" / session
        return sorted(os.listdir(folder)) if folder.exists() else []


@pytest.fixture
def desk(tmp_path: Path, repo: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, repo)
    yield made
    for child in made.children:
        child.kill()
        child.wait()


# --- what a call starts -------------------------------------------------------------------------------------------


def test_a_running_script_is_not_edited_and_may_be_run_by_others(desk: Desk) -> None:
    """P38."""
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.runs("python run.py") == ""
    refusal = beta.edits("run.py")
    assert "run.py is held by claude-code (running)" in refusal
    assert len(refusal.encode()) <= 240
    assert beta.runs("python run.py") == ""
    alpha.ran("python run.py")
    assert beta.edits("run.py") == "", "its own run is no obstacle to it"
    beta.ran("python run.py")


@pytest.mark.parametrize(
    "command",
    [
        *("bash deploy/x.sh", "./deploy/x.sh", "sh -e deploy/x.sh", "cd deploy && ./x.sh", "env A=1 bash deploy/x.sh"),
        *("bash -lc 'bash deploy/x.sh'", "timeout 9 ./deploy/x.sh > out.log", "make pack"),
    ],
)
def test_a_script_is_held_from_the_question_to_the_end_of_that_very_call(desk: Desk, command: str) -> None:
    """C10."""
    desk.human("set_setting", name="declared_commands", value="make pack @deploy/x.sh")
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.runs(command) == ""
    assert "(running)" in beta.edits("deploy/x.sh")
    assert "PATH_HELD" in beta.before("Edit", file_path=str(desk.repo / "deploy"), old_string="", new_string="")
    alpha.ran(command)
    assert beta.edits("deploy/x.sh") == ""


def test_two_runs_of_one_script_end_one_by_one(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.runs("python run.py", call="one") == ""
    assert alpha.runs("python run.py", call="two") == ""
    alpha.ran("python run.py", call="one")
    assert "(running)" in beta.edits("run.py")
    alpha.ran("python run.py", call="two")
    assert beta.edits("run.py") == ""


def test_calls_without_an_id_are_matched_by_counting(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    for _ in range(2):
        assert alpha.runs("python run.py", call=None) == ""
    assert len(desk.open_calls("a")) == 2
    alpha.ran("python run.py", call=None)
    assert "(running)" in beta.edits("run.py")
    alpha.ran("python run.py", call=None)
    assert beta.edits("run.py") == ""
    assert desk.open_calls("a") == []


def test_a_script_that_another_edits_is_not_started(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.edits("run.py") == ""
    assert "held by claude-code" in beta.runs("python run.py")
    assert desk.open_calls("b") == [], "a refused call is not open"


def test_what_is_refused_starts_and_takes_nothing(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.edits("held.txt") == ""
    assert "held.txt" in beta.runs("python run.py > held.txt")
    assert alpha.edits("run.py") == ""


def test_a_command_that_fails_gives_back_its_script(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.runs("python run.py") == ""
    alpha.after("Bash", event="PostToolUseFailure", command="python run.py", error="Exit code 3")
    assert beta.edits("run.py") == ""


def test_an_interrupted_run_goes_with_its_turn(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.runs("python run.py") == ""
    alpha.tell("Stop")
    assert beta.edits("run.py") == ""
    assert desk.open_calls("a") == []


def test_what_runs_in_the_background_is_held_until_the_client_says_it_ended(desk: Desk) -> None:
    """Semantics 4: a backgrounded one until it leaves the client's background_tasks."""
    alpha, beta = desk.session("a"), desk.session("b")
    command = "python run.py > log.txt"
    assert alpha.runs(command, run_in_background=True) == ""
    alpha.ran(command, run_in_background=True, response={"stdout": "", "backgroundTaskId": "shell-1"})
    assert alpha.edits("free.txt") == ""
    task = {"id": "shell-1", "type": "shell", "status": "running", "description": "x"}
    alpha.tell("Stop", background_tasks=[task])
    assert "(running)" in beta.edits("run.py")
    assert "held by claude-code" in beta.edits("log.txt"), "what it writes stays its, too"
    assert beta.edits("free.txt") == "", "the turn is over for everything else"
    alpha.tell("Stop", background_tasks=[])
    assert beta.edits("run.py") == ""
    assert beta.edits("log.txt") == ""


def test_a_declared_command_needs_its_resources(desk: Desk) -> None:
    desk.human("set_setting", name="declared_commands", value="npm run e2e @port:3000")
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.runs("npm run e2e -- --fast") == ""
    assert "@port:3000 is held by claude-code" in beta.runs("cd src; npm run e2e")
    assert beta.runs("npm run unit") == ""
    alpha.ran("npm run e2e -- --fast")
    assert beta.runs("npm run e2e") == ""


# --- calls that last ------------------------------------------------------------------------------------------------


def test_a_long_test_run_keeps_the_work(desk: Desk) -> None:
    """C02."""
    alpha, beta = desk.session("a"), desk.session("b", client="codex")
    alpha.ask("create_issue", title="Parser", status="ready")
    alpha.ask("claim_issue", next=True)
    assert alpha.edits("src/a.py") == ""
    assert alpha.runs("pytest -q") == ""
    desk.forward(minutes=45)
    assert "tool call in flight since" in beta.edits("src/a.py")
    with pytest.raises(Refusal, match="tool call in flight since"):
        beta.ask("claim_issue", issue_id="ISSUE-1")
    desk.forward(minutes=80)
    assert beta.edits("src/a.py") == ""
    assert beta.ask("claim_issue", issue_id="ISSUE-1")["attempt_id"]


@pytest.mark.parametrize("moment", ["after", "prompt", "stop", "compact"])
def test_what_a_long_call_held_is_held_when_it_ends(desk: Desk, moment: str) -> None:
    """C02: the word that ends a call is a sign of life; it comes before the call stops holding."""
    alpha, beta = desk.session("a"), desk.session("b")
    alpha.ask("claim_paths", paths=["src/a.py"])
    assert alpha.runs("pytest -q") == ""
    desk.forward(minutes=45)
    if moment == "after":
        alpha.ran("pytest -q")
    elif moment == "compact":
        alpha.tell("SessionStart", source="compact")
    else:
        alpha.tell("UserPromptSubmit" if moment == "prompt" else "Stop")
    assert "PATH_HELD" in beta.edits("src/a.py")


def test_a_killed_client_keeps_nothing_though_its_call_is_marked(desk: Desk) -> None:
    """C02: or if A's pid is gone."""
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.edits("src/a.py") == ""
    assert alpha.runs("pytest -q") == ""
    desk.kill(alpha.pid)
    assert beta.edits("src/a.py") == ""


@pytest.mark.parametrize(
    ("tool", "given", "opens"),
    [
        ("Bash", {"command": "pytest -q"}, True),
        ("Bash", {"command": "ls -la"}, False),
        ("Agent", {"prompt": "x"}, True),
        ("mcp__other__build", {}, True),
        ("mcp__clearway__room", {}, False),
        ("Read", {"file_path": "x"}, False),
        ("TodoWrite", {}, False),
        ("Edit", {"file_path": "free.txt"}, False),
    ],
)
def test_a_call_is_open_if_it_may_last_and_its_end_is_told(
    desk: Desk, tool: str, given: dict[str, Any], opens: bool
) -> None:
    alpha = desk.session("a")
    assert alpha.before(tool, **given) == ""
    assert len(desk.open_calls("a")) == opens
    alpha.after(tool, **given)
    assert desk.open_calls("a") == []


def test_a_patch_in_a_shell_of_codex_has_no_end_and_opens_nothing(desk: Desk) -> None:
    codex = desk.session("c", client="codex")
    patch = "*** Begin Patch\n*** Update File: free.txt\n@@\n-a\n+b\n*** End Patch"
    assert codex.runs(f"apply_patch <<'EOF'\n{patch}\nEOF") == ""
    assert desk.open_calls("c") == []


def test_half_an_hour_of_calls_keeps_leases_and_presence(desk: Desk) -> None:
    """P43."""
    alpha, beta = desk.session("a"), desk.session("b")
    alpha.tell("UserPromptSubmit", prompt="Go on.")
    assert alpha.edits("src/a.py") == ""
    for _ in range(31):
        desk.forward(minutes=1)
        assert alpha.runs("ls") == ""
    assert "held by claude-code" in beta.edits("src/a.py")
    (seen,) = [each for each in beta.ask("room")["agents"] if each["session"] == "a"]
    assert seen["presence"] == "busy"


def test_a_lease_that_beats_carry_is_renewed_by_its_own_edits(desk: Desk) -> None:
    """So that the fast step, which knows only what is stored, may answer again."""
    alpha = desk.session("a")
    assert alpha.edits("src/a.py") == ""
    (lease,) = desk.rows("SELECT expires_at FROM path_lease")
    for _ in range(4):
        desk.forward(minutes=10)
        assert alpha.edits("src/a.py") == ""
    (renewed,) = desk.rows("SELECT expires_at FROM path_lease")
    assert renewed.expires_at > lease.expires_at + 5 * MINUTE


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", {"command": "cat > held.txt <<'EOF'\n" + "it's a line of text\n" * 262_144 + "EOF\n"}),
        ("Write", {"file_path": "held.txt", "content": "a line of text\n" * 3_400_000}),
    ],
    ids=["5 MB command", "50 MB payload"],
)
def test_a_large_call_is_read_like_a_small_one(desk: Desk, tool: str, given: dict[str, Any]) -> None:
    """P50."""
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.edits("held.txt") == ""
    assert "held.txt is held by claude-code" in beta.before(tool, **given)
    assert alpha.before(tool, **given) == ""


# --- turns ------------------------------------------------------------------------------------------------------


def test_a_turn_ends_for_its_own_thread_only(desk: Desk) -> None:
    """P40, P41."""
    alpha, beta = desk.session("a"), desk.session("b")
    child = Session(desk, "claude", "a", alpha.pid)
    child.thread = "agent-1"
    alpha.ask("claim_paths", paths=["deploy"], ttl_seconds=28_800)
    assert alpha.edits("src/a.py") == ""
    assert child.edits("src/b.py") == ""
    alpha.tell("Stop", background_tasks=[{"id": "agent-1", "type": "subagent", "status": "running"}])
    assert beta.edits("src/a.py") == ""
    assert "held" in beta.edits("src/b.py")
    child.tell("SubagentStop")
    assert beta.edits("src/b.py") == ""
    assert "held" in beta.edits("deploy/x.sh")


def test_a_prompt_ends_the_turn_that_nobody_ended(desk: Desk) -> None:
    """Semantics 4: an interrupted turn has no end of its own."""
    alpha, beta = desk.session("a"), desk.session("b")
    alpha.tell("UserPromptSubmit", prompt="Go on.")
    assert alpha.edits("src/a.py") == ""
    assert alpha.runs("pytest") == ""
    assert "held" in beta.edits("src/a.py")
    alpha.tell("UserPromptSubmit", prompt="No, this.")
    assert beta.edits("src/a.py") == ""
    assert desk.open_calls("a") == []


# --- sessions ---------------------------------------------------------------------------------------------------


def working(desk: Desk) -> tuple[Session, dict[str, Any]]:
    """A session that works on an issue and holds two files."""
    alpha = desk.session("old")
    alpha.ask("create_issue", title="Parser", status="ready")
    claim = alpha.ask("claim_issue", next=True, idempotency_key="k")
    alpha.ask("claim_paths", paths=["deploy"])
    assert alpha.edits("src/a.py") == ""
    return alpha, claim


@pytest.mark.parametrize("source", ["clear", "resume", "compact"])
@pytest.mark.parametrize("farewell", [True, False])
def test_a_new_id_in_the_same_process_goes_on(desk: Desk, source: str, farewell: bool) -> None:
    """Semantics 2: leases, attempts and keyed answers."""
    alpha, claim = working(desk)
    beta = desk.session("b")
    if farewell:
        alpha.tell("SessionEnd", reason="clear" if source == "clear" else "resume")
        assert "held" in beta.edits("src/a.py"), "nothing is given back"
    again = desk.session("new", pid=alpha.pid, start="")
    assert "ISSUE-1" in again.tell("SessionStart", source=source)
    assert again.edits("src/a.py") == ""
    assert again.edits("deploy/x.sh") == ""
    assert "held" in beta.edits("src/a.py")
    replayed = again.ask("claim_issue", next=True, idempotency_key="k")
    assert (replayed["attempt_id"], replayed["lease_token"]) == (claim["attempt_id"], claim["lease_token"])
    resumed = again.ask("claim_issue", issue_id="ISSUE-1")
    assert (resumed["resumed"], resumed["lease_token"]) == (True, claim["lease_token"])
    open_ones = desk.rows("SELECT id FROM session WHERE ended_at IS NULL AND pid IS NOT NULL ORDER BY id")
    assert [row.id for row in open_ones] == ["b", "new"], "the earlier one is over"
    alpha.name = "new"
    alpha.tell("SessionEnd", reason="other")
    assert beta.edits("src/a.py") == ""


@pytest.mark.parametrize("source", ["fork", "startup"])
def test_a_fork_and_a_fresh_start_inherit_nothing_and_end_nothing(desk: Desk, source: str) -> None:
    alpha, claim = working(desk)
    again = desk.session("new", pid=alpha.pid, start=source)
    assert "held by claude-code" in again.edits("src/a.py")
    with pytest.raises(Refusal, match="being worked on"):
        again.ask("claim_issue", issue_id="ISSUE-1")
    assert alpha.edits("src/a.py") == "", "the older one goes on in that process"
    assert alpha.ask("claim_issue", issue_id="ISSUE-1")["lease_token"] == claim["lease_token"]


def test_of_several_sessions_in_one_process_none_is_guessed(desk: Desk) -> None:
    """An editor, an app server."""
    alpha, _ = working(desk)
    desk.session("another", pid=alpha.pid)
    again = desk.session("new", pid=alpha.pid, start="resume")
    assert "held by claude-code" in again.edits("src/a.py")
    assert alpha.edits("src/a.py") == ""


def test_a_session_that_compacts_goes_on_with_its_own_work(desk: Desk) -> None:
    alpha, _ = working(desk)
    other = desk.session("other", pid=alpha.pid)
    assert other.edits("free.txt") == ""
    other.tell("SessionStart", source="compact")
    assert alpha.edits("src/a.py") == ""
    assert "held" in other.edits("src/a.py")


def test_the_same_id_in_a_new_process_goes_on(desk: Desk) -> None:
    """claude --resume after a crash: nobody asked meanwhile."""
    alpha, claim = working(desk)
    desk.kill(alpha.pid)
    again = desk.session("old", start="resume")
    assert again.ask("claim_issue", issue_id="ISSUE-1")["lease_token"] == claim["lease_token"]
    assert "held" in desk.session("b").edits("src/a.py")


def test_another_room_of_the_session_goes_on_too(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "second"
    other.mkdir()
    git(other, "init", "-q")
    alpha, beta = desk.session("old"), desk.session("b")
    assert alpha.before("Edit", file_path=str(other / "x.txt"), old_string="", new_string="") == ""
    again = desk.session("new", pid=alpha.pid, start="clear")
    assert "held" in beta.before("Edit", file_path=str(other / "x.txt"), old_string="", new_string="")
    assert again.before("Edit", file_path=str(other / "x.txt"), old_string="", new_string="") == ""


def test_the_operations_whose_answers_move_are_those_of_a_session() -> None:
    from clearway.lapse import KEYED_BY_SESSION

    assert {name for name, each in catalog.OPERATIONS.items() if each.keyed == "session"} == set(KEYED_BY_SESSION)


# --- what is told once ----------------------------------------------------------------------------------------------


def superseded(desk: Desk) -> tuple[Session, Session]:
    """One that fell silent, and one that has its work now."""
    alpha, _ = working(desk)
    beta = desk.session("b", client="codex")
    desk.forward(minutes=40)
    beta.ask("claim_issue", issue_id="ISSUE-1")
    assert beta.edits("src/a.py") == ""
    return alpha, beta


@pytest.mark.parametrize("moment", ["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart"])
def test_a_superseded_agent_is_told_once_at_its_next_hook(desk: Desk, moment: str) -> None:
    """Semantics 7."""
    alpha, _ = superseded(desk)
    more: dict[str, Any] = {"prompt": "Go on."} if moment == "UserPromptSubmit" else {}
    if moment == "SessionStart":
        more = {"source": "compact"}
    elif not more:
        more = {"tool_name": "Read", "tool_input": {"file_path": "x"}, "tool_use_id": "r"}
    text = alpha.tell(moment, **more)
    assert 'Your lease on ISSUE-1 "Parser" lapsed' in text
    assert "codex works on it now. Stop" in text
    assert "Your lease on src/a.py lapsed" in text
    assert "codex holds it now" in text
    assert "deploy" not in text.replace("deploy", "", 0) or moment == "SessionStart", "what is free again is no news"
    assert "Your lease on" not in alpha.tell(moment, **more)


def test_a_denied_call_brings_the_news_too(desk: Desk) -> None:
    alpha, _ = superseded(desk)
    out, _, _ = alpha.raw("PreToolUse", tool_name="Edit", tool_input={"file_path": str(desk.repo / "src/a.py")})
    said = json.loads(out)["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert "Your lease on ISSUE-1" in said["additionalContext"]


def test_what_was_not_written_is_told_again(desk: Desk) -> None:
    alpha, _ = superseded(desk)
    payload = alpha.payload("UserPromptSubmit", prompt="Go on.")
    killed = hooks.answered("claude", payload, alpha.environ)
    assert "Your lease on ISSUE-1" in killed.out
    assert "Your lease on ISSUE-1" in alpha.tell("UserPromptSubmit", prompt="Go on.")
    assert alpha.tell("UserPromptSubmit", prompt="Go on.") == ""


def test_the_end_of_a_turn_brings_no_context(desk: Desk) -> None:
    alpha, _ = superseded(desk)
    assert alpha.tell("Stop") == ""
    assert "Your lease on" in alpha.tell("UserPromptSubmit", prompt="Go on.")


def test_what_the_human_took_away_is_told(desk: Desk) -> None:
    alpha, claim = working(desk)
    desk.human("release_paths", paths=["deploy"], force=True)
    desk.human("release_attempt", attempt_id=claim["attempt_id"])
    text = alpha.tell("UserPromptSubmit", prompt="Go on.")
    assert "Your lease on deploy was taken away" in text
    assert "Your lease on ISSUE-1" in text
    assert "by the human; it is free" in text


def test_a_lease_that_lapsed_and_is_still_free_is_no_news(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.edits("src/a.py") == ""
    desk.forward(minutes=40)
    assert beta.edits("src/b.py") == ""
    assert alpha.tell("UserPromptSubmit", prompt="Go on.") == ""


def test_news_go_to_the_id_under_which_the_work_goes_on(desk: Desk) -> None:
    alpha, _ = superseded(desk)
    again = desk.session("new", pid=alpha.pid, start="")
    assert "Your lease on ISSUE-1" in again.tell("SessionStart", source="clear")


def test_a_later_prompt_brings_only_what_is_new(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b", client="codex")
    assert alpha.tell("UserPromptSubmit", prompt="Go on.") == ""
    beta.ask("create_issue", title="Parser", status="ready")
    claim = beta.ask("claim_issue", next=True)
    assert alpha.tell("UserPromptSubmit", prompt="x") == '[clearway] Since then: codex took ISSUE-1 "Parser".'
    assert alpha.tell("UserPromptSubmit", prompt="x") == ""
    proof = {name: claim[name] for name in ("attempt_id", "lease_token")}
    beta.ask("finish_attempt", **proof, outcome="completed", result_summary="Done.", target_issue_status="done")
    assert 'codex finished ISSUE-1 "Parser"' in alpha.tell("UserPromptSubmit", prompt="x")
    assert beta.tell("UserPromptSubmit", prompt="x") == "", "one's own deeds are no news"


def test_a_subagent_is_told_whose_it_is(desk: Desk) -> None:
    alpha, _ = working(desk)
    alpha.thread = "agent-1"
    text = alpha.tell("SubagentStart")
    assert "You are a subagent of claude-code (session old)" in text
    assert "ISSUE-1" in text


# --- automatic checkpoints --------------------------------------------------------------------------------------------


def test_a_compaction_leaves_a_checkpoint_that_the_next_context_carries(desk: Desk) -> None:
    """Semantics 7."""
    alpha, claim = working(desk)
    proof = {name: claim[name] for name in ("attempt_id", "lease_token")}
    alpha.ask("save_attempt_note", **proof, kind="checkpoint", content="Half of it stands.")
    desk.forward(minutes=1)
    (desk.repo / "src/a.py").write_text("one\ntwo\nthree\n")
    (desk.repo / "held.txt").write_text("changed by a tool\n")
    alpha.runs("API_TOKEN=hunter2 pytest -q")
    alpha.after("Bash", event="PostToolUseFailure", command="API_TOKEN=hunter2 pytest -q", error="Exit code 1\nx")
    alpha.tell("PreCompact", trigger="auto", custom_instructions=None)
    context = alpha.ask("get_work_context", issue_id="ISSUE-1")
    assert context["checkpoint"]["content"] == "Half of it stands."
    seen = context["since_checkpoint"]["content"]
    assert "src/a.py +3 -1" in seen
    assert "1 other files differ" in seen
    assert "API_TOKEN=[redacted] pytest -q (exit 1)" in seen
    assert any(f"Held: {held}\n" in seen for held in ("src/a.py, deploy", "deploy, src/a.py"))
    assert "Last note (checkpoint" in seen
    assert len(seen.encode()) <= 1_000
    brief = alpha.tell("SessionStart", source="compact")
    assert "src/a.py +3 -1" in brief
    assert len(brief.encode()) <= 2_400


def test_nothing_new_leaves_no_second_checkpoint(desk: Desk) -> None:
    alpha, _ = working(desk)
    for _ in range(3):
        desk.forward(minutes=2)
        alpha.tell("PreCompact", trigger="auto")
    assert len(desk.rows("SELECT id FROM attempt_note WHERE automatic = 1")) == 1
    (told,) = desk.rows("SELECT data FROM event WHERE type = 'checkpoint_saved'")
    assert json.loads(told.data)["automatic"] is True


def test_the_end_of_a_session_leaves_a_checkpoint_for_whoever_goes_on(desk: Desk) -> None:
    alpha, _ = working(desk)
    alpha.tell("SessionEnd", reason="other")
    desk.kill(alpha.pid)
    beta = desk.session("b", client="codex")
    context = beta.ask("claim_issue", next=True)["context"]
    assert "Changed: src/a.py" in context["since_checkpoint"]["content"]


def test_a_lapse_leaves_what_the_room_knows(desk: Desk) -> None:
    """Semantics 7: no scan inside a transaction."""
    _, beta = superseded(desk)
    context = beta.ask("get_work_context", issue_id="ISSUE-1")
    seen = context["since_checkpoint"]["content"]
    assert "when the lease was lost (lapse)" in seen
    assert any(f"It held: {held}." in seen for held in ("src/a.py, deploy", "deploy, src/a.py"))


def test_without_an_issue_the_checkpoint_stays_with_the_session(desk: Desk) -> None:
    alpha = desk.session("a")
    assert alpha.edits("free.txt") == ""
    alpha.tell("PreCompact", trigger="manual")
    assert "Where you were: Automatic, before the context was compacted" in alpha.tell("SessionStart", source="compact")
    again = desk.session("new", pid=alpha.pid, start="")
    assert "Changed: free.txt" in again.tell("SessionStart", source="clear")


def test_a_session_that_did_nothing_leaves_nothing(desk: Desk) -> None:
    alpha = desk.session("a")
    alpha.tell("PreCompact", trigger="manual")
    assert alpha.tell("SessionStart", source="compact") == ""
    alpha.tell("SessionEnd", reason="other")
    assert desk.rows("SELECT * FROM session_checkpoint") == []
    home = Path(desk.environ["CLEARWAY_HOME"])
    assert not (home / "run" / "trail" / "a").exists()


def test_without_git_a_checkpoint_says_less(desk: Desk) -> None:
    alpha, _ = working(desk)
    desk.environ["PATH"] = ""
    alpha.tell("PreCompact", trigger="auto")
    assert "Changed: src/a.py\n" in desk.rows("SELECT content FROM attempt_note")[0].content + "\n"


# --- failure ----------------------------------------------------------------------------------------------------


def test_a_room_that_fails_closed_refuses_what_cannot_be_told(desk: Desk) -> None:
    desk.human("set_setting", name="fail", value="closed")
    alpha = desk.session("a")
    rooms = Rooms(Settings(desk.environ))
    found = repository.holding(str(desk.repo))
    writer = rooms.of_repository(found).engine.begin(writes=True)
    try:
        assert "STORAGE_BUSY" in alpha.before("Edit", file_path=str(desk.repo / "free.txt"))
        assert alpha.raw("Stop")[2] == 0
        assert alpha.raw("Stop")[0] == ""
    finally:
        writer.rollback()
        rooms.close()


def test_a_damaged_room_is_remembered_to_fail_closed(desk: Desk) -> None:
    desk.human("set_setting", name="fail", value="closed")
    alpha = desk.session("a")
    (room,) = (Path(desk.environ["CLEARWAY_HOME"]) / "rooms").glob("*/room.db")
    kept = {file: file.read_bytes() for file in room.parent.glob("room.db*")}
    for file in kept:
        file.write_bytes(b"not a database" * 1_000)
    assert "STORAGE_CORRUPT" in alpha.before("Edit", file_path=str(desk.repo / "free.txt"))
    for file, content in kept.items():
        file.write_bytes(content)
    desk.human("set_setting", name="fail")
    desk.session("b")
    for file in kept:
        file.write_bytes(b"not a database" * 1_000)
    out, err, code = alpha.raw("PreToolUse", tool_name="Edit", tool_input={"file_path": str(desk.repo / "free.txt")})
    assert (out, code) == ("", 0)
    assert err.startswith("clearway: guard open (STORAGE_CORRUPT")


def test_the_end_of_a_subagent_that_is_not_named_ends_no_turn(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.edits("src/a.py") == ""
    alpha.tell("SubagentStop")
    assert "held" in beta.edits("src/a.py")


def test_a_held_file_stays_held_while_a_writer_keeps_the_room_busy(desk: Desk) -> None:
    """P46, budgets: another process holds the write lock for 30 s."""
    alpha, beta = desk.session("a"), desk.session("b")
    assert alpha.edits("src/a.py") == ""
    rooms = Rooms(Settings(desk.environ))
    found = repository.holding(str(desk.repo))
    writer = rooms.of_repository(found).engine.begin(writes=True)
    try:
        assert "src/a.py is held by claude-code" in beta.before("Edit", file_path=str(desk.repo / "src/a.py"))
        out, err, code = beta.raw(
            "PreToolUse", tool_name="Edit", tool_input={"file_path": str(desk.repo / "free.txt")}, tool_use_id="x"
        )
        assert (out, code) == ("", 0)
        assert err.startswith("clearway: guard open (STORAGE_BUSY")
    finally:
        writer.rollback()
        rooms.close()


@pytest.mark.parametrize("closed", [True, False])
def test_a_hook_that_is_held_up_answers_before_its_client_gives_up(desk: Desk, closed: bool) -> None:
    text = (
        "import sys, os; from clearway.surfaces import hooks; from clearway import limits\n"
        "hooks.HOOK_WAIT_MS = 100\n"
        "def stuck(visit):\n    import select; select.select([], [], [], 30)\n"
        "hooks.decide = stuck\n"
        "hooks.main('claude', sys.stdin.buffer.read())"
    )
    alpha = Session(desk, "claude", "a", os.getpid())
    environ = alpha.environ | ({"CLEARWAY_FAIL_CLOSED": "1"} if closed else {})
    payload = alpha.payload("PreToolUse", tool_name="Edit", tool_input={"file_path": str(desk.repo / "free.txt")})
    ran = subprocess.run([sys.executable, "-c", text], input=payload, env=environ, capture_output=True, timeout=25)
    assert ran.returncode == 0
    assert (b'"deny"' in ran.stdout) == closed
    assert (b"guard open (STORAGE_BUSY" in ran.stderr) == (not closed)


# --- our own tools ------------------------------------------------------------------------------------------------


def test_a_call_of_our_server_is_joined_to_the_session_of_its_hook(desk: Desk) -> None:
    """Semantics 2: one server serves the main thread and its subagents; its environment is that of its start."""
    alpha = desk.session("a")
    alpha.thread = "agent-1"
    assert alpha.before("mcp__clearway__claim_paths", call="toolu_1", paths=["src"]) == ""
    rooms = Rooms(Settings({**desk.environ, "CLAUDE_CODE_SESSION_ID": "of the start"}))
    connection = Connection(rooms, "/somewhere")
    caller = connection.caller("claude-code", {"claudecode/toolUseId": "toolu_1"})
    assert (caller.agent, caller.session, caller.thread, caller.cwd) == ("claude-code", "a", "agent-1", str(desk.repo))
    assert connection.caller("claude-code", {"claudecode/toolUseId": "toolu_2"}).session == "of the start"
    assert connection.caller("claude-code", {"claudecode/toolUseId": ["x"]}).session == "of the start"
    alpha.after("mcp__clearway__claim_paths", call="toolu_1", paths=["src"])
    assert connection.caller("claude-code", {"claudecode/toolUseId": "toolu_1"}).session == "of the start"
    rooms.close()


def test_what_was_announced_and_never_called_goes_with_the_next_session(desk: Desk) -> None:
    alpha = desk.session("a")
    assert alpha.before("mcp__clearway__room", call="toolu_1") == ""
    folder = Path(desk.environ["CLEARWAY_HOME"]) / "run" / "calls"
    assert len(list(folder.iterdir())) == 1
    desk.forward(minutes=11)
    desk.session("b")
    assert not list(folder.iterdir())


# --- a room on a server -----------------------------------------------------------------------------------------------


@pytest.fixture
def team(desk: Desk, postgres_dsn: str) -> Desk:
    """The same machine, where the repository's room is on a PostgreSQL server."""
    rooms = Rooms(Settings(desk.environ))
    found = repository.holding(str(desk.repo))
    assert found is not None
    rooms.share(found, rooms.adopt(found), postgres_dsn)
    rooms.close()
    return desk


@pytest.mark.parametrize(
    "promise",
    [
        test_a_running_script_is_not_edited_and_may_be_run_by_others,
        test_what_runs_in_the_background_is_held_until_the_client_says_it_ended,
        test_a_declared_command_needs_its_resources,
        test_a_long_test_run_keeps_the_work,
        test_a_killed_client_keeps_nothing_though_its_call_is_marked,
        test_half_an_hour_of_calls_keeps_leases_and_presence,
        test_a_turn_ends_for_its_own_thread_only,
        test_a_prompt_ends_the_turn_that_nobody_ended,
        test_of_several_sessions_in_one_process_none_is_guessed,
        test_the_same_id_in_a_new_process_goes_on,
        test_what_was_not_written_is_told_again,
        test_what_the_human_took_away_is_told,
        test_a_later_prompt_brings_only_what_is_new,
        test_a_compaction_leaves_a_checkpoint_that_the_next_context_carries,
        test_the_end_of_a_session_leaves_a_checkpoint_for_whoever_goes_on,
        test_without_an_issue_the_checkpoint_stays_with_the_session,
    ],
    ids=lambda promise: promise.__name__.removeprefix("test_"),
)
def test_a_room_on_a_server_keeps_the_promise(team: Desk, promise: Callable[[Desk], None]) -> None:
    promise(team)


def test_a_new_id_goes_on_in_a_room_on_a_server(team: Desk) -> None:
    test_a_new_id_in_the_same_process_goes_on(team, "clear", True)
    assert not list(Path(team.environ["CLEARWAY_HOME"]).glob("rooms/*/room.db"))

"""A busy room, as agents and a person would have left it: through operations and hooks, in a real repository."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from clearway import catalog
from clearway.alive import Process
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.surfaces import hooks
from clearway.surfaces.hooks import Standing

# agent -> session: what its client would call it
CREW = {
    "claude-code": "9241f0a7-51c3",
    "codex": "7f3a61d2-90ae",
    "gemini": "c04b7713-2fd8",
    "copilot": "b91e55aa-07c4",
    "opencode": "e6d2084f-1b35",
    "qwen": "51aa9c3e-66f0",
}
TITLES = """Claim an issue in one transaction|Sweep leases that have lapsed|Parser for heredocs with quoted ends
Graph of what waits for what|Deploy to the staging cluster|Page about receipts|Redact tokens in transcripts
Renew leases from heartbeats|Retry with jitter when the file is busy|Read the clock once for each transaction
Refuse a rename over a held file|Tell a leak apart from an edit by hand|Bound the size of a snapshot
Keep the log gapless under load|Wake a waiting agent by its socket|Say who holds a path, and until when
Count what blocks when it changes|Search without ranking by frequency|Import tasks from a Markdown list
Measure the hook in its registered form|Backup that proves itself|Show the diff before writing a config
Follow symlinks to where they lead|Case-insensitive paths on macOS|Let a person force a release""".replace(
    "\n", "|"
).split("|")


class Room:
    """One repository and its room, as agents, hooks and the person reach it."""

    def __init__(self, environ: dict[str, str], repo: Path, crew: dict[str, str] = CREW) -> None:
        self.environ = environ
        self.repo = repo
        self.crew = crew
        self.rooms = Rooms(Settings(environ))

    def ask(self, name: str, who: str = "claude-code", /, *, cwd: Path | None = None, **given: Any) -> dict[str, Any]:
        human = who == "human"
        caller = Caller(
            who,
            None if human else self.crew.get(who, f"{who}-session"),
            client="cli" if human else who,
            cwd=str(cwd or self.repo),
            host=self.rooms.liveness.host,
            human=human,
        )
        return self.rooms.ask(catalog.OPERATIONS[name], given, caller)

    def refused(self, name: str, who: str, /, **given: Any) -> str:
        try:
            self.ask(name, who, **given)
        except Refusal as refusal:
            return refusal.code
        raise AssertionError(f"{name} was not refused")

    def hook(self, event: str, who: str, **more: Any) -> hooks.Answer:
        """What the client of an agent tells its hook."""
        payload = {"event": event, "agent": who, "session": self.crew.get(who, f"{who}-session"), "cwd": str(self.repo)}
        standing = Standing(str(self.repo), 1)
        try:
            said = hooks.answered("generic", json.dumps(payload | more).encode(), self.environ, standing)
            if said.afterwards is not None:
                said.afterwards()
            said.tell()
            return said
        finally:
            standing.close()

    def edit(self, who: str, path: str, text: str = "changed\n") -> hooks.Answer:
        """An edit as a client makes it: asked before, done if it may be, told afterwards."""
        file = self.repo / path
        edit = {"tool": "Write", "input": {"file_path": str(file), "content": text}, "call": f"{who}-{path}"}
        said = self.hook("before", who, **edit)
        if said.code == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            self.hook("after", who, **edit)
        return said

    def leak(self, who: str, path: str) -> None:
        """A program that changes a held file, which nobody could see in its command."""
        script = self.repo / "tool.py"
        script.write_text(f"open({path!r}, 'a').write('leaked\\n')\n")
        call = {"tool": "Bash", "input": {"command": "python3 tool.py"}, "call": f"{who}-leak"}
        self.hook("before", who, **call)
        subprocess.run([sys.executable, "tool.py"], cwd=self.repo, check=True)
        self.hook("after", who, exit_code=0, **call)

    def dies_with(self, who: str, issue: str) -> None:
        """An agent takes an issue, and its client is killed."""
        client = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL)
        process = self.rooms.liveness.identify(client.pid)
        assert isinstance(process, Process)
        caller = Caller(who, f"{who}-lost", cwd=str(self.repo), host=self.rooms.liveness.host, process=process)
        for name, given in (("claim_issue", {"issue_id": issue}), ("claim_paths", {"paths": ["deploy/x.sh"]})):
            self.rooms.ask(catalog.OPERATIONS[name], given, caller)
        os.kill(client.pid, signal.SIGKILL)
        client.wait()

    def close(self) -> None:
        self.rooms.close()


def fill(room: Room, *, issues: int = 120) -> None:
    """Six agents, many issues, one refusal, leak, review and lost lease each, and what people and agents say."""
    ask = room.ask
    ask("update_project", "human", name="harbour")
    write_issues(room, issues)
    finish(room, range(25, min(66, issues)))
    for who in CREW:
        room.hook("start", who, source="startup")
        room.hook("prompt", who, prompt="go on")
    room.dies_with("windsurf", "ISSUE-12")
    _work(room)
    _talk(room)


def write_issues(room: Room, count: int) -> None:
    for start in range(0, count, 40):
        room.ask(
            "apply_issue_plan",
            "human",
            issues=[_issue(number) for number in range(start, min(count, start + 40))],
            idempotency_key=f"plan {start}",
        )
    for source, target in ((3, 5), (7, 5), (5, 14), (14, 16), (16, 17), (2, 8), (8, 9), (9, 10), (10, 14), (13, 15)):
        room.ask("manage_issue_relation", "human", source_issue_id=f"ISSUE-{source}", target_issue_id=f"ISSUE-{target}")
    for number in range(70, count - 6, 7):
        source, target = f"ISSUE-{number}", f"ISSUE-{number + 5}"
        room.ask("manage_issue_relation", "human", source_issue_id=source, target_issue_id=target)


def _issue(number: int) -> dict[str, Any]:
    title = TITLES[number % len(TITLES)]
    labels = [["engine"], ["guard", "shell"], ["docs"], ["web"], [], ["engine", "speed"]][number % 6]
    fresh = number < 66 or number % 3
    return {
        "ref": f"n{number}",
        "title": title if number < len(TITLES) else f"{title}, part {number // len(TITLES) + 1}",
        "type": "bug" if number % 9 == 4 else "task",
        "status": "ready" if fresh else "open",
        "priority": ("medium", "high", "medium", "low", "medium", "medium", "critical")[number % 7],
        "labels": labels,
        "description": DESCRIPTION if number in (0, 41) else f"What is to be done about: {title.lower()}.",
        "acceptance_criteria": "- [ ] a test shows it\n- [ ] the page about it is right",
    }


DESCRIPTION = """The claim reads, decides and writes in **one** transaction, so that two agents never hold one issue.

1. take the lock of the room first
2. let time pass (`lapse`)
3. insert the attempt; the unique index *attempt_live* is the second lock on the door

```sql
INSERT INTO attempt (id, issue, session, fence) VALUES (:id, :issue, :session, :fence)
```

| engine | begins with |
|---|---|
| SQLite | `BEGIN IMMEDIATE` |
| PostgreSQL | an advisory lock |

> See ISSUE-8 for heartbeats, and <https://www.sqlite.org/lang_transaction.html>."""


def finish(room: Room, numbers: range) -> None:
    for number in numbers:
        who = list(room.crew)[number % 6]
        taken = room.ask("claim_issue", who, issue_id=f"ISSUE-{number}", context=False)
        if number % 11 == 3:
            end(room, who, taken, outcome="failed", result_summary="The tests do not pass.", failure="tests_failed")
            continue
        end(room, who, taken, outcome="completed", result_summary="Done, with a test.", target_issue_status="done")


def end(room: Room, who: str, taken: dict[str, Any], *, failure: str = "", **given: Any) -> None:
    token: dict[str, Any] = {"attempt_id": taken["attempt_id"], "lease_token": taken["lease_token"]}
    more: dict[str, Any] = {"failure_reason_code": failure} if failure else {}
    room.ask("finish_attempt", who, **token, **given, **more)


def _work(room: Room) -> None:
    ask = room.ask
    ask("room", "claude-code", status="moving the claim into one transaction")
    taken = ask("claim_issue", "claude-code", issue_id="ISSUE-1", context=False)
    ask(
        "save_attempt_note",
        "claude-code",
        attempt_id=taken["attempt_id"],
        lease_token=taken["lease_token"],
        kind="checkpoint",
        content="The **insert** works on SQLite; PostgreSQL still begins twice.",
        next_steps=["one BEGIN for both engines", "the race test with 16 processes"],
    )
    for path in ("src/a.py", "src/engine/claim.py", "src/engine/lapse.py"):
        assert room.edit("claude-code", path).code == 0
    ask("claim_paths", "claude-code", paths=["src/auth/"], purpose="refactor auth")
    ask("claim_issue", "codex", issue_id="ISSUE-3", context=False)
    ask("room", "codex", status="running pytest")
    for path in ("src/parser/heredoc.py", "tests/parser/test_heredoc.py"):
        assert room.edit("codex", path).code == 0
    assert room.edit("codex", "src/a.py").code == 2  # it is held: refused
    ask("claim_issue", "gemini", issue_id="ISSUE-13", context=False)
    assert room.edit("gemini", "docs/graph.md").code == 0
    room.leak("gemini", "src/a.py")
    assert room.refused("claim_issue", "copilot", issue_id="ISSUE-1") == "ACTIVE_ATTEMPT_EXISTS"
    reviewed = ask("claim_issue", "copilot", issue_id="ISSUE-6", context=False)
    end(room, "copilot", reviewed, outcome="completed", result_summary=RESULT, target_issue_status="review")
    ask("create_review_request", "copilot", issue_id="ISSUE-6")
    failing = (
        "The mock of the cluster never answers.",
        "The mock answers, the token is refused.",
        "Needs a real cluster.",
    )
    for who, why in zip(("opencode", "qwen", "opencode"), failing, strict=True):
        taken = ask("claim_issue", who, issue_id="ISSUE-7", context=False)
        end(room, who, taken, outcome="failed", result_summary=why, failure="environment_error")
    ask("claim_issue", "opencode", issue_id="ISSUE-20", context=False)
    at = ask("get_issue", "human", issue_id="ISSUE-19")["version"]
    changes = {"status": "blocked", "blocked_reason": "needs an API key"}
    ask("update_issue", "human", issue_id="ISSUE-19", expected_version=at, changes=changes)
    room.hook("stop", "qwen")
    _elsewhere(room)


RESULT = "Receipts have a page: *queued*, *seen*, *taking*, *done*, and what each promises."


def _elsewhere(room: Room) -> None:
    """Another worktree in which the same file is held."""
    tree = room.repo.parent / "harbour-parser"
    git = ["git", "-C", str(room.repo), "worktree", "add", "-q", "-b", "parser", str(tree)]
    subprocess.run(git, check=True, capture_output=True)
    room.ask("claim_paths", "opencode", paths=["src/a.py", "src/search/"], purpose="search snippets", cwd=tree)


def _talk(room: Room) -> None:
    ask = room.ask
    ask("send_message", "claude-code", to="codex", text="please leave src/auth alone until 15:00, I move the sessions")
    asked = ask("read_inbox", "codex")["items"][0]["message_id"]
    ask("accept_message", "codex", message_id=asked, note="working on the parser meanwhile")
    ask("send_message", "codex", to="claude-code", text="thanks. Is `claim.py` yours for long?", issue_id="ISSUE-1")
    ask("send_message", "gemini", to="human", text="Which layout engine may I use for the graph? dagre or our own?")
    ask("send_message", "human", to="*", text="Release is on Thursday; nothing new after Wednesday noon.")
    ask(
        "send_message",
        "human",
        to="codex",
        kind="task",
        priority="high",
        text="Run the shell corpus again and tell me what is refused falsely",
        paths=["src/auth/session.py"],
    )
    ask(
        "add_comment", "human", issue_id="ISSUE-1", content="Mind the **savepoint**: a refusal must not undo the lapse."
    )
    ask("record_decision", "human", title="One writer at a time", summary="Both engines take one lock first.")

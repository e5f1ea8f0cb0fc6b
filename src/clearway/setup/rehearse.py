"""`clearway simulate`: what Clearway does, told as a story and checked as it goes.

Two scripted agents work on one small repository. They get in each other's way, one is killed, one falls silent, one
reaches its provider's limit; the room keeps them apart and loses nothing. Every line is a check that can fail, and
quotes the words the agents read. The story is for a newcomer, so it shows what an agent meets and leaves out how it is
done.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from clearway import wire
from clearway.clock import Clock
from clearway.db import statements
from clearway.setup.narrator import Narrator
from clearway.setup.scripted import ALLOWED, CLAUDE, CODEX, Stage, stage

SQL = statements(__file__)
LEXER, GUIDE = "src/lexer.py", "docs/guide.md"
CHECKPOINT = "The lexer is split in two; the tests of nested quotes are still red."
NEXT_STEP = "make test_nested_quotes pass"
LATE = "Nested quotes work."
_TASKS = ("Run the tests", "Write the changelog")

OPENING = """\
Clearway keeps coding agents that share a repository out of each other's way.
Nothing is owned, everything is leased: an issue or a file, for a time, to one
live session. Watch two agents. They are scripted; their hooks, their processes,
the room and the kill -9 are real. It all happens in a temporary folder."""
BY_HAND = """\
Now by hand, in a repository of yours:

  clearway init       give it a room, which all its worktrees share
  clearway connect    show what it would register with Claude Code and Codex
  clearway room       see who is here and what they hold"""


def rehearse(out: Callable[[str], None], *, colour: bool) -> bool:
    """Play the story, one line of output at a time. True when every check held."""
    clock = Clock()
    began = clock.monotonic()
    tell = Narrator(out, colour=colour)
    tell.plainly(OPENING)
    folder = ""
    try:
        with stage() as here:
            folder = here.folder
            for scene in _SCENES:
                scene(here, tell)
    except Exception as error:
        tell.stopped(error)
    if os.path.exists(folder):
        tell.step("Nothing is left behind.", folder, None)
    tell.closing(clock.monotonic() - began)
    if not tell.failed:
        tell.plainly(f"\n{BY_HAND}")
    return not tell.failed


def _each_takes_its_own_work(here: Stage, tell: Narrator) -> None:
    tell.chapter("Each agent takes its own work")
    made = [
        here.ask("create_issue", title="Split the lexer", status="ready", priority="high"),
        here.ask("create_issue", title="Write the guide", status="ready"),
    ]
    tell.step(
        'You write down two issues: "Split the lexer" and "Write the guide".',
        [issue["display_id"] for issue in made],
        ["ISSUE-1", "ISSUE-2"],
    )

    claude = here.join(CLAUDE, "claude-1")
    tell.step("Claude Code starts. It is alone here, so it is told nothing.", claude.starts(), ALLOWED)
    tell.step("Claude Code asks for the next issue and gets ISSUE-1.", claude.claims_next()["display_id"], "ISSUE-1")
    allowed = claude.changes("def words(text): ...", LEXER)
    tell.step(
        f"Claude Code edits {LEXER}. It was free; the edit leases it.",
        (allowed, _holder(here, LEXER)),
        (ALLOWED, CLAUDE.agent),
    )

    codex = here.join(CODEX, "codex-1")
    brief = codex.starts().context
    named = [word for word in (CLAUDE.agent, "ISSUE-1", LEXER) if word in brief]
    tell.step(
        "Codex starts in the same repository. The first thing it reads:",
        named,
        [CLAUDE.agent, "ISSUE-1", LEXER],
        quote=brief,
    )
    tell.step("Codex asks for the next issue and gets ISSUE-2.", codex.claims_next()["display_id"], "ISSUE-2")


def _one_file_has_one_writer(here: Stage, tell: Narrator) -> None:
    tell.chapter("One file has one writer")
    codex = here.agents[1]
    before = _text(here, LEXER)
    deny = codex.changes("def parse(text): ...", LEXER).deny
    named = [word for word in ("PATH_HELD", LEXER, CLAUDE.agent) if word in deny]
    tell.step(
        f"Codex patches {LEXER} as well. Refused before the tool runs; it reads:",
        named,
        ["PATH_HELD", LEXER, CLAUDE.agent],
        quote=deny,
    )
    deny = codex.changes("see the lexer", GUIDE, LEXER).deny
    tell.step(
        "Codex hides it in a patch of two files. Refused whole; the other stays free.",
        ("PATH_HELD" in deny, _holder(here, GUIDE)),
        (True, None),
    )
    deny = codex.types(f"echo '# mine' > {LEXER}").deny
    tell.step(f"Codex tries the shell: echo ... > {LEXER}. Refused.", "PATH_HELD" in deny)
    tell.step(f"{LEXER} is as Claude Code left it.", _text(here, LEXER), before)
    allowed = codex.changes("Quotes nest.", GUIDE)
    tell.step(f"Codex patches {GUIDE}, which is free. Nothing stands in its way.", allowed, ALLOWED)


def _one_is_killed(here: Stage, tell: Narrator) -> None:
    tell.chapter("A killed agent gives everything back")
    claude, codex = here.agents
    saved = "note_id" in claude.leaves(CHECKPOINT, NEXT_STEP)
    tell.step("Claude Code saves a checkpoint: where the work stands, what comes next.", saved)
    held = _holder(here, LEXER)
    tell.step(
        f"kill -9. Claude Code is gone, holding ISSUE-1 and {LEXER}.", (claude.is_killed(), held), (-9, CLAUDE.agent)
    )
    tell.step(
        "The next question anybody asks finds the file free. No time-out to wait for.", _holder(here, LEXER), None
    )

    done = codex.finishes("The guide covers quotes.")
    tell.step(
        f"Codex finishes ISSUE-2 and gives back {GUIDE}.",
        (done["issue_status"], done.get("released_paths")),
        ("done", [GUIDE]),
    )
    claim = codex.claims_next()
    left = claim["context"].get("checkpoint", {})
    tell.step(
        "Codex asks for the next issue and gets ISSUE-1, with what was left behind:",
        (claim["display_id"], left.get("agent"), left.get("content"), left.get("next_steps")),
        ("ISSUE-1", CLAUDE.agent, CHECKPOINT, [NEXT_STEP]),
        quote="checkpoint of {agent}: {content} Next: {next_steps[0]}.".format_map(left) if left else "",
    )
    allowed = codex.changes("def quotes(text): ...", LEXER)
    tell.step(f"Codex edits {LEXER} and goes on from there.", (allowed, _holder(here, LEXER)), (ALLOWED, CODEX.agent))


def _one_falls_silent(here: Stage, tell: Narrator) -> None:
    tell.chapter("A silent agent loses its lease")
    codex = here.agents[1]
    here.forward(minutes=20)
    tell.step("Codex hangs: alive, but without a sign for 20 minutes (the clock is moved).", codex.lives)
    claude = here.join(CLAUDE, "claude-2")
    claude.starts()
    claim = claude.claims_next()
    grew = claim["fence"] > codex.claimed["fence"]
    tell.step(
        "The lease has lapsed: a new Claude Code asks for work and gets ISSUE-1.",
        (claim["display_id"], grew),
        ("ISSUE-1", True),
    )
    refusal = codex.is_told_when_it_finishes(LATE)
    tell.step(
        "Codex comes back with a result and its old token. Refused; it reads:",
        refusal and refusal.code,
        "LEASE_EXPIRED",
        quote=f"{refusal.code}: {refusal.message}" if refusal else "",
    )
    tell.step("The late result is kept as evidence, and changes nothing.", _late_results(here), [(CODEX.agent, LATE)])
    done = claude.finishes("Nested quotes work, with tests.")
    tell.step(
        "Claude Code finishes ISSUE-1. All is done, and nothing is held any more.",
        (done["issue_status"], _left(here)),
        ("done", 0),
    )


def _a_task_finds_another(here: Stage, tell: Narrator) -> None:
    tell.chapter("A task is not lost when a limit is reached")
    codex, claude = here.agents[1:]
    here.ask("set_setting", name="fallbacks", value=f"{CODEX.agent}={CLAUDE.agent}")
    asked = [here.ask("send_message", to=CODEX.agent, kind="task", text=text)["message_id"] for text in _TASKS]
    tell.step(f'You give Codex two tasks: "{_TASKS[0]}" and "{_TASKS[1]}".', _states(here, asked), ["pending"] * 2)
    read = [line for line in codex.is_prompted().context.splitlines() if f"#{asked[0]}" in line]
    tell.step(
        "Codex begins its next turn. It reads what you ask, and you see that it has.",
        (len(read), _receipts(here, asked)),
        (1, ["seen", "seen"]),
        quote="\n".join(read),
    )
    taken = codex.takes_a_task()
    tell.step(
        "Codex takes the first and begins. You see that, too.",
        (taken["text"], _receipts(here, asked), _states(here, asked)),
        (_TASKS[0], ["taking", "seen"], ["started", "pending"]),
    )
    codex.reports_a_limit()
    here.forward(minutes=2)
    moved = claude.takes_a_task()
    tell.step(
        "Codex reaches its provider's limit. What it has not begun goes to Claude Code, two minutes later.",
        (moved["task_id"], moved["text"], moved["moved_from"]),
        (asked[1], _TASKS[1], CODEX.agent),
    )
    tell.step("What Codex has begun stays with Codex. Nobody does it a second time.", claude.has_no_task())
    codex.ends_its_task("All green.")
    claude.ends_its_task("Three entries.")
    tell.step("Both end theirs, once each.", _states(here, asked), ["succeeded"] * 2)
    told = [letter["text"] for letter in here.ask("read_inbox")["items"] if letter["kind"] == "result"]
    told = [text for text in told if any(f"#{task}" in text for task in asked)]
    tell.step("You are told of all three: two results, and who went on.", len(told), 3, quote="\n".join(reversed(told)))


def _states(here: Stage, tasks: list[int]) -> list[str]:
    return [here.ask("list_tasks", task_id=task)["items"][0]["state"] for task in tasks]


def _receipts(here: Stage, messages: list[int]) -> list[str]:
    """How far the recipient is with each, as its sender sees it."""
    return [here.ask("read_inbox", message_id=message)["items"][0]["state"] for message in messages]


_SCENES = (
    *(_each_takes_its_own_work, _one_file_has_one_writer, _one_is_killed, _one_falls_silent),
    _a_task_finds_another,
)


def _holder(here: Stage, path: str) -> str | None:
    """Who holds a path, as anybody may ask."""
    return here.ask("path_owner", path=path).get("agent")


def _left(here: Stage) -> int:
    """How much is still held or still to be done."""
    return len(here.ask("room")["paths"]) + len(here.ask("list_issues", statuses=["open", "ready"])["items"])


def _late_results(here: Stage) -> list[tuple[str, str]]:
    room = here.rooms.of_folder(here.repository)
    rows = room.run(lambda tx: tx.all(SQL.late_results), caller=here.you, writes=False)
    return [(row.agent, wire.loads(row.data)["result_summary"]) for row in rows]


def _text(here: Stage, file: str) -> str:
    with open(os.path.join(here.repository, file), encoding="utf-8") as opened:
        return opened.read()

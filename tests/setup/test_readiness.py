"""What `doctor --json` says of a room that is left alone: mail, receipts, workers, and who would go on."""

from __future__ import annotations

from typing import Any

from tests.worker.conftest import Office, office

from clearway.config import Settings
from clearway.crew import workers
from clearway.setup import doctor, readiness

__all__ = ["office"]


def parts(office: Office) -> dict[str, Any]:
    told = doctor.report(Settings(office.environ), str(office.repo), [*_levels()])
    return {name: told[name] for name in readiness.PARTS}


def _levels() -> list[Any]:
    from clearway.setup.connect import CLIENTS
    from clearway.setup.registrations import OK, check

    return [check(f"{client}_{what}", OK, "") for client in CLIENTS for what in ("hooks", "mcp")]


def test_what_waits_and_who_works_is_told_apart(office: Office) -> None:
    office.ask("set_setting", name="fallbacks", value="codex=claude-code")
    office.task(to="codex")
    taken = office.task(to="claude-code")
    office.ask("read_inbox", "claude-code")
    office.ask("report_limit", "codex-worker", reason="weekly")
    office.ask("report_limit", "gemini-worker", reason="weekly")
    worker = office.worker(once=False)
    office.room.run(workers.begin, caller=worker.caller)
    told = parts(office)
    assert told["delivery"]["not_delivered"] == 1 and "oldest_at" in told["delivery"]
    assert told["receipts"]["not_answered"] == 1
    (here,) = told["workers"]["workers"]
    assert (here["worker"], here["doing"]) == ("claude-code-worker", "waits for work")
    assert told["workers"]["tasks"] == {"pending": 2}
    assert told["failover"]["fallbacks"] == {"codex": ["claude-code"]}
    assert told["failover"]["limited"] == {"codex-worker": "limited", "gemini-worker": "limited"}
    assert told["failover"]["without_fallback"] == ["gemini"]
    assert office.state(taken) == "pending", "looking takes nothing"


def test_where_there_is_no_room_there_is_nothing_to_say(office: Office) -> None:
    folder = office.folder / "elsewhere"
    folder.mkdir()
    found = readiness.facts(Settings(office.environ), str(folder), lock_wait_ms=100)
    assert found == {name: {} for name in readiness.PARTS}

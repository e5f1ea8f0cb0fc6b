"""What a question costs does not depend on how much others hold: counted in steps of the database, not in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.guard.yard import Yard
from tests.surfaces.test_moments import Session

from clearway.driver import apsw

FEW, MANY = 8, 700
AT_ONCE = 64
MORE_STEPS = 300  # a page more of an index


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Steps of each statement that is run meanwhile, on whatever connection."""
    steps: dict[str, int] = defaultdict(int)

    def ran(event: dict[str, Any]) -> None:
        steps[event["sql"]] += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def opened(connection: Any) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, ran)

    apsw.connection_hooks.append(opened)
    try:
        yield steps
    finally:
        apsw.connection_hooks.remove(opened)


def filled(yard: Yard, first: int, last: int) -> None:
    peer = yard.session(f"peer-{first}")
    for place in range(first, last, AT_ONCE):
        numbers = range(place, min(place + AT_ONCE, last))
        peer.ask("claim_paths", paths=[f"kept/{number // 100}/{number}.py" for number in numbers], ttl_seconds=28_800)


def day(yard: Yard, session: Session, other: Session, name: str) -> dict[str, int]:
    """One of everything that a hook is asked."""
    with counted() as steps:
        yard.edit(session, "held.txt", f"{name}\n")
        yard.edit(session, f"{name}.txt", "new\n")
        assert "PATH_HELD" in other.runs("rm held.txt")
        assert session.runs("echo b > held.txt") == ""
        session.ran("echo b > held.txt")
        yard.during(session, ("held.txt", f"{name} again\n"))
        session.tell("UserPromptSubmit", prompt="Go on.")
    return steps


def test_ten_thousand_leases_of_others_change_nothing(tmp_path: Path, repo: Path) -> None:
    """What is looked for is found by an index: with many times as many leases and copies, as many steps."""
    yard = Yard(tmp_path, repo, None)
    session, other = yard.session("a"), yard.session("b")
    filled(yard, 0, FEW)
    day(yard, session, other, "first")
    few = day(yard, session, other, "few")
    filled(yard, FEW, MANY)
    day(yard, session, other, "between")
    many = day(yard, session, other, "many")
    grown = {text: (few[text], steps) for text, steps in many.items() if steps > few[text] * 1.5 + MORE_STEPS}
    assert len(many) > 20, "it was counted"
    allowed = [text for text in grown if "FROM snapshot s" in text and "LIMIT" in text]
    assert grown.keys() - set(allowed) == set(), grown

"""How many bytes an agent's model is shown by the operations it calls most. They do not depend on the machine."""

from __future__ import annotations

import tempfile
from typing import Any

from bench.figures import Figure, at_most, size
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller
from clearway.room import Room, open_room

ISSUES = 100
TITLE = "A title of forty characters, no more {:03}"
BODY = "What is to be done, and how it will be known to be done. " * 9

LIST_BYTES_MAX = 19_000
FINISH_BYTES_MAX = 400
CONTEXT_BYTES_MAX = 8_000
LOOP_BYTES_MAX = 8_000


class Reader:
    """An agent that counts what it reads."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._caller = Caller("bench", "reader", host="bench")

    def ask(self, operation: str, **arguments: Any) -> tuple[dict[str, Any], int]:
        """The reply, and its size as compact JSON."""
        reply = self._room.ask(OPERATIONS[operation], arguments, self._caller)
        return reply, size(reply)


def figures(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        clock = Clock()
        room = open_room(clock.new_id(), home=folder, clock=clock)
        try:
            return measured(Reader(room))
        finally:
            room.close()


def measured(reader: Reader) -> list[Figure]:
    for place in range(ISSUES):
        reader.ask("create_issue", title=TITLE.format(place), description=BODY, labels=["area"])
    _, whole_list = reader.ask("list_issues", limit=ISSUES)
    for place in range(1, ISSUES + 1):  # each now says that it can be claimed, which takes 17 bytes more
        reader.ask("update_issue", issue_id=f"ISSUE-{place}", expected_version=1, changes={"status": "ready"})
    _, ready_list = reader.ask("list_issues", limit=ISSUES)
    _, short_list = reader.ask("list_issues", limit=20)
    claim, claimed = reader.ask("claim_issue", next=True)
    held = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
    _, noted = reader.ask("save_attempt_note", **held, kind="checkpoint", content=BODY)
    _, context = reader.ask("get_work_context", issue_id=claim["display_id"])
    ending = {"outcome": "completed", "result_summary": BODY, "target_issue_status": "done"}
    _, finished = reader.ask("finish_attempt", **held, **ending)
    loop = short_list + claimed + noted + finished
    return [
        at_most(f"list_issues, {ISSUES} items", whole_list, LIST_BYTES_MAX, "B"),
        Figure("the same, all of them ready", f"{ready_list:,} B"),
        at_most("claim_issue reply with context", claimed, 700 + CONTEXT_BYTES_MAX, "B"),
        at_most("get_work_context", context, CONTEXT_BYTES_MAX, "B"),
        at_most("save_attempt_note reply", noted, FINISH_BYTES_MAX, "B"),
        at_most("finish_attempt reply", finished, FINISH_BYTES_MAX, "B"),
        at_most("the whole loop: list, claim, note, finish", loop, LOOP_BYTES_MAX, "B"),
    ]

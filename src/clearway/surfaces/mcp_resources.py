"""What a client reads without calling a tool: the guides, the board, the inbox, and any issue by its address.

A guide is text and never changes. The others are JSON of the room as it is now, bounded, and answered by operations
that change nothing: a client may read ahead, and what it fetched nobody has been shown. `touched` says which of them an
event of the log concerns, so that a subscriber is told to look again.
"""

from __future__ import annotations

import os
from typing import Any

from clearway import wire
from clearway.catalog import OPERATIONS
from clearway.crew import agents, messages
from clearway.db.tx import Tx
from clearway.limits import BOARD_ITEMS_MAX, BOARD_TITLE_CHARS_MAX, INBOX_LOOK_MAX
from clearway.op import Operation, op, operation_of
from clearway.untrusted import folded, readable
from clearway.work import issues

GUIDES = {
    "workflow": "How to take work, do it and give it back.",
    "lifecycle": "What states issues, attempts and leases go through.",
    "handoff": "What to leave behind for the agent that goes on.",
    "room": "Who is here, who holds which path, and what a refusal means.",
}
BOARD, INBOX = "clearway://board", "clearway://inbox"
_GUIDE, _ISSUE = "clearway://guide/", "clearway://issue/"
_FOLDER = os.path.join(os.path.dirname(__file__), "guides")
_JSON = "application/json"

LISTED: list[dict[str, Any]] = [
    {
        "uri": BOARD,
        "name": "board",
        "description": "The room now: who works on what, what is ready, in review or blocked, which paths are held.",
        "mimeType": _JSON,
    },
    {
        "uri": INBOX,
        "name": "inbox",
        "description": "Your newest messages and what waits for your answer. Reading it marks nothing as seen.",
        "mimeType": _JSON,
    },
    *(
        {"uri": _GUIDE + name, "name": name, "description": about, "mimeType": "text/markdown"}
        for name, about in GUIDES.items()
    ),
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": _ISSUE + "{issue_id}",
        "name": "issue",
        "description": "One issue with what is needed to work on it; issue_id as ISSUE-42 or its id.",
        "mimeType": _JSON,
    }
]
NOTHING_THERE = "There is no such resource; resources/list and resources/templates/list show those there are."

# What the board shows, by the beginnings of the events that change it.
_ON_THE_BOARD = (
    *("issue_", "attempt_started", "attempt_completed", "attempt_failed", "attempt_interrupted", "attempt_expired"),
    *("attempt_adopted", "relation_", "review_", "label_", "paths_", "session_", "agent_", "guard_", "plan_applied"),
)
_SHOWN = ("display_id", "type", "title", "effective_status", "priority", "open_blockers", "held_by", "needs_human")


def guide(uri: str) -> str | None:
    """The text of a guide, or None if this is not the address of one."""
    name = uri.removeprefix(_GUIDE)
    if name not in GUIDES or uri == name:
        return None
    with open(os.path.join(_FOLDER, f"{name}.md"), encoding="utf-8") as file:
        return file.read()


def question(uri: str) -> tuple[Operation, dict[str, Any]] | None:
    """What a room is asked for the resource at this address; None for a guide, and for what is not there."""
    if uri == BOARD:
        return operation_of(read_board), {}
    if uri == INBOX:
        return operation_of(look_at_inbox), {}
    issue = _issue_in(uri)
    return (OPERATIONS["get_work_context"], {"issue_id": issue}) if issue else None


def contents(uri: str, reply: dict[str, Any]) -> dict[str, Any]:
    """The answer to whoever reads this address. Other agents' texts in it are shown only."""
    return {"contents": [{"uri": uri, "mimeType": _JSON, "text": wire.dumps(readable(reply))}]}


def guide_contents(uri: str, text: str) -> dict[str, Any]:
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}


def is_there(uri: str) -> bool:
    """Whether this is an address that can be read. Whether there is such an issue, the room says."""
    return question(uri) is not None or guide(uri) is not None


def touched(uris: list[str], events: list[dict[str, Any]], agent: str) -> list[str]:
    """Those of some resources that some events of the log concern, as this agent sees them."""
    return [uri for uri in uris if any(_concerns(uri, event, agent) for event in events)]


def _concerns(uri: str, event: dict[str, Any], agent: str) -> bool:
    kind: str = event["type"]
    if uri == BOARD:
        return kind.startswith(_ON_THE_BOARD)
    if uri == INBOX:
        return kind.startswith("message_") and _is_of(event, agent)
    issue = _issue_in(uri).upper()
    named = str(event.get("display_id", ""))
    return bool(issue) and (issue == event.get("issue_id") or issue.rpartition("-")[2] == named.rpartition("-")[2])


def _is_of(event: dict[str, Any], agent: str) -> bool:
    """Whether a message came for this agent, or became of one of its own. What does not say whose it is may be."""
    to = event["data"].get("to")
    return to in (None, messages.EVERYBODY, agent, messages.works_for(agent)) or event["agent"] == agent


def _issue_in(uri: str) -> str:
    name = uri.removeprefix(_ISSUE)
    return "" if name == uri or "/" in name else name


# --- what a room is asked -------------------------------------------------------------------------------------------


@op(group="crew", tool=False)
def read_board(tx: Tx) -> dict[str, Any]:
    """The room as it is now: who is here, what is worked on, what is ready, in review or blocked, what is held."""
    here = agents.room(tx)
    board: dict[str, Any] = {"me": here["me"], "agents": here["agents"], "paths": here["paths"]}
    if "guard" in here:
        board["guard"] = here["guard"]
    more: list[str] = []
    for column, asked in (
        ("in_progress", {"effective_statuses": ["in_progress"]}),
        ("review", {"effective_statuses": ["review"]}),
        ("ready", {"statuses": ["ready"], "is_claimable": True}),
        ("blocked", {"effective_statuses": ["blocked"]}),
    ):
        page = issues.list_issues(tx, limit=BOARD_ITEMS_MAX, **asked)  # type: ignore[arg-type]
        board[column] = [_card(item) for item in page["items"]]
        more += [column] if page["has_more"] else []
    return {**board, **({"more": more} if more else {})}


@op(group="crew", tool=False)
def look_at_inbox(tx: Tx) -> dict[str, Any]:
    """The caller's newest messages, and what waits for its answer. Nothing counts as shown by it."""
    return {"items": messages.newest(tx, INBOX_LOOK_MAX), "waiting_for_you": messages.waiting(tx)}


def _card(item: dict[str, Any]) -> dict[str, Any]:
    shown = {name: item[name] for name in _SHOWN if name in item}
    return {**shown, "title": folded(item["title"], BOARD_TITLE_CHARS_MAX)}

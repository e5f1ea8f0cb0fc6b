"""The board of a project as a report: in work, in review, blocked, ready, open, finished lately, and who waits for you.

It says of each issue why it is where it is. It is a picture of a moment, to be printed, sent or kept; who wants to
see it move opens the web room.
"""

from __future__ import annotations

from clearway.catalog import OPERATIONS
from clearway.clock import iso
from clearway.surfaces import drawings, pages
from clearway.surfaces.asking import Run
from clearway.surfaces.pages import Document
from clearway.surfaces.render import Paper, Result, path

CARDS = 25
_NODES = 60
_GRAPH_BYTES = 100_000
_TITLES = {
    "live": "In work",
    "review": "In review",
    "blocked": "Blocked",
    "ready": "Ready",
    "open": "Open",
    "done": "Finished lately",
}


def show(run: Run, form: str | None = None, output: str | None = None) -> None:
    """Publish it as it is asked for."""
    how = pages.form_of(form, output, as_json=run.as_json and output is None)
    found = gathered(run)
    pages.publish(run, document(found, run.paper), found, how, output)


def gathered(run: Run) -> Result:
    """Everything that the report says, as programs read it."""
    project = run.ask(OPERATIONS["get_project"])["project"]
    found = run.ask(OPERATIONS["get_board"], cards=CARDS)
    graph = run.ask(OPERATIONS["get_planning_graph"], max_nodes=_NODES, max_bytes=_GRAPH_BYTES)
    held = run.ask(OPERATIONS["get_holdings"])
    return {
        "project": {name: project[name] for name in ("name", "key") if project.get(name)},
        "at": iso(run.rooms.clock.wall()),
        **found,
        "paths": held["paths"],
        "graph": {name: graph[name] for name in ("nodes", "edges", "entry_points", "critical_path") if name in graph},
    }


def document(found: Result, paper: Paper) -> Document:
    """The report of what was gathered."""
    name = found["project"].get("name") or "Board"
    report = Document(name)
    counts = found["counts"]
    listed = [f"{counts[column]} {title.lower()}" for column, title in _TITLES.items() if counts[column]]
    listed[-1:] = [f"{counts['done']} finished"] if counts["done"] else listed[-1:]
    report.say(f"{', '.join(listed) or 'No issues yet'}. {found['at']}, event {found['latest_event_id']}.")
    waiting = [card for cards in found["columns"].values() for card in cards if card.get("needs_human")]
    if waiting:
        report.head("Needs you")
        report.table(("issue", "why", "title"), [[*_named(card), card["title"]] for card in waiting])
    for column, title in _TITLES.items():
        cards = found["columns"][column]
        if cards:
            more = counts[column] - len(cards)
            report.head(f"{title} ({counts[column]})" + (f", of which {more} are not shown" if more > 0 else ""))
            report.table(_HEADS, [_card(card, paper) for card in cards])
    if found["paths"]:
        report.head("Held paths")
        rows = [
            [each["agent"], path(each["path"]), paper.moment(each["until"]), _purpose(each)] for each in found["paths"]
        ]
        report.table(("by", "path", "until", "for"), rows)
    drawn = drawings.waiting(found["graph"])
    if drawn:
        report.head("What waits for what")
        report.picture(drawn)
        if found["graph"].get("critical_path"):
            report.say("Critical path: " + ", then ".join(found["graph"]["critical_path"]) + ".")
    return report


_HEADS = ("issue", "priority", "type", "who", "until", "why", "title")


def _named(card: Result) -> list[str]:
    return [card["display_id"], "agents have failed at it again and again"]


def _card(card: Result, paper: Paper) -> list[str]:
    live = card.get("live", {})
    return [
        card["display_id"],
        card.get("priority", ""),
        card.get("type", ""),
        live.get("agent", "") or card.get("reserved_for", "") and f"kept for {card['reserved_for']}",
        paper.moment(live["until"]) if live else "",
        _why(card),
        card["title"],
    ]


def _why(card: Result) -> str:
    """Why it stands where it stands, as far as the column does not say it."""
    said: list[str] = []
    if card.get("live", {}).get("kind") == "review":
        said.append("being reviewed")
    if card.get("waits_for"):
        more = card["open_blockers"] - len(card["waits_for"])
        said.append("waits for " + ", ".join(card["waits_for"]) + (f" and {more} more" if more > 0 else ""))
    if card.get("blocked_reason"):
        said.append(card["blocked_reason"])
    review = card.get("review")
    if review:
        said.append(f"review {review['status']}" + (", but it has changed since" if review.get("stale") else ""))
    if card.get("status") == "cancelled":
        said.append("cancelled")
    return "; ".join(said)


def _purpose(lease: Result) -> str:
    return lease.get("purpose") or lease.get("issue", "")

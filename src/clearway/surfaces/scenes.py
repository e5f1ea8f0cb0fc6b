"""The answer of `replay` as a person reads it: the room after one event, in lines."""

from __future__ import annotations

from clearway.surfaces.render import Paper, Result, path
from clearway.untrusted import folded, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def _replayed(result: Result, paper: Paper) -> str:
    """The room after an event, in lines."""
    when = f", {paper.moment(result['time'])}" if "time" in result else ""
    lines = [f"The room after event {result['at']} of {result['latest_event_id']}{when}."]
    event = result.get("event")
    if event:
        about = f" {event['display_id']}" if "display_id" in event else ""
        lines.append(
            f"It was: {event['agent']}, {event['type'].replace('_', ' ')}{about}{_said(event['type'], event['data'])}"
        )
    if "guard" in result:
        lines.append("The guard was off.")
    counts = result["counts"]
    listed = [f"{number} {status.replace('_', ' ')}" for status, number in counts.items() if status != "finished"]
    lines.append(f"{', '.join(listed) or 'No issue unfinished'}, {counts['finished']} finished.")
    for name, (heads, row) in _SCENES.items():
        if result[name]:
            lines += ["", paper.table(heads, [row(each, paper) for each in result[name]])]
    if not any(result[name] for name in ("paths", "tasks", "agents")):
        lines.append("Nobody had anything in hand.")
    return "\n".join(lines)


def _said(event: str, data: Result) -> str:
    """What an event was about."""
    message = data.get("message") or data.get("title")
    if isinstance(message, str):
        return f": {quoted(message, 200)}"
    paths: list[Result] = data.get("paths", []) if event in ("paths_claimed", "paths_released") else []
    return f": {', '.join(path(each['path']) for each in paths[:3])}" if paths else ""


_SCENES: dict[str, tuple[tuple[str, ...], Callable[[Result, Paper], list[str]]]] = {
    "agents": (
        ("AGENT", "SESSION", "LAST ACT"),
        lambda each, paper: [
            each["agent"],
            "" if each["session"].startswith("=") else folded(each["session"], 20),
            paper.moment(each["acted_at"]) if "acted_at" in each else "",
        ],
    ),
    "issues": (
        ("ISSUE", "STATUS", "PRIORITY", "TYPE", "HELD BY", "TITLE"),
        lambda each, _: [
            each["display_id"],
            each.get("effective_status", each["status"]),
            each.get("priority", ""),
            "" if each["type"] == "task" else each["type"],
            each.get("held_by", ""),
            folded(each["title"], 200),
        ],
    ),
    "paths": (
        ("HELD BY", "MODE", "PATH", "FOR"),
        lambda each, _: [
            each["agent"],
            "" if each["mode"] == "edit" else each["mode"],
            path(each["path"]),
            folded(each.get("purpose", ""), 120),
        ],
    ),
    "tasks": (
        ("TASK", "STATE", "FOR", "WITH"),
        lambda each, _: [f"#{each['task_id']}", each["state"], each.get("to", ""), each.get("agent", "")],
    ),
    "reviews": (
        ("REVIEW OF", "STATUS"),
        lambda each, _: [each["display_id"], each["status"]],
    ),
}

WRITERS = {"replay": _replayed}

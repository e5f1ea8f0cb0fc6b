"""Answers about change, as a person reads them: what was changed, and what has happened."""

from __future__ import annotations

from clearway.annotating import cast
from clearway.surfaces.render import Paper, Result, body, fields, guard, listed, more, owner, path
from clearway.untrusted import folded, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_CHARS = 200  # of one value in a line
# How a field of an issue is called where its name would not do in a sentence.
_FIELDS = {"reserved_for": "whom it is kept for", "parent_issue_id": "its epic", "blocked_reason": "why it is blocked"}
_RELATIONS = {
    "blocks": ("blocks", "no longer blocks"),
    "related_to": ("belongs with", "no longer belongs with"),
    "duplicates": ("is a duplicate of", "is no longer a duplicate of"),
}
# Of an event, what its line already says or nobody reads.
_UNTOLD = frozenset(
    {"event_id", "event_type", "occurred_at", "agent", "session", "entity_type", "entity_id", "artifacts"}
)
_IDS = frozenset({"comment", "note", "checkout", "fence", "token_hash", "lease_ms", "number", "paths", "artifact_ids"})


# --- what was changed -------------------------------------------------------------------------------------------------


def _updated(result: Result, _: Paper) -> str:
    if not result["changed_fields"]:
        return f"{result['display_id']} is as it was (version {result['version']})."
    names: list[str] = result["changed_fields"]
    changed = ", ".join(_FIELDS.get(field, field.replace("_", " ")) for field in names)
    return f"{result['display_id']} changed: {changed} ({result['effective_status']}, version {result['version']})."


def _archived(result: Result, _: Paper) -> str:
    return f"{result['display_id']} is archived; clearway issue unarchive {result['display_id']} brings it back."


def _unarchived(result: Result, _: Paper) -> str:
    return f"{result['display_id']} is back ({result['effective_status']})."


def _linked(result: Result, _: Paper) -> str:
    return _relation(result, removed=False)


def _unlinked(result: Result, _: Paper) -> str:
    return _relation(result, removed=True)


def _relation(result: Result, *, removed: bool) -> str:
    said = _RELATIONS.get(result["type"], (result["type"], f"no longer {result['type']}"))[removed]
    line = f"{result['source']} {said} {result['target']}."
    return line if result["changed"] else f"Nothing to change: {line}"


def _commented(_: Result, __: Paper) -> str:
    return "Comment added."


def _label(result: Result, _: Paper) -> str:
    return f"Label {quoted(result['name'], _CHARS)}."


# --- lists ------------------------------------------------------------------------------------------------------------


def _found(result: Result, paper: Paper) -> str:
    if not result["items"]:
        return "Nothing is found by these words." + more(result)
    rows = [
        [
            item.get("display_id", ""),
            "" if item["entity_type"] == "issue" else item["entity_type"].replace("_", " "),
            folded(item["title"], _CHARS),
            folded(item["snippet"], _CHARS),
        ]
        for item in result["items"]
    ]
    return paper.table(("ISSUE", "IN", "TITLE", "TEXT"), rows) + more(result)


def _rebuilt(result: Result, _: Paper) -> str:
    return f"{result['entries']} things can be found by their words."


def _labels(result: Result, paper: Paper) -> str:
    if not result["items"]:
        return "No labels yet. clearway issue create TITLE --label NAME makes one."
    rows = [
        [folded(item["name"], _CHARS), str(item["issues"]), folded(item.get("description", ""), _CHARS)]
        for item in result["items"]
    ]
    return paper.table(("LABEL", "ISSUES", "DESCRIPTION"), rows) + more(result)


def _attempts(result: Result, paper: Paper) -> str:
    if not result["items"]:
        return "Nobody has worked on it." if not result["has_more"] else ""
    rows = [
        [
            item["display_id"],
            item["status"],
            item["agent"],
            paper.moment(item["started_at"]),
            paper.moment(item.get("finished_at") or item.get("lease_expires_at") or item["started_at"]),
            item["attempt_id"],
            folded(
                item.get("result_summary") or item.get("failure_code") or item.get("interruption_code") or "", _CHARS
            ),
        ]
        for item in result["items"]
    ]
    return paper.table(("ISSUE", "STATUS", "AGENT", "FROM", "UNTIL", "ATTEMPT", "RESULT"), rows) + more(result)


def _settings(result: Result, paper: Paper) -> str:
    rows = [
        [
            each["name"],
            folded(each["value"], _CHARS),
            each["from"],
            each.get("allowed", "").replace("|", " or "),
            folded(each["about"], _CHARS),
        ]
        for each in result["settings"]
    ]
    return paper.table(("SETTING", "VALUE", "FROM", "MAY BE", "ABOUT"), rows)


def _setting(result: Result, _: Paper) -> str:
    allowed = f" It may be {result['allowed'].replace('|', ' or ')}." if result.get("allowed") else ""
    value = quoted(result["value"], _CHARS) if result["value"] == "" or " " in result["value"] else result["value"]
    return f"{result['name']} = {folded(value, _CHARS)} (from {result['from']}): {result['about']}.{allowed}"


# --- what has happened ------------------------------------------------------------------------------------------------


def _changes(result: Result, paper: Paper) -> str:
    if not result["events"]:
        return f"Nothing happened after event {result['latest_event_id']}."
    rows = [
        [
            str(event["id"]),
            paper.moment(event["at"]),
            event["agent"],
            event["type"],
            event.get("display_id", ""),
            facts(event.get("data", {})),
        ]
        for event in result["events"]
    ]
    shown = paper.table(("EVENT", "AT", "WHO", "WHAT", "ISSUE", ""), rows)
    ending = "More" if result["has_more"] else "What comes later"
    return f"{shown}\n{ending}: --since {result['next_event_id']}"


def _activity(result: Result, paper: Paper) -> str:
    lines: list[str] = []
    for item in result["items"]:
        lines.append(f"{paper.moment(item['occurred_at'])}  {item['agent']}  {item['event_type'].replace('_', ' ')}")
        texts = [str(item[name]) for name in ("content", "result_summary", "reason_details") if item.get(name)]
        lines += [body(text) for text in texts]
        lines += [f"  next: {folded(step, 1_000)}" for step in item.get("next_steps", [])]
        lines += [f"  {made['type']} {folded(made['uri'], 200)}" for made in item.get("artifacts", [])]
        if not texts:
            said = facts({name: value for name, value in item.items() if name not in _UNTOLD})
            lines += [f"  {said}"] if said else []
    return "\n".join(lines) + more(result) if lines else "Nothing has happened to it."


_RELEASED = {
    "release": "gave it back",
    "turn_ended": "gave it back at the end of the turn",
    "run_ended": "ended the run",
    "attempt_ended": "gave it back with the attempt",
    "lapse": "lost it: the lease lapsed",
    "death": "lost it: the process ended",
    "undone": "gave it back: the claim was refused elsewhere",
}


def _happened(event: Result) -> str:
    """One event of a path in a few words."""
    who, what = event["agent"], path(event["path"])
    if event["type"] == "paths_claimed":
        purpose = f" for {quoted(event['purpose'], 80)}" if event.get("purpose") else ""
        return f"{who} {'runs' if event.get('mode') == 'run' else 'claimed'} {what}{purpose}"
    if event["type"] == "paths_released":
        by = event.get("forced_by")
        why = event.get("why", "")
        return f"{who} {f'lost it to {by}' if by else _RELEASED.get(why, f'gave it back ({why})')}: {what}"
    if event["type"] == "path_leaked":
        return (
            f"{what}, held by {folded(event.get('holder', 'another'), 64)}, was {event.get('how')} by a call of {who}"
        )
    if event["type"] == "path_changed_outside":
        return f"{what}, held by {who}, was {event.get('how')} from outside"
    if event["type"] == "path_restored":
        return f"{who} brought back {what} as {folded(event.get('holder', 'its holder'), 64)} had left it"
    if event["type"] == "work_rescued":
        return f"{who} ran {folded(event.get('command', 'git'), 40)} over {what}, saved as {event.get('ref')}"
    if event["type"] == "refused":
        return f"{who} was refused: {folded(event.get('message', ''), _CHARS)}"
    return f"{who} was told that {what} is in flight in another worktree"


def _story(result: Result, paper: Paper) -> str:
    """Who holds a path, what happened to it, the newest last, and what to do now."""
    lines = [owner(result, paper)]
    lines += ["(there is more: --limit N)"] if result["has_more"] else []
    lines += [f"  {paper.moment(event['at'])}  {_happened(event)}" for event in reversed(result["events"])]
    return "\n".join([*lines, result["next"]])


def restored(result: Result) -> str:
    """How a file was brought back."""
    if not result["changed"]:
        return f"{path(result['path'])} is as {folded(result['holder'], 64)} left it; nothing was changed."
    aside = f" What stood there is in {path(result['replaced'])}." if result.get("replaced") else ""
    return f"{path(result['path'])} is again as {folded(result['holder'], 64)} left it.{aside}"


def waited(paths: Sequence[str], blockers: Sequence[Result]) -> str:
    """How a wait for paths ended."""
    if not blockers:
        return f"Free: {listed(paths)}"
    return "\n".join(f"{path(each['path'])} is still held by {each['agent']}." for each in blockers)


def facts(data: dict[str, Any]) -> str:
    """The few facts of an event in one line; what only a program needs is left out."""
    paths = cast("list[Result | str]", data.get("paths", []))
    said = [path(each if isinstance(each, str) else each["path"]) for each in paths]
    for name, value in data.items():
        if name in _IDS or value in (None, "", [], {}, False):
            continue
        text = " ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)
        said.append(f"{name.replace('_', ' ')} {folded(text, 120)}")
    return ", ".join(said)


# --- the guard --------------------------------------------------------------------------------------------------------


def _switched(result: Result, paper: Paper) -> str:
    return f"The {guard(result, paper)}."


def _released_attempt(result: Result, paper: Paper) -> str:
    if "issue_status" not in result:
        return fields(result, paper)
    paths = f" Given back: {listed(result['released_paths'])}" if result.get("released_paths") else ""
    return f"The attempt is over; its notes stay, and the issue is {result['issue_status']} again.{paths}"


# By the words of a command where those say more, else by operation.
WRITERS: dict[str, Callable[[Result, Paper], str]] = {
    "update_issue": _updated,
    "issue archive": _archived,
    "issue unarchive": _unarchived,
    "issue link": _linked,
    "issue unlink": _unlinked,
    "add_comment": _commented,
    "rename_label": _label,
    "describe_label": _label,
    "search": _found,
    "rebuild_search": _rebuilt,
    "list_labels": _labels,
    "list_attempts": _attempts,
    "release_attempt": _released_attempt,
    "list_settings": _settings,
    "get_setting": _setting,
    "set_setting": _setting,
    "get_changes": _changes,
    "get_issue_activity": _activity,
    "path_history": _story,
    "pause_guard": _switched,
    "resume_guard": _switched,
}

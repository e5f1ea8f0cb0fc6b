"""Answers as a person reads them: a few plain lines, tables that fit the terminal, times on this machine's clock.

Colour and a width exist on a terminal only. Everything that agents wrote is shown, never obeyed: control and invisible
characters appear as their codes. What has no words of its own here is printed field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from clearway import clock, wire
from clearway.untrusted import folded, legible, quoted

Result = dict[str, Any]

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_CHARS = 200  # of one value in a line
_STYLES = {
    "ready": "green", "in_progress": "cyan", "review": "magenta", "blocked": "red", "done": "dim", "cancelled": "dim",
    "critical": "bold red", "high": "yellow", "low": "dim",
    "busy": "green", "stalled": "yellow", "offline": "dim",
    "ok": "green", "notice": "yellow", "problem": "bold red",
}  # fmt: skip


class Paper:
    """What is written on: the time it is (wall ms), and a terminal's columns and colours; a pipe has neither."""

    def __init__(self, now: int, *, columns: int | None = None, colour: bool = False) -> None:
        self.now = now
        self.columns = columns
        self.colour = colour

    def until(self, iso: str) -> str:
        """`until 14:08 (in 12 min)`"""
        return f"until {self.moment(iso)} ({self.distance(iso)})"

    def moment(self, iso: str) -> str:
        """Hours and minutes here; with the day when it is not today."""
        at, today = _wall(iso), datetime.fromtimestamp(self.now / 1_000).date()
        day = datetime.fromtimestamp(at / 1_000)
        return clock.local_time(at) if day.date() == today else f"{day:%Y-%m-%d %H:%M}"

    def distance(self, iso: str) -> str:
        """`in 12 min`, `3 h ago`"""
        seconds = round((_wall(iso) - self.now) / 1_000)
        many = _rounded(abs(seconds))
        return f"in {many}" if seconds >= 0 else f"{many} ago"

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Columns that are empty throughout are left out. On a terminal the last one gives way."""
        used = [place for place, _ in enumerate(heads) if any(row[place] for row in rows)]
        heads, rows = [heads[place] for place in used], [[row[place] for place in used] for row in rows]
        return _plain(heads, rows) if self.columns is None else self._rich(heads, rows)

    def _rich(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        from io import StringIO

        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for place, head in enumerate(heads):
            widest = max(len(row[place]) for row in (heads, *rows))
            table.add_column(head, no_wrap=True, overflow="ellipsis", min_width=min(widest, (self.columns or 0) // 4))
        for row in rows:
            table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
        written = StringIO()
        Console(file=written, width=self.columns, force_terminal=True, no_color=not self.colour).print(table)
        return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def text(operation: str, result: Result, paper: Paper) -> str:
    """The lines for the answer of one operation."""
    return _WRITERS.get(operation, _fields)(result, paper)


# --- work -------------------------------------------------------------------------------------------------------


def _created(result: Result, _: Paper) -> str:
    return f"{result['display_id']} created ({result['status']})."


def _issues(result: Result, paper: Paper) -> str:
    if not result["items"]:
        return "No such issues. clearway issue create TITLE --status ready adds one."
    heads = ("ISSUE", "STATUS", "PRIORITY", "TYPE", "HELD BY", "LABELS", "TITLE")
    shown = paper.table(heads, [_issue_row(item) for item in result["items"]])
    return shown + (f"\nMore: --cursor {result['next_cursor']}" if result.get("next_cursor") else "")


def _issue_row(item: Result) -> list[str]:
    return [
        item["display_id"],
        item.get("effective_status", item["status"]),
        item.get("priority", ""),
        "" if item["type"] == "task" else item["type"],
        item.get("held_by", ""),
        folded(" ".join(item.get("labels", [])), _CHARS),
        folded(item["title"], _CHARS),
    ]


def _issue(result: Result, paper: Paper) -> str:
    lines = _issue_lines(result)
    attempt = result.get("attempt")
    if attempt:
        lines.insert(1, f"Held by {attempt['agent']} {paper.until(attempt['lease_expires_at'])}.")
    return "\n".join(lines)


def _issue_lines(issue: Result) -> list[str]:
    status = issue.get("effective_status", issue["status"])
    facts = [status, f"{issue.get('priority', 'medium')} priority", issue["type"], f"version {issue['version']}"]
    if issue.get("parent"):
        facts.append(f"in {issue['parent']}")
    if issue.get("open_blockers"):
        facts.append(f"waits for {issue['open_blockers']}")
    lines = [f"{issue['display_id']} {folded(issue['title'], 300)}", "  " + ", ".join(facts)]
    if issue.get("labels"):
        lines.append("  labels: " + folded(", ".join(issue["labels"]), 1_000))
    if issue.get("blocked_reason"):
        lines += ["Blocked:", _body(issue["blocked_reason"])]
    lines += [_body(issue["description"])] if issue.get("description") else []
    if issue.get("acceptance_criteria"):
        lines += ["Done when:", _body(issue["acceptance_criteria"])]
    return lines


def _claimed(result: Result, paper: Paper) -> str:
    again = "still yours" if result.get("resumed") else "yours"
    why = f" It was chosen for {folded(result['why'], _CHARS)}." if result.get("why") else ""
    lines = [
        f"{result['display_id']} is {again} {paper.until(result['lease_expires_at'])}.{why}",
        f"attempt {result['attempt_id']}  lease token {result['lease_token']}",
        *(f"Mind: {folded(warning, _CHARS)}" for warning in result["warnings"]),
    ]
    if "context" in result:
        lines += ["", *_context_lines(result["context"], paper)]
    ending = "--outcome completed --target done --summary TEXT" if result["kind"] == "work" else "--outcome completed"
    return "\n".join([*lines, "", f"When done: clearway attempt finish {result['attempt_id']} {ending}"])


def _context(result: Result, paper: Paper) -> str:
    return "\n".join(_context_lines(result, paper))


def _context_lines(context: Result, paper: Paper) -> list[str]:
    lines = _issue_lines(context["issue"])
    if "checkpoint" in context:
        note = context["checkpoint"]
        lines += [f"Checkpoint of {note['agent']}, {paper.moment(note['at'])}:", *_note_lines(note)]
    if "previous_attempt" in context:
        lines += _previous_lines(context["previous_attempt"], paper)
    for note in context.get("notes", []):
        lines += [f"{note['kind'].capitalize()}, {paper.moment(note['at'])}:", *_note_lines(note)]
    for near in context.get("neighbours", []):
        lines.append(f"Near: {near['agent']} is on {near['display_id']} {quoted(near['title'], 100)}.")
    if context["truncated"]:
        lines.append("Cut to fit: " + ", ".join(context["truncated_sections"]) + ".")
    return lines


def _note_lines(note: Result) -> list[str]:
    return [_body(note["content"]), *(f"  next: {folded(step, 1_000)}" for step in note.get("next_steps", []))]


def _previous_lines(attempt: Result, paper: Paper) -> list[str]:
    reason = attempt.get("failure_code") or attempt.get("interruption_code")
    lines = [
        f"The attempt before, of {attempt['agent']}: {attempt['status']} {paper.moment(attempt['ended_at'])}"
        + (f" ({reason})." if reason else ".")
    ]
    lines += [_body(attempt[name]) for name in ("result_summary", "reason_details") if attempt.get(name)]
    lines += [f"  verified: {folded(step, 1_000)}" for step in attempt.get("verification", [])]
    return lines + [f"  next: {folded(step, 1_000)}" for step in attempt.get("next_steps", [])]


def _renewed(result: Result, paper: Paper) -> str:
    return f"Yours {paper.until(result['lease_expires_at'])}."


def _noted(result: Result, _: Paper) -> str:
    return f"Noted ({result['note_id']})."


def _finished(result: Result, _: Paper) -> str:
    lines = [f"Attempt {result['attempt_status']}; the issue is {result['issue_status']}."]
    lines += [f"Mind: {folded(warning, _CHARS)}" for warning in result["warnings"]]
    if result.get("released_paths"):
        lines.append("Given back: " + _listed(result["released_paths"]))
    return "\n".join(lines)


# --- crew -------------------------------------------------------------------------------------------------------


def _room(result: Result, paper: Paper) -> str:
    parts = [f"You are {result['me']['agent']}."]
    if result["agents"]:
        rows = [_agent_row(agent, result["me"]["session"], paper) for agent in result["agents"]]
        parts.append(paper.table(("AGENT", "PRESENCE", "SESSION", "ISSUE", "SEEN", "DOING"), rows))
    else:
        parts.append("Nobody else has been here.")
    if result["paths"]:
        rows = [_held_row(lease, paper) for lease in result["paths"]]
        parts.append(paper.table(("HELD BY", "MODE", "UNTIL", "PATH", "FOR"), rows))
    else:
        parts.append("No path is held.")
    return "\n".join(parts)


def _agent_row(agent: Result, mine: str, paper: Paper) -> list[str]:
    session = "you" if agent["session"] == mine else "" if agent["session"].startswith("=") else agent["session"][:8]
    return [
        agent["agent"],
        agent["presence"],
        folded(session, 8),
        agent.get("issue", ""),
        paper.distance(agent["seen_at"]),
        folded(agent.get("doing", ""), _CHARS),
    ]


def _held_row(lease: Result, paper: Paper) -> list[str]:
    return [
        lease["agent"],
        "" if lease["mode"] == "edit" else lease["mode"],
        f"{paper.moment(lease['until'])} ({paper.distance(lease['until'])})",
        folded(lease["path"], _CHARS),
        folded(lease["purpose"], _CHARS),
    ]


def _granted(result: Result, paper: Paper) -> str:
    return "\n".join(
        f"{folded(lease['path'], _CHARS)} is yours {paper.until(lease['expires_at'])}." for lease in result["granted"]
    )


def _released(result: Result, _: Paper) -> str:
    return f"Given back: {_listed(result['released'])}" if result["released"] else "Nothing was held."


def _owner(result: Result, paper: Paper) -> str:
    path = folded(result["path"], _CHARS)
    if result["free"]:
        return f"{path} is free."
    purpose = f" for {quoted(result['purpose'], 120)}" if result.get("purpose") else ""
    running = " (running)" if result["mode"] == "run" else ""
    return f"{path} is held by {result['agent']}{running}{purpose} {paper.until(result['until'])}."


# --- the command line's own answers -----------------------------------------------------------------------------


def status(state: Result, paper: Paper) -> str:
    """One line for a prompt or a status bar; empty where there is no room."""
    if not state:
        return ""
    parts = [_count(state["agents"], "other agent"), f"{_count(state['paths'], 'path')} held"]
    mine = state.get("mine")
    if mine:
        parts.append(f"{mine['display_id']} until {paper.moment(mine['until'])}")
    return "clearway: " + ", ".join(parts)


def overview(state: Result, paper: Paper) -> str:
    """Where this repository stands, and the next two commands."""
    if "project_id" not in state:
        lines = [f"{folded(state['root'], _CHARS)} has no room yet; it is made when the first agent works here."]
    else:
        ready = _count(state["claimable"], "issue", more=state["more"])
        here = f"{_count(state['agents'], 'other agent')} here, {_count(state['paths'], 'path')} held"
        lines = [f"You are {state['me']}. {here}, {ready} ready to claim."]
    mine = state.get("mine")
    if mine:
        lines.append(f"You work on {mine['display_id']} {quoted(mine['title'], 100)} {paper.until(mine['until'])}.")
    return "\n".join([*lines, *(f"  {command}" for command in state["next"])])


def changes(planned: Sequence[Any], *, written: bool) -> str:
    """The exact change of every settings file, and what is left for the person to do."""
    if not planned:
        return "Nothing to change."
    parts = [change.diff.rstrip("\n") for change in planned]
    notes = list(dict.fromkeys(note for change in planned for note in change.notes))
    parts += [f"Note: {note}" for note in notes]
    if any(change.file for change in planned):
        parts.append("Written." if written else "Nothing was written; --write does it.")
    return "\n".join(parts)


def checks(found: Sequence[Mapping[str, str]], paper: Paper) -> str:
    """What the doctor found, one line a check."""
    widest = max(len(check["name"]) for check in found)
    lines: list[str] = []
    for check in found:
        level = _inked(check["level"], paper) + " " * (8 - len(check["level"]))
        lines.append(f"{level}{check['name']:<{widest}}  {folded(check['message'], 2_000)}")
        if "fix" in check:
            lines.append(f"{'':{8 + widest}}  -> {folded(check['fix'], 2_000)}")
    return "\n".join(lines)


# --- pieces -----------------------------------------------------------------------------------------------------


def _fields(result: Result, _: Paper) -> str:
    return "\n".join(f"{name}: {_value(value)}" for name, value in result.items())


def _value(value: Any) -> str:
    return folded(value if isinstance(value, str) else wire.dumps(value), 10_000)


def _body(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in legible(text).split("\n"))


def _count(number: int, what: str, *, more: bool = False) -> str:
    return f"{number}{'+' if more else ''} {what}{'' if number == 1 and not more else 's'}"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(folded(path, _CHARS) for path in paths) + "."


def _inked(word: str, paper: Paper) -> str:
    if not paper.colour:
        return word
    import click

    *bold, ink = _STYLES[word].split(" ")
    return click.style(word, fg=ink, bold=bool(bold))


def _plain(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[place]) for line in (heads, *rows)) for place in range(len(heads))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (heads, *rows))
    return "\n".join(line.rstrip() for line in lines)


def _rounded(seconds: int) -> str:
    """The nearest whole number of the largest unit of which there are at least two, or one minute."""
    for size, word in ((_DAY, "days"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= (_MINUTE if size == _MINUTE else 2 * size):
            return f"{round(seconds / size)} {word}"
    return f"{seconds} s"


def _wall(iso: str) -> int:
    return round(datetime.fromisoformat(iso).timestamp() * 1_000)


_WRITERS: dict[str, Callable[[Result, Paper], str]] = {
    "create_issue": _created,
    "list_issues": _issues,
    "get_issue": _issue,
    "claim_issue": _claimed,
    "get_work_context": _context,
    "renew_attempt": _renewed,
    "save_attempt_note": _noted,
    "finish_attempt": _finished,
    "room": _room,
    "claim_paths": _granted,
    "release_paths": _released,
    "path_owner": _owner,
}

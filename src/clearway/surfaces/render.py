"""Answers as a person reads them: a few plain lines, tables that fit the terminal, times on this machine's clock.

Colour and a width exist on a terminal only. Everything that agents wrote is shown, never obeyed: control and invisible
characters appear as their codes. What has no words of its own here is printed field by field.
"""

from __future__ import annotations

from clearway import clock, wire
from clearway.annotating import cast
from clearway.lifecycle import TERMINAL
from clearway.surfaces import index, tables
from clearway.surfaces.callers import HUMAN
from clearway.untrusted import ending, folded, indented, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Result = dict[str, Any]
else:
    Result = dict

_WARNINGS = {
    "REPEATED_ATTEMPT_FAILURES": "the last attempts at it failed, one after the other",
    "ISSUE_CHANGED": "its {} was changed while you worked on it",
    "NO_GREEN_RUN": "no green test run was seen since its last edit ({})",
}

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_CHARS = 200  # of one value in a line
_SIGNS = {"+": "green", "-": "red", "@": "dim"}  # of the lines of a diff


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
        return clock.local_moment(clock.moment(iso), self.now)

    def distance(self, iso: str) -> str:
        """`in 12 min`, `now`, `3 h ago`"""
        seconds = round((clock.moment(iso) - self.now) / 1_000)
        if seconds == 0:
            return "now"
        many = _rounded(abs(seconds))
        return f"in {many}" if seconds >= 0 else f"{many} ago"

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Columns that are empty throughout are left out. On a terminal it fits."""
        return tables.table(heads, rows, self.columns, colour=self.colour)

    def flowed(self, text: str) -> str:
        """Long lines go on below the place where they begin."""
        return tables.flowed(text, self.columns)

    def inked(self, word: str) -> str:
        """A word in its colour."""
        return tables.inked(word, tables.STYLES.get(word, "")) if self.colour else word


def text(operation: str, result: Result, paper: Paper, words: str = "") -> str:
    """The lines for the answer of one operation. words: those it was asked with."""
    key = words if words in index.WRITERS else operation
    return paper.flowed(_writer(key)(result, paper))


def _writer(key: str) -> Callable[[Result, Paper], str]:
    module = index.WRITERS.get(key)
    if module is None:
        return fields
    return __import__(f"clearway.surfaces.{module}", fromlist=("WRITERS",)).WRITERS[key]


# --- work -------------------------------------------------------------------------------------------------------


def _created(result: Result, _: Paper) -> str:
    return f"{result['display_id']} created ({result['status']})."


def _issues(result: Result, paper: Paper) -> str:
    hidden = " ".join(f"--status {status}" for status in result.get("hidden", []))
    also = f"\nFinished ones are not listed; {hidden} lists them." if hidden else ""
    if not result["items"]:
        return f"No such issues. clearway issue create TITLE --status ready adds one.{also}"
    heads = ("ISSUE", "STATUS", "PRIORITY", "TYPE", "HELD BY", "LABELS", "TITLE")
    shown = paper.table(heads, [_issue_row(item) for item in result["items"]])
    return shown + more(result) + also


def _issue_row(item: Result) -> list[str]:
    return [
        item["display_id"],
        item.get("effective_status", item["status"]) + (", needs you" if item.get("needs_human") else ""),
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
    below = result.get("children")
    if below:
        lines.append(f"  {below['done']} of {count(below['total'], 'issue')} below it done, {below['active']} in work")
    if result.get("archived_at"):
        lines.append(f"  archived {paper.moment(result['archived_at'])}")
    return "\n".join(lines)


def _issue_lines(issue: Result) -> list[str]:
    status = issue.get("effective_status", issue["status"])
    facts = [status, f"{issue.get('priority', 'medium')} priority", issue["type"], f"version {issue['version']}"]
    if issue.get("parent"):
        facts.append(f"in {issue['parent']}")
    if issue.get("open_blockers") and status not in TERMINAL:
        facts.append(f"waits for {count(issue['open_blockers'], 'other issue')}")
    lines = [f"{issue['display_id']} {folded(issue['title'], 300)}", "  " + ", ".join(facts)]
    if issue.get("needs_human"):
        lines.append("  needs you: agents have failed at it again and again")
    if issue.get("reserved_for"):
        lines.append(f"  kept for {folded(issue['reserved_for'], _CHARS)}")
    if issue.get("paths"):
        lines.append("  changes " + folded(", ".join(issue["paths"]), 1_000))
    if issue.get("needs"):
        lines.append("  needs " + folded(", ".join(issue["needs"]), 1_000))
    if issue.get("labels"):
        lines.append("  labels: " + folded(", ".join(issue["labels"]), 1_000))
    if issue.get("blocked_reason"):
        lines += ["Blocked:", body(issue["blocked_reason"])]
    lines += [body(issue["description"])] if issue.get("description") else []
    if issue.get("acceptance_criteria"):
        lines += ["Done when:", body(issue["acceptance_criteria"])]
    return lines


def _claimed(result: Result, paper: Paper) -> str:
    again = "still yours" if result.get("resumed") else "yours"
    why = f" It was chosen for {folded(result['why'], _CHARS)}." if result.get("why") else ""
    lines = [
        f"{result['display_id']} is {again} {paper.until(result['lease_expires_at'])}.{why}",
        f"attempt {result['attempt_id']}  lease token {result['lease_token']}",
        *(f"Mind: {_warning(warning)}" for warning in result["warnings"]),
    ]
    if "context" in result:
        lines += ["", *_context_lines(result["context"], paper)]
    ending = "--target done" if result["kind"] == "work" else "--review-outcome approved|changes_requested"
    ending = f"--outcome completed {ending} --summary TEXT"
    return "\n".join([*lines, "", "When done:", f"  clearway attempt finish {ending}"])


def _warning(code: str) -> str:
    """A warning in words, as far as it is known; a code keeps what stands behind its colon."""
    name, _, rest = code.partition(":")
    return folded(_WARNINGS.get(name, code).replace("{}", rest.replace("_", " ")), _CHARS)


def _context(result: Result, paper: Paper) -> str:
    return "\n".join(_context_lines(result, paper))


def _context_lines(context: Result, paper: Paper) -> list[str]:
    lines = _issue_lines(context["issue"])
    lines += [f"Mind: {_warning(warning)}" for warning in context.get("warnings", [])]
    for blocker in context.get("blockers", []):
        lines.append(f"Waits for {blocker['display_id']} {quoted(blocker['title'], 100)} ({blocker['status']}).")
    if "checkpoint" in context:
        note = context["checkpoint"]
        lines += [f"Checkpoint of {note['agent']}, {paper.moment(note['at'])}:", *_note_lines(note)]
    if "since_checkpoint" in context:
        note = context["since_checkpoint"]
        lines += [f"Seen of {note['agent']} since then, {paper.moment(note['at'])}:", *_note_lines(note)]
    if context.get("decisions") or "review" in context or "answers" in context:
        from clearway.surfaces import verdicts

        lines += verdicts.in_context(context)
    if "previous_attempt" in context:
        lines += _previous_lines(context["previous_attempt"], paper)
    for note in context.get("notes", []):
        lines += [f"{note['kind'].capitalize()}, {paper.moment(note['at'])}:", *_note_lines(note)]
    for comment in context.get("comments", []):
        lines += [f"Said by {comment['agent']}, {paper.moment(comment['at'])}:", body(comment["content"])]
    for change in context.get("changes", []):
        said = ", ".join(change.get("changed_fields", []))
        what = change["type"].replace("_", " ")
        lines.append(
            f"Since the last attempt: {what} by {change['agent']} {paper.moment(change['at'])} {said}".rstrip()
        )
    for near in context.get("neighbours", []):
        lines.append(f"Near: {near['agent']} is on {near['display_id']} {quoted(near['title'], 100)}.")
    if context["truncated"]:
        lines.append("Cut to fit: " + ", ".join(context["truncated_sections"]) + ".")
    return lines


def _note_lines(note: Result) -> list[str]:
    return [body(note["content"]), *(f"  next: {folded(step, 1_000)}" for step in note.get("next_steps", []))]


def _previous_lines(attempt: Result, paper: Paper) -> list[str]:
    reason = attempt.get("failure_code") or attempt.get("interruption_code")
    lines = [
        f"The attempt before, of {attempt['agent']}: {attempt['status']} {paper.moment(attempt['ended_at'])}"
        + (f" ({reason})." if reason else ".")
    ]
    lines += [body(attempt[name]) for name in ("result_summary", "reason_details") if attempt.get(name)]
    lines += [f"  verified: {folded(step, 1_000)}" for step in attempt.get("verification", [])]
    lines += [f"  left: {made['type']} {folded(made['uri'], 200)}" for made in attempt.get("artifacts", [])]
    return lines + [f"  next: {folded(step, 1_000)}" for step in attempt.get("next_steps", [])]


def _renewed(result: Result, paper: Paper) -> str:
    return f"Yours {paper.until(result['lease_expires_at'])}."


def _noted(result: Result, _: Paper) -> str:
    return f"Noted ({result['note_id']})."


def _finished(result: Result, _: Paper) -> str:
    lines = [f"Attempt {result['attempt_status']}; the issue is {result['issue_status']}."]
    lines += [f"Mind: {_warning(warning)}" for warning in result["warnings"]]
    if result.get("released_paths"):
        lines.append("Given back: " + listed(result["released_paths"]))
    return "\n".join(lines)


# --- crew -------------------------------------------------------------------------------------------------------


def _room(result: Result, paper: Paper) -> str:
    parts = [] if result["me"]["agent"] == HUMAN else [f"You are {result['me']['agent']}."]
    if result["agents"]:
        rows = [_agent_row(agent, result["me"]["session"], paper) for agent in result["agents"]]
        parts.append(paper.table(("AGENT", "PRESENCE", "SESSION", "ISSUE", "SEEN", "DOING"), rows))
    else:
        parts.append("Nobody else is here." if "ended" in result else "Nobody else has been here.")
    if "ended" in result:
        many = count(result["ended"], "session")
        parts.append(f"{many} more, over or silent for a day; clearway agent retire NAME takes a name off the list.")
    if result["paths"]:
        rows = [_held_row(lease, paper) for lease in result["paths"]]
        parts.append(paper.table(("HELD BY", "MODE", "UNTIL", "PATH", "FOR"), rows))
    else:
        parts.append("No path is held.")
    if "guard" in result:
        parts.append(f"The {guard(result['guard'], paper)}: edits of held paths pass.")
    weak = list(dict.fromkeys(agent["agent"] for agent in result["agents"] if "hooks" in agent))
    if weak:
        parts.append(f"{', '.join(weak)}: advisory only; a refusal does not stop what it writes (clearway doctor).")
    if "unchecked" in result:
        parts.append(_unchecked(result))
    if result.get("waiting_for_you"):
        from clearway.surfaces import letters

        parts.append(letters.waiting(result["waiting_for_you"]))
    if result.get("needs_you"):
        from clearway.surfaces import briefs

        parts += briefs.needs(result["needs_you"], paper)
    return "\n".join(parts)


def _unchecked(result: Result) -> str:
    return f"{count(result['unchecked'], 'call')} passed unchecked within a day; clearway doctor says why."


def _agent_row(agent: Result, mine: str, paper: Paper) -> list[str]:
    session = "you" if agent["session"] == mine else tables.session(agent["session"])
    return [
        agent["agent"],
        agent["presence"] + (f", {agent['stuck']}" if "stuck" in agent else ""),
        session,
        agent.get("issue", ""),
        paper.distance(agent["seen_at"]),
        folded(agent.get("doing", ""), _CHARS),
    ]


def _held_row(lease: Result, paper: Paper) -> list[str]:
    return [
        lease["agent"],
        "" if lease["mode"] == "edit" else lease["mode"],
        f"{paper.moment(lease['until'])} ({paper.distance(lease['until'])})",
        path(lease["path"]),
        folded(lease["purpose"], _CHARS),
    ]


def _granted(result: Result, paper: Paper) -> str:
    lines = [f"{path(lease['path'])} is yours {paper.until(lease['expires_at'])}." for lease in result["granted"]]
    for lease in result.get("elsewhere", []):
        branch = f" on branch {folded(lease['branch'], 60)}" if "branch" in lease else ""
        also = f"{path(lease['path'])} is also in flight in another worktree: {lease['agent']}{branch}."
        lines.append(also)
    return "\n".join(lines)


def _released(result: Result, _: Paper) -> str:
    return f"Given back: {listed(result['released'])}" if result["released"] else "Nothing was held."


def guard(guard: Result, paper: Paper) -> str:
    if guard["state"] == "on":
        return "guard is on"
    return f"guard is off {paper.until(guard['until'])}" if "until" in guard else "guard is off until clearway on"


def owner(result: Result, paper: Paper) -> str:
    shown = path(result["path"])
    if result["free"]:
        return f"{shown} is free."
    purpose = f" for {quoted(result['purpose'], 120)}" if result.get("purpose") else ""
    running = " (running)" if result["mode"] == "run" else ""
    return f"{shown} is held by {result['agent']}{running}{purpose} {paper.until(result['until'])}."


# --- the command line's own answers -----------------------------------------------------------------------------


def status(state: Result, paper: Paper) -> str:
    """One line for a prompt or a status bar; empty where there is no room."""
    if not state:
        return ""
    parts = [count(state["agents"], "other agent"), f"{count(state['paths'], 'path')} held"]
    mine = state.get("mine")
    if mine:
        parts.append(f"{mine['display_id']} until {paper.moment(mine['until'])}")
    if "guard" in state:
        parts.append(f"the {guard(state['guard'], paper)}")
    if "advisory" in state:
        parts.append(f"advisory only: {', '.join(state['advisory'])}")
    if "needs_you" in state:
        parts.append(f"needs you {state['needs_you']}")
    if "unchecked" in state:
        parts.append(f"{count(state['unchecked'], 'call')} unchecked")
    return "clearway: " + ", ".join(parts)


def overview(state: Result, paper: Paper) -> str:
    """Where this repository stands, and the next two commands."""
    if "project_id" not in state:
        lines = [f"{folded(state['root'], _CHARS)} has no room yet; it is made when the first agent works here."]
    else:
        you, what = ("", "agent") if state["me"] == HUMAN else (f"You are {state['me']}. ", "other agent")
        here = f"{count(state['agents'], what)} here" if state["agents"] else f"No {what} is here"
        held = count(state["paths"], "path") + " held" if state["paths"] else "nothing is held"
        ready = count(state["claimable"], "issue", more=state["more"]) if state["claimable"] else "no issue"
        lines = [f"{you}{here}, {held}, {ready} ready to claim."]
    if "guard" in state:
        lines.append(f"The {guard(state['guard'], paper)}: every edit passes; clearway on switches it on.")
    if "needs_you" in state:
        many = state["needs_you"]
        lines.append(
            f"{many} things wait for you: clearway needs." if many > 1 else "1 thing waits for you: clearway needs."
        )
    if "unchecked" in state:
        lines.append(_unchecked(state))
    refused = state.get("refused")
    if refused:
        newest = f"{folded(refused['agent'], 40)} at {paper.moment(refused['at'])}: {folded(refused['what'], 160)}"
        lines.append(f"Refused as dangerous since yesterday: {refused['count']}, the last of {newest}.")
    mine = state.get("mine")
    if mine:
        lines.append(f"You work on {mine['display_id']} {quoted(mine['title'], 100)} {paper.until(mine['until'])}.")
    return paper.flowed("\n".join([*lines, *(f"  {command}" for command in state["next"])]))


def changes(planned: Sequence[Any], paper: Paper, *, written: bool) -> str:
    """The exact change of every settings file, and what is left for the person to do."""
    if not planned:
        return "Nothing to change."
    parts = [_diff(change.diff, paper) for change in planned]
    notes = list(dict.fromkeys(note for change in planned for note in change.notes))
    parts += [paper.flowed(f"Note: {note}") for note in notes]
    if any(change.file for change in planned):
        done = (
            "Written; clearway doctor tries what is registered." if written else "Nothing was written; --write does it."
        )
        parts.append(done)
    return "\n".join(parts)


def _diff(text: str, paper: Paper) -> str:
    """What goes in red, what comes in green; never cut, since it is the exact change."""
    lines = text.rstrip("\n").split("\n")
    return "\n".join(tables.inked(line, _SIGNS.get(line[:1], "")) if paper.colour else line for line in lines)


def removal(planned: Any, paper: Paper, *, written: bool) -> str:
    """What goes when Clearway leaves this machine, and what is left for the person to do."""
    parts = [_diff(change.diff, paper) for change in planned.changes]
    parts += [f"{'Removed' if written else 'Removes'} the git hooks of {root}" for root in planned.git_hooks]
    parts += [f"{'Removed' if written else 'Removes'} the service {unit}" for unit in planned.services]
    parts += [f"{'Removed' if written else 'Removes'} {path}: {said}" for path, said in planned.paths.items()]
    parts += [f"{'Removed' if written else 'Removes'} {mark}" for mark in planned.marks]
    if planned.kept:
        parts.append(f"{planned.kept} stays, with all issues and their history; --data removes it, too.")
    if not (planned.changes or planned.paths or planned.marks or planned.git_hooks or planned.services):
        parts.append("Nothing of Clearway is registered here.")
    elif not written:
        parts.append("Nothing was changed; --write does it.")
    if written:
        parts.append("Sessions that run keep their hooks until they end. The program itself goes the way it came:")
        parts.append("  uv tool uninstall clearway | pipx uninstall clearway | pip uninstall clearway")
    return "\n".join(parts)


def checks(found: Sequence[Mapping[str, str]], paper: Paper) -> str:
    """What the doctor found, one line a check."""
    names = 2 + max(len(check["name"]) for check in found)
    level = 2 + max(len(check["level"]) for check in found)
    lines: list[str] = []
    for check in found:
        said = [f"{check['name']:<{names}}{folded(check['message'], 2_000)}"]
        said += [f"{'':{names}}-> {folded(check['fix'], 2_000)}"] if "fix" in check else []
        room = None if paper.columns is None else max(20, paper.columns - level)
        for place, line in enumerate(tables.flowed("\n".join(said), room, names).split("\n")):
            word = "" if place else check["level"]
            lines.append(paper.inked(word) + " " * (level - len(word)) + line)
    return "\n".join(lines)


# --- pieces -----------------------------------------------------------------------------------------------------


def fields(result: Result, paper: Paper) -> str:
    """An answer without words of its own: field by field, and a list of things as a table."""
    lines: list[str] = []
    for name, value in result.items():
        items = _things(value)
        if items:
            heads = list(dict.fromkeys(key for item in items for key in item))
            rows = [[_value(item[key]) if key in item else "" for key in heads] for item in items]
            lines.append(paper.table([key.replace("_", " ").upper() for key in heads], rows))
        elif value not in ([], {}):
            lines.append(f"{name}: {_value(value)}")
    return "\n".join(lines) or "Done."


def _things(value: Any) -> list[Result]:
    listed: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    return listed if listed and all(isinstance(item, dict) for item in listed) else []


def _value(value: Any) -> str:
    return folded(value if isinstance(value, str) else wire.dumps(value), 10_000)


def more(result: Result) -> str:
    """How a list goes on."""
    return f"\nMore: --cursor {result['next_cursor']}" if result.get("next_cursor") else ""


def body(text: str) -> str:
    return indented(text)


def count(number: int, what: str, *, more: bool = False) -> str:
    return f"{number}{'+' if more else ''} {what}{'' if number == 1 and not more else 's'}"


def listed(paths: Sequence[str]) -> str:
    return ", ".join(map(path, paths)) + "."


def path(name: str) -> str:
    """A path letter for letter, so that two that differ look different; of a long one the end."""
    return ending(name, _CHARS)


def _rounded(seconds: int) -> str:
    """The nearest whole number of the largest unit of which there are at least two, or one minute."""
    for size, word in ((_DAY, "days"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= (_MINUTE if size == _MINUTE else 2 * size):
            return f"{round(seconds / size)} {word}"
    return f"{seconds} s"


WRITERS: dict[str, Callable[[Result, Paper], str]] = {
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
    "path_owner": owner,
}

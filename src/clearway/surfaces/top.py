"""`clearway top`: the room on one page that stays up to date, for a terminal, by keyboard, also over ssh.

What needs the person stands first, then who is here, what is held and how long still, tasks and why they wait, limits,
and what is blocked. It only looks: nothing here changes the room or gives a sign of life. Only the signs that every
terminal knows are written, in those of its colours that can be read on dark and on light.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from clearway import amounts
from clearway.catalog import OPERATIONS
from clearway.crew import needs
from clearway.surfaces import reporting, tables
from clearway.surfaces.asking import Run
from clearway.surfaces.render import Paper, Result
from clearway.untrusted import ending, folded

_TASKS = ["pending", "leased", "started"]
_STYLES = {
    "busy": "green", "stalled": "magenta", "offline": "dim", "rate-limited": "red",
    "leased": "cyan", "started": "green",
}  # fmt: skip
_STUCK = {"still": "no edit for an hour", "failing": "fails again and again", "circling": "goes in circles"}
_STUCK["cost"] = "has cost what it may"
_BAR = 8
_ATTEMPT_SECONDS = 900  # a lease on an issue is drawn against this, or against what is left of a longer one
_CHARS = 300
_NARROW = 100  # a column of sections
_WIDE = 130  # from here on there are two columns of sections
GAP = 3
_SHOWN = 40  # lines of one section


@dataclass(frozen=True)
class Row:
    """A line: cells in columns, and what is said of it when it is chosen."""

    cells: tuple[str, ...]
    detail: str = ""
    style: str = ""


@dataclass
class Section:
    """Rows of one kind below a heading. quiet: what stands there when there are none; empty to leave it out."""

    title: str
    rows: list[Row] = field(default_factory=list[Row])
    quiet: str = ""
    more: int = 0  # that are not shown


@dataclass(frozen=True)
class Line:
    """A line of the page; `row` if it can be chosen."""

    text: str
    style: str = ""
    row: Row | None = None


def gathered(run: Run) -> Result:
    """All that the page shows, as programs read it."""
    room = run.ask(OPERATIONS["room"])
    board = run.ask(OPERATIONS["get_board"], cards=10)
    attempts = run.ask(OPERATIONS["list_attempts"], statuses=["active"], limit=50)
    tasks = run.ask(OPERATIONS["list_tasks"], states=_TASKS, limit=50)
    costs = run.ask(OPERATIONS["get_costs"], since="24h", by="agent")
    project = run.ask(OPERATIONS["get_project"])["project"]
    found = {
        "project": reporting.named(run, project),
        **{name: room[name] for name in ("agents", "ended", "guard") if name in room},
        "needs_you": _waiting(run),
        "attempts": attempts["items"],
        "paths": run.ask(OPERATIONS["get_holdings"])["paths"],
        "tasks": tasks["items"],
        "limits": run.ask(OPERATIONS["list_limits"])["items"],
        "counts": board["counts"],
        "blocked": board["columns"].get("blocked", []),
        "ready": board["columns"].get("ready", []),
        "review": board["columns"].get("review", []),
    }
    return {**found, "spent_24h": costs["total"]}


def _waiting(run: Run) -> list[Result]:
    """What waits for the human, which is for nobody else."""
    room = run.rooms.of_folder(run.folder)
    return room.run(needs.listed, caller=run.caller, writes=False) if run.caller.human else []


def sections(found: Result, paper: Paper, *, plain: bool, width: int) -> list[Section]:
    """The page in parts. plain: bars of letters, for terminals that know no other signs. width: of the page; where it
    is narrow, what is said of a chosen line need not stand in it."""
    narrow = (width if width < _WIDE else (width - GAP) // 2) < _NARROW
    work = {each["session"]: each for each in found["attempts"]}
    queues = _queues(found["tasks"], paper)
    return [
        Section("NEEDS YOU", [_need(each, paper) for each in found["needs_you"]], quiet="Nothing waits for you."),
        Section(
            "AGENTS",
            [_agent(each, work, queues, paper, plain=plain, narrow=narrow) for each in found["agents"]],
            quiet="Nobody is here.",
        ),
        Section("HELD", [_held(each, paper, plain=plain) for each in found["paths"]], quiet="No path is held."),
        Section("TASKS", [_task(each, paper) for each in found["tasks"]]),
        Section("LIMITS", [_limit(each, paper) for each in found["limits"]]),
        Section("REVIEW", [_review(each) for each in found["review"]]),
        Section("WAITS", [_blocked(each) for each in found["blocked"]]),
        Section("READY", [_ready(each) for each in found["ready"]]),
    ]


def headline(found: Result, paper: Paper, width: int) -> str:
    """The whole of it in one line, with the time at its end: as much as there is room for."""
    live = sum(agent["presence"] != "offline" for agent in found["agents"])
    parts = ["GUARD OFF"] if "guard" in found else []
    parts += [f"needs you {len(found['needs_you'])}", f"live {live}", f"held {len(found['paths'])}"]
    counts: Result = found["counts"]
    parts += [f"{name} {counts[name]}" for name in ("ready", "blocked", "review", "done") if counts.get(name)]
    spent = found["spent_24h"]
    if "cost_usd" in spent:
        parts.append(f"${spent['cost_usd']:,.2f} in 24 h")
    elif spent.get("unpriced_tokens"):
        parts.append(f"{amounts.thousands(spent['unpriced_tokens'])} tokens in 24 h")
    time = f"{datetime.fromtimestamp(paper.now / 1_000):%H:%M:%S}"
    line = folded(found["project"].get("name") or "clearway", 40)
    for part in parts:
        if tables.cells(line) + len(part) + len(time) + 4 > width:
            break
        line += f"  {part}"
    return tables.filled(tables.cut(line, width - len(time) - 2), width - len(time)) + time


def lines(parts: Sequence[Section], width: int) -> list[Line]:
    """The page as lines of at most so many columns: one below the other, or side by side where there is room."""
    shown = [part for part in parts if part.rows or part.quiet]
    if width < _WIDE:
        return _column(shown, width)
    half = (width - GAP) // 2
    left = [part for part in shown if part.title in ("NEEDS YOU", "AGENTS", "READY")]
    right = [part for part in shown if part not in left]
    return _beside(_column(left, half), _column(right, width - GAP - half), half)


def once(run: Run) -> str:
    """The page for a pipe or a paper: all of it, once."""
    found, paper = gathered(run), run.paper
    width = paper.columns or 100
    page = lines(sections(found, paper, plain=not paper.colour, width=width), width)
    text = [headline(found, paper, width), *(line.text.rstrip() for line in page)]
    return "\n".join(text)


def painted(text: str, style: str, *, colour: bool) -> str:
    return tables.inked(text, style) if colour else text


def _column(parts: Sequence[Section], width: int) -> list[Line]:
    found: list[Line] = []
    for part in parts:
        if found:
            found.append(Line(""))
        number = f" {len(part.rows)}" if part.rows else ""
        found.append(Line(tables.cut(part.title + number, width), "bold"))
        if not part.rows:
            found.append(Line(tables.cut(f"  {part.quiet}", width), "dim"))
            continue
        rows = part.rows[:_SHOWN]
        widths = _widths([row.cells for row in rows], width - 2)
        for row in rows:
            cells = [
                tables.filled(tables.cut(cell, space), space) for cell, space in zip(row.cells, widths, strict=True)
            ]
            text = "  " + "  ".join(cell for cell, space in zip(cells, widths, strict=True) if space)
            found.append(Line(tables.cut(text.rstrip(), width), row.style, row))
        if len(part.rows) > len(rows):
            found.append(Line(f"  and {len(part.rows) - len(rows)} more", "dim"))
    return found


def _beside(left: Sequence[Line], right: Sequence[Line], half: int) -> list[Line]:
    """Two columns as one."""
    found: list[Line] = []
    for place in range(max(len(left), len(right))):
        one = left[place] if place < len(left) else Line("")
        other = right[place] if place < len(right) else Line("")
        found.append(Pair(one, other, half))
    return found


class Pair(Line):
    """Two lines side by side, of which each may be chosen."""

    left: Line
    right: Line
    half: int

    def __init__(self, left: Line, right: Line, half: int) -> None:
        super().__init__(tables.filled(left.text, half + GAP) + right.text)
        for name, value in (("left", left), ("right", right), ("half", half)):
            object.__setattr__(self, name, value)


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """So wide is each column that the last has what is left; those before give way only when that is too little."""
    places = max((len(row) for row in rows), default=0)
    widths = [max(tables.cells(row[place]) for row in rows) for place in range(places)]
    gaps = 2 * (sum(1 for each in widths if each) - 1)
    least = min(widths[-1], 14)
    while sum(widths) + gaps > width and widths[-1] > least:
        widths[-1] -= 1
    while sum(widths) + gaps > width:
        place = max(range(places - 1), key=lambda each: widths[each])
        if widths[place] <= 4:
            break
        widths[place] -= 1
    return widths


# --- rows -----------------------------------------------------------------------------------------------------------


def _need(each: Result, paper: Paper) -> Row:
    ago = paper.distance(each["at"]) if "at" in each else ""
    text = folded(each["text"], _CHARS)
    return Row((f"! {text}", ago), f"{text}\n  {each['next']}", "bold")


def _queues(tasks: list[Result], paper: Paper) -> dict[str, str]:
    """What each agent has in hand, and what waits for it, since when."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(task["to"] for task in tasks):
        mine = [task for task in tasks if task["to"] == name]
        waiting = [task for task in mine if task["state"] == "pending"]
        parts = [f"does #{task['task_id']}" for task in mine if task not in waiting][:1]
        if waiting:
            oldest = min(task["at"] for task in waiting)
            parts.append(f"{len(waiting)} queued, the oldest {paper.distance(oldest)}")
        found[name] = ", ".join(parts)
    return found


def _agent(
    agent: Result, work: dict[str, Result], queues: dict[str, str], paper: Paper, *, plain: bool, narrow: bool
) -> Row:
    attempt = work.get(agent["session"])
    left = ""
    if attempt is not None and "lease_expires_at" in attempt:
        left = _draining(attempt["lease_expires_at"], _ATTEMPT_SECONDS, paper, plain=plain)
    doing = folded(agent.get("doing", ""), _CHARS)
    stuck = _STUCK.get(agent.get("stuck", ""), "")
    said = " - ".join(filter(None, (f"! {stuck}" if stuck else "", queues.get(agent["agent"], ""), doing)))
    session = "" if narrow else tables.session(agent["session"])
    until = f", limited until {paper.moment(agent['limited_until'])}" if "limited_until" in agent else ""
    detail = f"{agent['agent']} {agent['session']}: {agent['presence']}{until}, seen {paper.distance(agent['seen_at'])}"
    if attempt is not None:
        name = attempt["display_id"]
        detail += f"\n  works on {name} {paper.until(attempt['lease_expires_at'])}; clearway why {name}"
    if said:
        detail += f"\n  {said}"
    style = "red" if stuck else _STYLES.get(agent["presence"], "")
    issue = agent.get("issue", "")
    cells = (
        agent["agent"],
        session,
        agent["presence"],
        issue,
        left,
        said or f"seen {paper.distance(agent['seen_at'])}",
    )
    return Row(cells, detail, style)


def _held(lease: Result, paper: Paper, *, plain: bool) -> Row:
    left = _draining(lease["until"], lease["lease_seconds"], paper, plain=plain)
    shown = ending(lease["path"], _CHARS)
    mode = "" if lease["mode"] == "edit" else f" ({'running' if lease.get('call') else lease['mode']})"
    purpose = folded(lease.get("purpose", "") or lease.get("issue", ""), _CHARS)
    detail = f"{shown}{mode} is held by {lease['agent']} {paper.until(lease['until'])}"
    detail += f", {purpose}" if purpose else ""
    return Row((lease["agent"], left, shown + mode, purpose), f"{detail}\n  clearway why {shown}")


def _task(task: Result, paper: Paper) -> Row:
    number, text = f"#{task['task_id']}", folded(task["text"], _CHARS)
    waiting: Result = task.get("waiting") or {}
    why = waiting.get("reason", "")
    if waiting.get("path"):
        why = f"waits for {ending(waiting['path'], 40)}, held by {waiting['agent']}"
    if waiting.get("until"):
        why += f", {paper.distance(waiting['until'])}"
    who = task.get("agent") or task["to"]
    detail = f"{number} from {task['from']} to {task['to']}, {task['state']}: {text}"
    detail += f"\n  {why}" if why else ""
    cells = (number, task["state"], who, task.get("priority", ""), f"{why}: {text}" if why else text)
    return Row(cells, f"{detail}\n  clearway task list --task-id {task['task_id']}", _STYLES.get(task["state"], ""))


def _limit(limit: Result, paper: Paper) -> Row:
    until = "nobody knows until when"
    if "until" in limit:
        until = f"{paper.moment(limit['until'])} ({paper.distance(limit['until'])})"
    reason, agent = folded(limit.get("reason", ""), _CHARS), limit["agent"]
    detail = f"{agent} is at its provider's limit since {paper.moment(limit['since'])}: {until}"
    return Row((agent, limit["state"], until, reason), f"{detail}\n  clearway provider clear {agent}", "red")


def _blocked(card: Result) -> Row:
    why: str = card.get("blocked_reason") or ""
    if card.get("waits_for"):
        why = "waits for " + ", ".join(card["waits_for"]) + (f"; {why}" if why else "")
    return _card(card, folded(why, _CHARS))


def _review(card: Result) -> Row:
    review: Result = card.get("review") or {}
    stale = ", but it has changed since" if review.get("stale") else ""
    return _card(card, f"{review['status']}{stale}" if review else "")


def _ready(card: Result) -> Row:
    return _card(card, f"kept for {card['reserved_for']}" if card.get("reserved_for") else "")


def _card(card: Result, why: str) -> Row:
    title = folded(card["title"], _CHARS)
    detail = f"{card['display_id']} {title}" + (f": {why}" if why else "")
    style = "" if why else "dim"
    text, command = f"{title} - {why}" if why else title, f"clearway why {card['display_id']}"
    return Row((card["display_id"], card.get("priority", ""), text), f"{detail}\n  {command}", style)


def _draining(until: str, seconds: int, paper: Paper, *, plain: bool) -> str:
    """A lease as a bar that becomes shorter, and what is left of it."""
    left = (datetime.fromisoformat(until).timestamp() * 1_000 - paper.now) / 1_000
    part = max(0.0, min(1.0, left / max(1, seconds)))
    filled = max(1 if left > 0 else 0, round(part * _BAR))
    full, empty = ("#", "-") if plain else ("━", "╌")
    bar = full * filled + empty * (_BAR - filled)
    return f"{bar} {max(0, round(left / 60)):>3} min" if left >= 90 else f"{bar} {max(0, round(left)):>3} s"

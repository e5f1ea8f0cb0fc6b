"""Answers about tasks, as a person reads them."""

from __future__ import annotations

from clearway.annotating import cast
from clearway.untrusted import ending, folded, indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.surfaces.render import Paper, Result

_CHARS = 200  # of one value in a line


def _next(result: Result, paper: Paper) -> str:
    task = cast("Result | None", result["task"])
    if task is None:
        waiting = cast("Result | None", result.get("waiting"))
        return "No task for you now." if waiting is None else f"Task #{waiting['task_id']} {waits(waiting, paper)}."
    sender = folded(task["from"], _CHARS)
    return "\n".join(
        [
            f"Task #{task['task_id']} from {sender} is yours {paper.until(task['lease_expires_at'])}.",
            *_links(task),
            f"  lease token {task['lease_token']}",
            "",
            indented(task["text"]),
            "",
            f"clearway task start {task['task_id']} says that you begin; task done or task fail ends it.",
        ]
    )


def _updated(result: Result, paper: Paper) -> str:
    said = f"Task #{result['task_id']} is {_word(result['state'])}"
    if "lease_expires_at" in result:
        return f"{said}; it is yours {paper.until(result['lease_expires_at'])}."
    return f"{said}; its sender is told."


def _changed(result: Result, _: Paper) -> str:
    return f"Task #{result['task_id']} is {_word(result['state'])}."


def _list(result: Result, paper: Paper) -> str:
    items = cast("list[Result]", result["items"])
    if not items:
        return "No tasks. clearway send TEXT --to AGENT --kind task asks for something."
    if len(items) == 1 and not result["has_more"]:
        return _whole(items[0], paper)
    heads = ("", "STATE", "FROM", "TO", "PRIORITY", "WHERE IT STANDS", "TEXT")
    table = paper.table(heads, [_row(item, paper) for item in items])
    return table + (
        f"\nThere are older ones: --cursor {result['next_cursor']} shows them." if result["has_more"] else ""
    )


def waits(waiting: Result, paper: Paper) -> str:
    """Why a task is not handed out now, behind its name."""
    if "path" in waiting:
        who = folded(waiting["agent"], _CHARS)
        return f"waits for {ending(waiting['path'], _CHARS)}, held by {who} {paper.until(waiting['until'])}"
    until = f" {paper.until(waiting['until'])}" if "until" in waiting else ""
    return f"waits: {waiting['reason']}{until}"


def _whole(item: Result, paper: Paper) -> str:
    who = f"from {folded(item['from'], _CHARS)} to {folded(item['to'], _CHARS)}"
    lines = [f"#{item['task_id']} task {who}, {paper.moment(item['at'])} ({_word(item['state'])})"]
    stands = _stands(item, paper)
    lines += [f"  {stands}"] if stands else []
    lines += _links(item)
    if item["attempts"] > 1:
        lines.append(f"  taken {item['attempts']} times")
    if item.get("result_id"):
        lines.append(f"  answered by #{item['result_id']}")
    if item.get("late_result"):
        lines.append(f"  came too late: {folded(item['late_result'], _CHARS)}")
    return "\n".join([*lines, "", indented(item["text"])]) if item["text"] else "\n".join(lines)


def _row(item: Result, paper: Paper) -> list[str]:
    return [
        f"#{item['task_id']}",
        _word(item["state"]),
        folded(item["from"], _CHARS),
        folded(item["to"], _CHARS),
        item.get("priority", ""),
        _stands(item, paper),
        folded(item["text"], _CHARS),
    ]


def _stands(item: Result, paper: Paper) -> str:
    if "agent" in item:
        return f"{folded(item['agent'], _CHARS)} has it {paper.until(item['lease_expires_at'])}"
    waiting = cast("Result | None", item.get("waiting"))
    return "" if waiting is None else waits(waiting, paper)


def _limited(result: Result, paper: Paper) -> str:
    agent = folded(result["agent"], _CHARS)
    if result["state"] == "free":
        return f"{agent} is no longer at its limit." if result.get("changed", True) else f"{agent} was at no limit."
    until = paper.until(result["until"]) if "until" in result else "until somebody says that it is over (limit --clear)"
    lines = [f"{agent} is at its limit {until}."]
    return "\n".join([*lines, *_moved(result)])


def _limits(result: Result, paper: Paper) -> str:
    items, chains = cast("list[Result]", result["items"]), cast("list[Result]", result["fallbacks"])
    lines = ["Nobody is at a limit."]
    if items:
        rows = [
            [folded(each["agent"], _CHARS), _STATES[each["state"]], _end(each, paper), each["source"].replace("_", " ")]
            + [folded(each.get("reason", ""), _CHARS)]
            for each in items
        ]
        lines = [paper.table(("AGENT", "LIMIT", "ENDS", "SAID BY", "REASON"), rows)]
    for chain in chains:
        lines.append(f"What {chain['agent']} cannot do goes to {', '.join(chain['to'])}.")
    if not chains:
        lines.append("No agent has fallbacks: clearway config set fallbacks codex=claude-code gives one.")
    return "\n".join(lines)


_STATES = {"limited": "reached", "over": "may be over, one task is tried", "unknown": "nobody knows"}


def _end(limit: Result, paper: Paper) -> str:
    if "until" not in limit:
        return "nobody said"
    return f"{paper.moment(limit['until'])} ({paper.distance(limit['until'])})"


def _activated(result: Result, _: Paper) -> str:
    lines = [
        f"Tasks of {each['agent']} after #{each['after_task']} may go to {', '.join(each['to'])}."
        if each["after_task"]
        else f"All tasks of {each['agent']} that wait may go to {', '.join(each['to'])}."
        for each in cast("list[Result]", result["agents"])
    ]
    return "\n".join([*lines, *_moved(result)])


def _moved(result: Result) -> list[str]:
    moved = cast("list[Result]", result.get("moved", []))
    return [f"Task #{each['task_id']} went from {each['from']} to {each['to']}." for each in moved]


def _links(task: Result) -> list[str]:
    lines: list[str] = [f"  about {task['issue_id']}"] if task.get("issue_id") else []
    if task.get("moved_from"):
        lines.append(f"  it was {folded(task['moved_from'], _CHARS)}'s, which cannot")
    if task.get("reply_to"):
        lines.append(f"  answers #{task['reply_to']}")
    if task.get("paths"):
        lines.append(f"  changes {', '.join(ending(path, _CHARS) for path in task['paths'])}")
    return lines


def _word(state: str) -> str:
    return {"needs_review": "to be reviewed", "dead_letter": "given up", "leased": "taken"}.get(state, state)


WRITERS: dict[str, Callable[[Result, Paper], str]] = {
    "next_task": _next,
    "update_task": _updated,
    "list_tasks": _list,
    "retry_task": _changed,
    "cancel_task": _changed,
    "report_limit": _limited,
    "list_limits": _limits,
    "activate_failover": _activated,
}

"""Answers about messages, as a person reads them."""

from __future__ import annotations

from clearway.annotating import cast
from clearway.untrusted import folded, indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.surfaces.render import Paper, Result

_CHARS = 200  # of one value in a line


def _sent(result: Result, _: Paper) -> str:
    lines = [f"Message #{result['message_id']} is {result['state']}.", *result.get("warnings", [])]
    return "\n".join(lines)


def _taken(result: Result, paper: Paper) -> str:
    if "lease_token" in result:
        task, until = result["message_id"], paper.until(result["lease_expires_at"])
        return (
            f"Task #{task} is yours {until}; clearway task start {task} says that you begin.\n"
            f"  lease token {result['lease_token']}"
        )
    said = {"taking": "is yours now; its sender was told", "done": "is done", "seen": "asks for no answer"}
    return f"Message #{result['message_id']} {said.get(result['state'], result['state'])}."


def _released(result: Result, _: Paper) -> str:
    return f"Message #{result['message_id']} goes to its recipient."


def _retired(result: Result, paper: Paper) -> str:
    agent, gone, kept = result["agent"], cast("list[Result]", result["retired"]), cast("list[Result]", result["kept"])
    done, back = ("would leave", "would go") if result.get("dry_run") else ("left", "went")
    sessions = "1 session" if len(gone) == 1 else f"{len(gone)} sessions"
    lines = [f"{sessions} of {agent} {done} the list." if gone else f"No session of {agent} is over."]
    if kept:
        rows = [["", folded(row["session"], 40), row["presence"]] for row in kept]
        lines += ["Still here, and left alone:", paper.table(("", "SESSION", "PRESENCE"), rows)]
    if result["messages_returned"]:
        count = result["messages_returned"]
        lines.append(f"{'1 message' if count == 1 else f'{count} messages'} {back} back to who sent it.")
    return "\n".join(lines)


def _inbox(result: Result, paper: Paper) -> str:
    items = cast("list[Result]", result["items"])
    if not items:
        return "No messages. clearway send TEXT --to AGENT writes one."
    if len(items) == 1 and not items[0].get("truncated") and not result["has_more"]:
        return _whole(items[0], paper)
    shown = paper.table(("", "FROM", "TO", "KIND", "WHEN", "STATE", "TEXT"), [_row(item, paper) for item in items])
    return shown + ("\nThere are older ones: --limit shows more." if result["has_more"] else "")


def _overdue(result: Result, paper: Paper) -> str:
    items = cast("list[Result]", result["items"])
    if not items:
        return "Nothing waits for an answer."
    heads = ("", "FROM", "TO", "SENT", "PROBLEM", "TEXT")
    rows = [[*_row(item, paper)[:3], paper.distance(item["at"]), item["problem"], _text(item)] for item in items]
    return paper.table(heads, rows)


def waiting(items: list[Result]) -> str:
    """What somebody is expected to answer, for the room."""
    said = "; ".join(f'#{item["message_id"]} from {folded(item["from"], _CHARS)} "{_text(item)}"' for item in items)
    return f"Waiting for your answer: {said}. clearway accept NUMBER says that you take it."


def come(items: list[Result], paper: Paper) -> str:
    """What somebody has waited for."""
    return "\n\n".join(_whole(item, paper) for item in items) or "No message has come."


def _whole(item: Result, paper: Paper) -> str:
    head = f"#{item['message_id']} {item['kind']} from {folded(item['from'], _CHARS)} to {folded(item['to'], _CHARS)}"
    lines = [f"{head}, {paper.moment(item['at'])} ({item['state']})"]
    if item.get("reply_to"):
        lines.append(f"  answers #{item['reply_to']}")
    if item.get("issue_id"):
        lines.append(f"  about {item['issue_id']}")
    if item.get("held_back"):
        lines.append(f"  held back: {item['held_back']}; clearway message release {item['message_id']} lets it go")
    if item.get("note"):
        lines.append(f"  taken with the note: {folded(item['note'], _CHARS)}")
    return "\n".join([*lines, "", indented(item["text"])]) if item["text"] else "\n".join(lines)


def _row(item: Result, paper: Paper) -> list[str]:
    return [
        f"#{item['message_id']}",
        folded(item["from"], _CHARS),
        folded(item["to"], _CHARS),
        item["kind"],
        paper.moment(item["at"]),
        "held back" if item.get("held_back") else item["state"],
        _text(item),
    ]


def _text(item: dict[str, Any]) -> str:
    return folded(item["text"], _CHARS)


def _stats(result: Result, paper: Paper) -> str:
    refusals, recovery, hooks = result["refusals"], result["recovery"], result["hooks"]
    codes = ", ".join(f"{code} {count}" for code, count in refusals["by_code"].items())
    rows = [
        ["refusals", str(refusals["total"]), codes],
        ["leaks", str(result["leaks"]), "held files that a call changed"],
        ["overlaps", str(result["overlaps"]), "the same path in flight in two worktrees"],
        ["duplicate work avoided", str(result["duplicate_work_avoided"]), "issues refused to a second session"],
        ["work lost", str(recovery["lost"]), f"attempts that lapsed; {recovery['recovered']} were gone on with"],
    ]
    if "p50_seconds" in recovery:
        said = f"half within {recovery['p50_seconds']} s, most within {recovery['p95_seconds']} s"
        rows.append(["recovery", "", f"from the last sign of life: {said}"])
    rows.append(["hooks", str(hooks["calls"]), f"of this machine; {hooks['bytes_injected']} bytes put before models"])
    if "p50_ms" in hooks:
        rows.append(["hook latency", "", f"half within {hooks['p50_ms']} ms, most within {hooks['p95_ms']} ms"])
    unchecked = ", ".join(f"{folded(code, 40)} {count}" for code, count in sorted(hooks["unchecked_24h"].items()))
    rows.append(["passed unchecked", str(sum(hooks["unchecked_24h"].values())), unchecked or "within a day"])
    return f"Since {paper.moment(result['since'])}:\n" + paper.table(("", "COUNT", ""), rows)


WRITERS: dict[str, Callable[[Result, Paper], str]] = {
    "accept_message": _taken,
    "overdue": _overdue,
    "retire_agent": _retired,
    "stats": _stats,
    "read_inbox": _inbox,
    "release_message": _released,
    "send_message": _sent,
}

"""The morning page: what landed since a time, what was parked and why, what tests said, what it cost, and what waits
for a person. And what work has cost, as a table.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

from clearway import amounts
from clearway.catalog import OPERATIONS
from clearway.crew import needs
from clearway.surfaces.asking import Run
from clearway.surfaces.pages import Document
from clearway.surfaces.render import Paper, Result, count

_TESTS = {
    "green": "green",
    "red": "red",
    "stale": "edited after the last green run",
    "untested": "none were run",
    "unknown": "nobody could tell",
    "unedited": "",
}
_STUCK = {"still": "nothing has moved for an hour", "failing": "fails again and again", "circling": "goes in circles"}
_STUCK["cost"] = "has cost what it may"
_TASKS = 100
_ENDED = ("succeeded", "failed", "needs_review", "dead_letter", "expired")


def gathered(run: Run, since: str) -> Result:
    """Everything that the report says, as programs read it."""
    project = run.ask(OPERATIONS["get_project"])["project"]
    found = run.ask(OPERATIONS["get_outcomes"], since=since)
    tasks = run.ask(OPERATIONS["list_tasks"], limit=_TASKS)["items"]
    costs = {by: run.ask(OPERATIONS["get_costs"], since=found["since"], by=by) for by in ("issue", "agent")}
    room = run.rooms.of_folder(run.folder)
    # What waits for the human is for nobody else.
    waiting = room.run(needs.listed, caller=run.caller, writes=False) if run.caller.human else []
    return {
        "project": named(run, project),
        **found,
        "tasks": [task for task in tasks if task["state"] in _ENDED and task["at"] >= found["since"]],
        "costs": {
            "total": costs["issue"]["total"],
            "by_issue": costs["issue"]["items"],
            "by_agent": costs["agent"]["items"],
            **({"caps": costs["issue"]["caps"]} if "caps" in costs["issue"] else {}),
        },
        "waiting": waiting,
    }


def named(run: Run, project: Result) -> Result:
    """The project's name and key; one without a name is called as its folder is."""
    found = {name: project[name] for name in ("name", "key") if project.get(name)}
    place = run.place
    return {**({} if place is None else {"name": os.path.basename(place.root)}), **found}


def document(found: Result, paper: Paper) -> Document:
    """The report of what was gathered."""
    name = found["project"].get("name") or "Report"
    report = Document(f"{name}: {paper.moment(found['since'])} to {paper.moment(found['until'])}")
    report.say(_summary(found))
    spent = {item["issue"]: _spent(item) for item in found["costs"]["by_issue"] if item.get("issue")}
    if found["waiting"]:
        report.head(f"Waits for you ({len(found['waiting'])})")
        report.table(("what", "do"), [[each["text"], each["next"]] for each in found["waiting"]])
    for part, title in (("landed", "Landed"), ("review", "To be reviewed")):
        if found[part]:
            report.head(f"{title} ({len(found[part])})")
            rows = [_done(each, spent, paper) for each in found[part]]
            report.table(("issue", "at", "by", "tests", "cost", "title", "result"), rows)
    if found["parked"]:
        report.head(f"Parked ({len(found['parked'])})")
        rows = [_parked(each, spent) for each in found["parked"]]
        report.table(("issue", "status", "by", "tests", "cost", "title", "why"), rows)
    if found["running"]:
        report.head(f"Still in work ({len(found['running'])})")
        report.table(
            ("issue", "by", "since", "cost", "title", "but"), [_live(each, spent, paper) for each in found["running"]]
        )
    if found["tasks"]:
        report.head(f"Tasks ({len(found['tasks'])})")
        rows = [
            [f"#{each['task_id']}", each["state"].replace("_", " "), each.get("to", ""), each["text"]]
            for each in found["tasks"]
        ]
        report.table(("task", "state", "for", "text"), rows)
    if found["costs"]["by_agent"]:
        report.head("Cost")
        report.table(_COST_HEADS, [_cost_row(item, "agent") for item in found["costs"]["by_agent"]])
        for sentence in _caps(found["costs"].get("caps", {})):
            report.say(sentence)
    return report


def costs(result: Result, paper: Paper) -> str:
    """What work has cost, as a table and a sum."""
    items: list[Result] = result["items"]
    by: str = result["by"]
    since = f" since {paper.moment(result['since'])}" if "since" in result else ""
    if not items:
        return f"Nothing was spent{since}, as far as anybody told."
    rows = [_cost_row(item, by) for item in items]
    heads = (by.upper(), *(head.upper() for head in _COST_HEADS[1:]))
    table = paper.table(heads, rows)
    return "\n".join([table, f"In all{since}: {_spent(result['total'])}.", *_caps(result.get("caps", {}))])


WRITERS: dict[str, Callable[[Result, Paper], str]] = {"get_costs": costs}
_COST_HEADS = ("agent", "money", "read", "cached", "written", "unpriced")


def _cost_row(item: Result, by: str) -> list[str]:
    name = item.get(by)
    return [
        "(none)" if name is None else f"#{name}" if by == "task" else str(name),
        f"${item['cost_usd']:,.2f}" if "cost_usd" in item else "",
        amounts.thousands(item["input_tokens"]),
        amounts.thousands(item["cached_tokens"]) if "cached_tokens" in item else "",
        amounts.thousands(item["output_tokens"]),
        amounts.thousands(item["unpriced_tokens"]) if "unpriced_tokens" in item else "",
    ]


def _spent(item: Result) -> str:
    tokens = item["input_tokens"] - item.get("cached_tokens", 0) + item["output_tokens"]
    said = [f"${item['cost_usd']:,.2f}"] if "cost_usd" in item else []
    if "unpriced_tokens" in item or not said:
        said.append(f"{amounts.thousands(item.get('unpriced_tokens', tokens))} tokens" + (" more" if said else ""))
    return " and ".join(said)


def _caps(caps: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if "night" in caps:
        night = caps["night"]
        lines.append(
            f"This night: ${night['cost_usd']:,.2f}, {amounts.thousands(night['tokens'])} tokens of {night['cap']}."
        )
    lines += [f"One {what} may cost {caps[what]['cap']}." for what in ("agent", "issue") if what in caps]
    return lines


def _summary(found: Result) -> str:
    parts = [
        f"{found['landed_count']} landed",
        f"{len(found['review'])} to be reviewed",
        f"{len(found['parked'])} parked",
        f"{len(found['running'])} in work",
        f"{found['created']} new",
        count(found["attempts"], "attempt"),
    ]
    total = found["costs"]["total"]
    if total["input_tokens"] or total["output_tokens"] or "cost_usd" in total:
        parts.append(_spent(total))
    return ", ".join(parts) + "."


def _done(item: Result, spent: dict[str, str], paper: Paper) -> list[str]:
    links = " ".join(link["uri"] for link in cast("list[Result]", item.get("links", [])))
    said = " ".join(filter(None, (item.get("result_summary", ""), links)))
    at = paper.moment(item["at"]) if "at" in item else ""
    return [
        item["display_id"],
        at,
        item.get("agent", ""),
        _tests(item),
        spent.get(item["display_id"], ""),
        item["title"],
        said,
    ]


def _parked(item: Result, spent: dict[str, str]) -> list[str]:
    why = item.get("why") or item.get("ended_as", "")
    return [
        item["display_id"],
        item["status"] if item["status"] == "blocked" else item.get("ended_as", item["status"]),
        item.get("agent", ""),
        _tests(item),
        spent.get(item["display_id"], ""),
        item["title"],
        why + (f" Next: {item['next_steps']}" if "next_steps" in item else ""),
    ]


def _live(item: Result, spent: dict[str, str], paper: Paper) -> list[str]:
    stuck = _STUCK.get(item.get("stuck", ""), "")
    cost = spent.get(item["display_id"], "")
    return [item["display_id"], item["agent"], paper.moment(item["started_at"]), cost, item["title"], stuck]


def _tests(item: Result) -> str:
    return _TESTS.get(item.get("evidence", {}).get("tests", ""), "")

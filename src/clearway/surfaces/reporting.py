"""The morning page: what landed since a time, what was parked and why, what tests said, what it cost, and what waits
for a person.
"""

from __future__ import annotations

import os
from typing import cast

from clearway.catalog import OPERATIONS
from clearway.crew import needs
from clearway.surfaces import spending
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
    spent = {item["issue"]: spending.spent(item) for item in found["costs"]["by_issue"] if item.get("issue")}
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
        report.table(spending.HEADS, [spending.row(item, "agent") for item in found["costs"]["by_agent"]])
        for sentence in spending.caps(found["costs"].get("caps", {})):
            report.say(sentence)
    return report


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
        parts.append(spending.spent(total))
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

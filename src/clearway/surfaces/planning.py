"""The word `plan`: a file of issues is looked at, or made into issues.

Applying the same plan twice makes nothing twice: unless a key is given, the plan's own content is its key.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from clearway import clock, wire
from clearway.catalog import OPERATIONS
from clearway.errors import CODES, Refusal
from clearway.limits import PLAN_FILE_BYTES_MAX
from clearway.surfaces.asking import Run, mention, say, say_json
from clearway.surfaces.options import this_run
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.surfaces.planfiles import PlanFile

_WRONG = CODES["VALIDATION_ERROR"][1]
_CHARS = 300  # of one line


@click.command()
@click.argument("what", metavar="validate|apply", type=click.Choice(["validate", "apply"]))
@click.argument("file", metavar="FILE|-")
@click.option(
    "--format", "form", metavar="json|yaml|markdown", help="What the file is written in. [default: by its name]"
)
@click.option("--idempotency-key", "key", metavar="TEXT", help="Another one applies the same plan again.")
def plan(what: str, file: str, form: str | None, key: str | None) -> int:
    """Look at a file of issues, or make them, all at once: validate, apply."""
    run = this_run()
    found = _read(run, file, form)
    return _validate(run, file, found) if what == "validate" else _apply(run, file, found, key)


def _read(run: Run, file: str, form: str | None) -> PlanFile:
    from clearway.surfaces import planfiles, spelling

    if form is not None and form not in planfiles.FORMATS:
        raise Refusal("INVALID_ARGUMENT", f"plan: --format must be one of {', '.join(planfiles.FORMATS)}.")
    path = os.path.join(run.folder, os.path.expanduser(file))
    if file != "-" and not os.path.exists(path):
        raise Refusal("PATH_INVALID", f"There is no file {folded(path, 200)}; - reads a plan from stdin.")
    if file != "-" and os.path.isfile(path) and os.path.getsize(path) > PLAN_FILE_BYTES_MAX:
        raise Refusal("LIMIT_EXCEEDED", f"{folded(file, 200)} has more than {PLAN_FILE_BYTES_MAX // 1_048_576} MiB.")
    text = spelling.LongTexts(run.folder).read(file if file == "-" else f"@{file}")
    if len(text) > PLAN_FILE_BYTES_MAX:
        raise Refusal("LIMIT_EXCEEDED", f"A plan has at most {PLAN_FILE_BYTES_MAX // 1_048_576} MiB.")
    return planfiles.read(text, form or planfiles.form_of(file, text))


def _validate(run: Run, file: str, found: PlanFile) -> int:
    result = run.ask(OPERATIONS["validate_issue_plan"], **found.plan)
    if run.as_json:
        say_json(result | {"errors": _lined(result["errors"], found)})
    else:
        lines = [*_told(result["errors"], found), *(f"Mind: {each['message']}." for each in result["warnings"])]
        if result["valid"]:
            lines.insert(0, f"{folded(file, 200)} can be applied: {_counted(result['summary'])}.")
        say("\n".join(run.paper.flowed(line) for line in lines))
    return 0 if result["valid"] else _WRONG


def _apply(run: Run, file: str, found: PlanFile, key: str | None) -> int:
    before = run.ask(OPERATIONS["get_project"])["latest_event_id"]
    own = f"plan-{clock.token_hash(wire.dumps(found.plan))[:32]}"
    try:
        result = run.ask(OPERATIONS["apply_issue_plan"], **found.plan, idempotency_key=key or own)
    except Refusal as refusal:
        if refusal.code == "VALIDATION_ERROR":
            refusal.details = _lined(refusal.details, found)
            if not run.as_json:
                for line in _told(refusal.details, found):
                    mention(line)
                count = len(refusal.details)
                wrong = "one thing is wrong" if count == 1 else f"{count} things are wrong"
                raise Refusal(refusal.code, f"Nothing was made: {wrong} with {folded(file, 200)}.") from None
        raise
    if run.as_json:
        say_json(result)
        return 0
    titles = {entry.get("ref"): entry.get("title") for entry in found.plan.get("issues", ())}
    rows = [
        [made["display_id"], folded(str(titles.get(ref) or ref), _CHARS)] for ref, made in result["created"].items()
    ]
    if result["latest_event_id"] <= before:
        say("This plan was applied before; nothing new was made. --idempotency-key with another word applies it again.")
    if rows:
        say(run.paper.table(("ISSUE", "TITLE"), rows))
    also = [(result["relations"], "relation"), (result["decisions"], "decision")]
    say("".join(f"{count} {what}{'' if count == 1 else 's'}.\n" for count, what in also if count).rstrip("\n"))
    return 0


def _lined(errors: list[dict[str, Any]], found: PlanFile) -> list[dict[str, Any]]:
    """Errors with the line that each is about, where it is known."""
    return [error | ({} if found.line(error) is None else {"line": found.line(error)}) for error in errors]


def _told(errors: list[dict[str, Any]], found: PlanFile) -> list[str]:
    return [folded(f"{found.where(error)}: {error['message']} ({error['code']})", _CHARS) for error in errors]


def _counted(summary: dict[str, int]) -> str:
    parts = [(summary[f"{what}s"], what) for what in ("issue", "relation", "decision") if summary[f"{what}s"]]
    listed = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in parts)
    return f"{listed}; {summary['claimable']} to begin with" if summary["issues"] else listed

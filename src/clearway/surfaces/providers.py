"""The words about what providers allow: ask one itself, and say that a limit is over.

Only Codex can be asked. What it says is reported as its agent's limit, or lifts one; where it does not know, nothing is
changed and that is said.
"""

from __future__ import annotations

from typing import Any

import click

from clearway import config
from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.limits import QUOTA_SECONDS_MAX
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.options import this_run
from clearway.untrusted import folded

_ASKED = "codex"  # the one client whose program answers


@click.command()
@click.argument("what", metavar="sync|clear", type=click.Choice(["sync", "clear"]))
@click.argument("agents", nargs=-1, metavar="[AGENT...]")
def provider(what: str, agents: tuple[str, ...]) -> None:
    """Ask Codex itself whether its limit is reached, or say that limits are over: sync, clear."""
    run = this_run()
    if what == "clear":
        _clear(run, agents)
        return
    if len(agents) > 1:
        raise Refusal("INVALID_ARGUMENT", "provider sync: one Codex has one account; name one agent.")
    _sync(run, config.check_name(agents[0]) if agents else _ASKED)


def _sync(run: Run, agent: str) -> None:
    from clearway.setup import codexlimits

    found = codexlimits.ask(run.settings.environ, run.folder)
    if found.state == codexlimits.LIMITED:
        left = None if found.until is None else max(1, (found.until - run.rooms.clock.wall()) // 1_000)
        until = {} if left is None or left > QUOTA_SECONDS_MAX else {"until": f"{left}s"}
        noted = _report(run, agent, reason=found.why, source="codex_app_server", **until)
    elif found.state == codexlimits.ALLOWED:
        noted = _report(run, agent, clear=True)
    else:
        noted = {"agent": agent, "state": "unknown", "reason": found.why}
    if run.as_json:
        say_json(noted)
    else:
        say(_told(run, noted))


def _clear(run: Run, agents: tuple[str, ...]) -> None:
    if not agents:
        raise Refusal("INVALID_ARGUMENT", "provider clear: name the agents whose limit is over.")
    done = [_report(run, config.check_name(agent), clear=True) for agent in agents]
    if run.as_json:
        say_json({"cleared": [each["agent"] for each in done if each.get("changed", True)]})
        return
    for each in done:
        was = "is no longer at its limit" if each.get("changed", True) else "was at no limit"
        say(f"{each['agent']} {was}.")


def _report(run: Run, agent: str, **facts: Any) -> dict[str, Any]:
    try:
        return run.ask(OPERATIONS["report_limit"], agent=agent, **facts)
    except Refusal as refusal:
        if refusal.code == "NOT_YOURS":
            refusal.message = f"Only {folded(agent, 40)} itself (--as {folded(agent, 40)}) or the human says that."
        raise


def _told(run: Run, noted: dict[str, Any]) -> str:
    if noted["state"] == "unknown":
        agent, why = noted["agent"], noted["reason"]
        return f"Nobody knows: {why}. Nothing was changed; clearway provider clear {agent} ends a limit."
    if noted["state"] == "free":
        was = "its limit was lifted" if noted.get("changed", True) else "no limit was noted"
        return f"{noted['agent']} may be used; {was}."
    from clearway.surfaces import render

    return render.text("report_limit", noted, run.paper)

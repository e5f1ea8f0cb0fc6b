"""What a person sees without naming an operation: the state of this repository, in one line or in a few.

Looking makes nothing: where there is no room, there is none afterwards.
"""

from __future__ import annotations

from clearway import config, repository
from clearway.catalog import OPERATIONS
from clearway.limits import LIST_MAX
from clearway.repository import Repository
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.callers import HUMAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx


def status(run: Run) -> None:
    """One line for a prompt or a status bar; nothing where there is no room."""
    from clearway.surfaces import render

    state = _state(run)
    if run.as_json:
        say_json(state)
    elif state:
        say(render.status(state, run.paper))


def overview(run: Run) -> None:
    """What a bare `clearway` says: where this repository stands, and the next two commands."""
    from clearway.surfaces import render

    place = run.place
    if place is None:
        _welcome(run)
        return
    state = _state(run) or {"root": place.root}
    if "project_id" in state:
        ready = run.ask(OPERATIONS["list_issues"], is_claimable=True, limit=LIST_MAX)
        state |= {"claimable": len(ready["items"]), "more": ready["has_more"]}
        if run.caller.human:
            from clearway.guard import dangerous

            refused = run.rooms.of_repository(place).run(dangerous.lately, caller=run.caller, writes=False)
            state |= {"refused": refused} if refused else {}
    state["next"] = _next_commands(place, state)
    if run.as_json:
        say_json(state)
    else:
        say(render.overview(state, run.paper))


def history(run: Run, path: str = "", limit: str | None = None) -> None:
    """What happened to one path, or in the whole repository."""
    place = run.place
    asked: dict[str, Any] = {"path": path or (place.root if place else run.folder)}
    if limit is not None:
        asked["limit"] = int(limit) if limit.isdigit() else limit
    told = OPERATIONS["path_history"]
    run.answer(told, run.ask(told, **asked))


def _state(run: Run) -> dict[str, Any]:
    """Who is here besides the caller, what is held, and what the caller works on. Empty where there is no room."""
    place = run.place
    project = None if place is None else run.rooms.known(place)
    if place is None or project is None:
        return {}
    room = run.ask(OPERATIONS["room"])
    others = [
        agent for agent in room["agents"] if agent["agent"] != HUMAN and agent["session"] != room["me"]["session"]
    ]
    advisory = list(dict.fromkeys(agent["agent"] for agent in others if "hooks" in agent))
    mine = run.rooms.of_repository(place).run(_mine, caller=run.caller, writes=False)
    return {
        "project_id": project,
        "root": place.root,
        "checkout": repository.checkout_id(place, run.rooms.clock),
        "me": room["me"]["agent"],
        "met": bool(others),
        "agents": sum(agent["presence"] != "offline" for agent in others),
        "paths": len(room["paths"]),
        **({"mine": mine} if mine else {}),
        **({"guard": room["guard"]} if "guard" in room else {}),
        **({"unchecked": room["unchecked"]} if "unchecked" in room else {}),
        **({"advisory": advisory} if advisory else {}),
        **({"needs_you": needs} if (needs := _needs(run)) else {}),
    }


def _needs(run: Run) -> int:
    """How much waits for the person who asks."""
    return len(run.ask(OPERATIONS["needs_you"])["items"]) if run.caller.human else 0


def _mine(tx: Tx) -> dict[str, Any] | None:
    """What the caller works on."""
    from clearway.work import current

    found = current.attempt(tx)
    if found is None:
        return None
    return {
        "display_id": f"{tx.opening.issue_key}-{found.number}",  # not asked at the door, which knows the word for it
        "title": found.title,
        "attempt_id": found.id,
        "until": tx.iso(found.expires_at),
    }


def _next_commands(place: Repository, state: dict[str, Any]) -> list[str]:
    if "mine" in state:
        return [
            "clearway attempt note --kind checkpoint --content TEXT",
            "clearway attempt finish --outcome completed --target done --summary TEXT",
        ]
    if "claimable" not in state or config.read_pointer(place.root) is None:
        return ["clearway init", "clearway connect"]
    if state["claimable"]:
        return ["clearway next", "clearway issue list"] if state["met"] else ["clearway connect", "clearway issue list"]
    create = "clearway issue create TITLE --status ready"
    return [create, "clearway room"] if state["met"] else ["clearway connect", create]


def _welcome(run: Run) -> None:
    if run.as_json:
        say_json({})
        return
    say(
        run.paper.flowed(
            "Clearway coordinates coding agents that work in one repository: who does what, and who may touch which "
            "file.\nThis folder is in no repository. Go into one, then:\n"
            "  clearway init      make its room\n"
            "  clearway connect   show what connecting your agents would change\n"
            "No repository at hand? clearway simulate plays a story with two agents."
        )
    )

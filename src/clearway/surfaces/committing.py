"""The word `git-hooks`: commits and pushes of this repository are looked at, or are not any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clearway import repository
from clearway.errors import Refusal
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.options import this_run
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.setup import githooks


@click.command("git-hooks")
@click.argument("what", metavar="install|remove", type=click.Choice(["install", "remove"]))
def git_hooks(what: str) -> None:
    """Put our git hooks into this repository, or take them out: install, remove."""
    run = this_run()
    done = install(run) if what == "install" else _remove(run)
    if run.as_json:
        say_json({"changed": done.changed, "kept": done.kept})
        return
    nothing = "Nothing to change: the hooks are in place." if what == "install" else "There are no hooks of ours here."
    lines = [*done.changed, *(f"Note: {sentence}" for sentence in done.kept)] or [nothing]
    say("\n".join(run.paper.flowed(folded(line, 2_000)) for line in lines))


def beside_clients(run: Run, *, write: bool) -> list[str]:
    """The same while clients are connected: what was done, or would be."""
    if not write:
        return [f"the git hooks of {_place(run).root} would be put in; --write does it"]
    done = install(run)
    return [*done.changed, *done.kept] or ["the git hooks are in place"]


def install(run: Run) -> githooks.Done:
    """Put the hooks in. What lies in the worktree from sessions that are over is not asked about."""
    from clearway.setup import githooks

    place = _place(run)
    was_there = githooks.recorded(place) is not None
    done = githooks.install(place, run.settings)
    if not was_there and run.rooms.known(place) is not None:
        _forget_the_past(run, place)
    return done


def _forget_the_past(run: Run, place: repository.Repository) -> None:
    from clearway import platforms
    from clearway.config import Caller
    from clearway.guard import fences

    checkout = fences.Checkout(repository.checkout_id(place, run.rooms.clock), place.root, folds=False)
    room = run.rooms.of_repository(place)
    room.run(lambda tx: fences.forget_the_past(tx, checkout), caller=Caller("clearway", host=platforms.host_name()))


def _remove(run: Run) -> githooks.Done:
    from clearway.setup import githooks

    return githooks.remove(_place(run))


def _place(run: Run) -> repository.Repository:
    place = run.place
    if place is None:
        raise Refusal("PROJECT_NOT_FOUND", f"{run.folder} is in no repository; go into one.")
    return place

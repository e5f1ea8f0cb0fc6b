"""`clearway service`: programs of ours as services of the user's system, shown before they are written."""

from __future__ import annotations

import os
import subprocess
import sys

import click

from clearway.errors import Refusal
from clearway.setup import services
from clearway.setup.service_units import PLATFORMS
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.options import this_run
from clearway.untrusted import folded

_WHAT = ("install", "remove", "status")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("what", metavar="|".join(_WHAT), type=click.Choice([*_WHAT, "run"]))
@click.argument(
    "kind", metavar=f"[{'|'.join(services.KINDS)}|all]", type=click.Choice([*services.KINDS, "all"]), required=False
)
@click.argument("words", nargs=-1, metavar="[OPTIONS OF IT]", type=click.UNPROCESSED)
@click.option("--dry-run", is_flag=True, help="Only show every file and command.")
@click.option("--platform", type=click.Choice(PLATFORMS), default=None, help="Show what another system would be given.")
@click.option("--home", hidden=True, default="")
def service(what: str, kind: str | None, words: tuple[str, ...], dry_run: bool, platform: str | None, home: str) -> int:
    """Let host, workers, notifier or codex-wake run by themselves: install, remove, status.

    Options behind a name are given to it: `clearway service install worker --agent codex --from tasks`.
    """
    run = this_run()
    if what == "run":
        return _be(run, kind or "", words, home)
    machine = services.this_machine(run.settings, platform or "")
    if what == "status":
        return _status(run, machine)
    if kind is None or (kind == "all" and what == "install"):
        raise Refusal("INVALID_ARGUMENT", f"service {what}: say which: {', '.join(services.KINDS)}.")
    dry_run = dry_run or platform is not None
    if what == "install":
        plan = services.install(machine, _standing(run, machine, kind, words))
        _show(run, plan, "installed", dry_run=dry_run, machine=machine)
        return 0
    units = _units(run, machine, kind, words)
    if not units:
        raise Refusal("INVALID_ARGUMENT", f"No service {kind} is installed; clearway service status lists them.")
    for unit in units:
        _show(run, services.remove(machine, unit), "removed", dry_run=dry_run, machine=machine)
    return 0


def _status(run: Run, machine: services.Machine) -> int:
    found = [{"service": unit, "state": services.state(machine, unit)} for unit in services.installed(machine)]
    if run.as_json:
        say_json({"platform": machine.platform, "services": found})
    elif found:
        say("\n".join(f"{line['service']}  {line['state']}" for line in found))
    else:
        say("No service is installed.")
    return 0


def _be(run: Run, kind: str, words: tuple[str, ...], home: str) -> int:
    """What a unit starts: the environment file is read, and then the program takes this one's place."""
    if kind not in services.KINDS or not os.path.isabs(home):
        raise Refusal("INVALID_ARGUMENT", "service run is what a unit starts; clearway service install writes one.")
    environ = {**run.settings.environ, **services.environment(home), "CLEARWAY_HOME": home}
    command = services.command(kind, words)
    sys.stdout.flush()
    if os.name == "nt":
        return subprocess.call(command, env=environ)
    try:
        os.execve(command[0], command, environ)
    except OSError as error:
        raise Refusal("STORAGE_CONFIGURATION", f"{command[0]}: {error.strerror}.") from error


def _standing(run: Run, machine: services.Machine, kind: str, words: tuple[str, ...]) -> services.Standing:
    if kind == "host":
        return services.standing(machine, kind, words, "", "")
    place = run.place
    if place is None:
        raise Refusal("INVALID_ARGUMENT", f"A {kind} works in one repository; -C says which.")
    if kind == "worker" and not any(word.startswith(("--agent", "--command")) for word in words):
        raise Refusal("INVALID_ARGUMENT", "A worker is for one agent: clearway service install worker --agent codex.")
    return services.standing(machine, kind, words, place.root, run.rooms.project_of(place))


def _units(run: Run, machine: services.Machine, kind: str, words: tuple[str, ...]) -> list[str]:
    """Which units are meant: of a kind that belongs to a repository those of this one, as far as there is one."""
    there = services.installed(machine)
    if kind == "all":
        return there
    if kind == "host":
        return [unit for unit in there if unit == "clearway-host"]
    mine = [unit for unit in there if unit.startswith(f"clearway-{kind}-")]
    place = run.place
    if place is not None:
        end = services.standing(machine, kind, words, place.root, run.rooms.project_of(place)).unit
        project = end.rpartition("-")[2]
        mine = [unit for unit in mine if unit == end or (not words and unit.endswith(f"-{project}"))]
    return mine


def _show(run: Run, plan: services.Plan, done: str, *, dry_run: bool, machine: services.Machine) -> None:
    is_nothing = not (plan.written or plan.removed or plan.after)
    if not dry_run and not is_nothing:
        if not run.as_json:
            say(plan.told())
        services.carry_out(plan, machine)
    if run.as_json:
        shown = {
            "files": [{"path": file.path, "text": file.text} for file in plan.written],
            "removed": plan.removed,
            "commands": [*plan.before, *plan.after],
        }
        say_json({"service": plan.unit, "changed": not dry_run and not is_nothing, **shown})
    elif is_nothing:
        say(f"{plan.unit} is installed already, as it would be now." if done == "installed" else "Nothing to remove.")
    elif dry_run:
        say(plan.told())
        say("Nothing was changed.")
    else:
        say(f"{plan.unit} is {done}.")
    if done == "installed" and not run.as_json:
        for hint in plan.hints:
            say(folded(hint, 300))

"""Put our git hooks into a repository, take them out again, and look whether they are as we left them.

Where git looks for hooks in the repository's own folder, ours stand there, and a hook that was there is kept beside
them and runs first. Where somebody has said otherwise (`core.hooksPath`: husky, a tracked folder, one for all
repositories), or where a hook minds under which name it runs, nothing of theirs is touched: ours stand in a folder of
our own in the git directory, which hands everything on, and one line of the settings names it. All worktrees share
both. Taking out leaves hooks and settings as they were, to the byte; what somebody changed after us is kept, and said.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Any

from clearway import platforms, wire
from clearway.config import Settings
from clearway.errors import Refusal
from clearway.repository import Repository
from clearway.setup import hookscripts, hookspath
from clearway.setup.hookscripts import BESIDE, HANDED_ON, MARK, OURS
from clearway.setup.registered import Binding

FOLDER = "clearway-hooks"
_RECORD = "installed.json"
_TEXT_BYTES_MAX = 262_144
_MINDS_ITS_NAME = (b"basename", b"PROGRAM_NAME", b"argv[0]", b"$0##", b"${0##", b"__FILE__", b"__file__")
# How others keep a hook that they found: pre-commit runs it, lefthook does not.
_KEPT_BY_OTHERS = (".legacy", ".old")


@dataclass
class Record:
    """What was done, kept in the git directory. folder: where ours are. former: whose place it took, if it did.
    config, line, before: the line of the settings that names it. hooks: our files, by the digest of their text."""

    folder: str
    former: str | None = None
    config: str = ""
    line: str = ""
    before: str | None = None
    made_folder: bool = False
    hooks: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Done:
    """What was changed, and what a person should know: a sentence each."""

    changed: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])


def install(place: Repository, settings: Settings) -> Done:
    """Put the hooks in, or bring them up to date. A second time changes nothing."""
    if not place.git:
        raise Refusal("PROJECT_NOT_FOUND", f"{place.root} is no git repository; there is nothing to commit in it.")
    done = Done()
    record = recorded(place)
    former = _former(place, settings, record)
    if record is not None and (record.former is None) != (former is None):
        _take_out(place, record, done)  # somebody has decided since where git looks
        record = None
    if former is None:
        _stand_beside(place, settings, record, done)
    else:
        _stand_apart(place, settings, record, former, done)
    return done


def remove(place: Repository) -> Done:
    """Take the hooks out again."""
    done = Done()
    record = recorded(place)
    if record is not None:
        _take_out(place, record, done)
    return done


def recorded(place: Repository) -> Record | None:
    """What was installed in the repository of this worktree, or None."""
    try:
        with open(_record_file(place), encoding="utf-8") as opened:
            kept: Any = wire.loads(opened.read())
        return Record(**kept)
    except (OSError, ValueError, TypeError):
        return None


def faults(place: Repository, settings: Settings, record: Record) -> list[str]:
    """What is not as it was installed."""
    found: list[str] = []
    if record.former is not None:
        used = hookspath.effective(place.root, settings.environ)
        if used is None or not _same(_from_root(place, used.value), record.folder):
            found.append(f"core.hooksPath is {used.value if used else 'not set'} now: our hooks do not run")
        missing = [name for name in _handed_on(place, record.former) if name not in record.hooks]
        if missing:
            found.append(f"{', '.join(missing)} in {record.former} does not run")
    else:
        used = hookspath.effective(place.root, settings.environ)
        if used is not None:
            found.append(f"core.hooksPath is {used.value} now: our hooks do not run")
    for name, digest in record.hooks.items():
        text = _text(os.path.join(record.folder, name))
        if text is None:
            found.append(f"{name} is gone")
        elif _digest(text) != digest and not _runs_as_legacy(record, name):
            found.append(f"{name} was changed by somebody")
        elif name in OURS and _digest(text) == digest and not _can_run(text):
            found.append(f"the interpreter of {name} is gone: nothing is looked at")
        if text is not None and not os.access(os.path.join(record.folder, name), os.X_OK):
            found.append(f"{name} cannot be run")
    return found


def is_current(place: Repository, settings: Settings, record: Record) -> bool:
    """Whether this program would install the same."""
    return record.hooks == {name: _digest(text) for name, text in _texts(place, settings, record.former).items()}


# --- beside what is there -----------------------------------------------------------------------------------------


def _stand_beside(place: Repository, settings: Settings, record: Record | None, done: Done) -> None:
    folder = os.path.join(place.common, "hooks")
    made = not os.path.isdir(folder)
    now = record or Record(folder, made_folder=made)
    os.makedirs(folder, exist_ok=True)
    for name, text in _texts(place, settings, None).items():
        if _set_aside(now, name, text, done):
            _write(os.path.join(folder, name), text, done)
            now.hooks[name] = _digest(text)
    _keep(place, now)


def _set_aside(record: Record, name: str, text: str, done: Done) -> bool:
    """Make way for our hook. Whether it may be written."""
    here = os.path.join(record.folder, name)
    aside = here + BESIDE
    found = _text(here)
    if found is None or found == text or _digest(found) == record.hooks.get(name):
        return True
    if _runs_as_legacy(record, name):
        return False
    if MARK in found:
        done.kept.append(f"{here} was changed by somebody and is left as it is.")
        return False
    if os.path.lexists(aside):
        old = here + ".old"
        if _digest(_text(old) or "") == record.hooks.get(name):
            os.replace(aside, old)  # as it would be, had ours not been there
        elif _text(aside) == found:
            os.unlink(aside)
        else:
            done.kept.append(f"{here} was put in the place of ours and is left; {aside} is what was there before.")
            return False
    os.rename(here, aside)
    done.changed.append(f"{here} is kept as {os.path.basename(aside)} and runs first.")
    return True


def _put_back(record: Record, name: str, done: Done) -> None:
    here = os.path.join(record.folder, name)
    aside = here + BESIDE
    found = _text(here)
    place_of_ours = here
    if found is not None and _digest(found) != record.hooks[name]:
        others = [here + end for end in _KEPT_BY_OTHERS if _digest(_text(here + end) or "") == record.hooks[name]]
        done.kept.append(f"{here} was changed by somebody after us and is kept.")
        if not others:
            if os.path.lexists(aside):
                done.kept.append(f"{aside} is what was there before us.")
            return
        place_of_ours = others[0]
    if os.path.lexists(aside):
        os.replace(aside, place_of_ours)
        done.changed.append(f"{place_of_ours} is as it was.")
    elif os.path.lexists(place_of_ours):
        os.unlink(place_of_ours)
        done.changed.append(f"{place_of_ours} is gone again.")


# --- in a folder of our own ---------------------------------------------------------------------------------------


def _stand_apart(place: Repository, settings: Settings, record: Record | None, former: str, done: Done) -> None:
    folder = os.path.join(place.common, FOLDER)
    now = Record(folder, former)
    if record is not None:
        now.config, now.line, now.before = record.config, record.line, record.before
    os.makedirs(folder, exist_ok=True)
    for name, text in _texts(place, settings, former).items():
        found = _text(os.path.join(folder, name))
        if found is not None and found != text and record and _digest(found) != record.hooks.get(name):
            done.kept.append(f"{os.path.join(folder, name)} was changed by somebody and is left as it is.")
        else:
            _write(os.path.join(folder, name), text, done)
        now.hooks[name] = _digest(text)
    used = hookspath.effective(place.root, settings.environ)
    if used is None or not _same(_from_root(place, used.value), folder):
        _name_ours(place, settings, used, now, done)
    _keep(place, now)


def _name_ours(
    place: Repository, settings: Settings, used: hookspath.Setting | None, record: Record, done: Done
) -> None:
    own = used is not None and used.scope == "worktree"
    record.config = os.path.join(place.git, "config.worktree") if own else os.path.join(place.common, "config")
    text = hookspath.read(record.config)
    change, record.before, record.line = hookspath.with_line(text, record.folder)
    hookspath.exchange(record.config, change)
    now = hookspath.effective(place.root, settings.environ)
    if now is None or not _same(_from_root(place, now.value), record.folder):
        hookspath.exchange(record.config, text)
        _take_away_folder(record, done)
        said = "nothing" if now is None else f"{now.value} ({now.scope})"
        raise Refusal("STORAGE_CONFIGURATION", f"core.hooksPath stays {said}, whatever this repository says.")
    done.changed.append(f"core.hooksPath in {record.config} is {record.folder}, which hands on to {record.former}.")


def _restore_setting(record: Record, done: Done) -> None:
    if not record.config:
        return
    text = hookspath.read(record.config)
    was = hookspath.without_line(text, record.line, record.before)
    if was is None:
        done.kept.append(f"core.hooksPath in {record.config} was changed by somebody after us and is kept.")
    else:
        hookspath.exchange(record.config, was)
        done.changed.append(f"core.hooksPath in {record.config} is as it was.")


def _take_away_folder(record: Record, done: Done) -> None:
    for name, digest in record.hooks.items():
        file = os.path.join(record.folder, name)
        found = _text(file)
        if found is not None and _digest(found) != digest:
            done.kept.append(f"{file} was changed by somebody after us and is kept.")
        elif found is not None:
            os.unlink(file)
    _drop(record.folder)


# --- what both share ----------------------------------------------------------------------------------------------


def _former(place: Repository, settings: Settings, record: Record | None) -> str | None:
    """The folder that git would look into without us, where ours cannot stand; None where they can."""
    used = hookspath.effective(place.root, settings.environ)
    if used is not None:
        if not _same(_from_root(place, used.value), os.path.join(place.common, FOLDER)):
            return used.value
        if record is not None and record.former is not None:
            return record.former
        raise Refusal(
            "STORAGE_CONFIGURATION",
            f"core.hooksPath names {used.value}, and what was there before is not known any more; set it anew first.",
        )
    folder = os.path.join(place.common, "hooks")
    if os.path.islink(folder) or any(_minds_its_name(os.path.join(folder, name)) for name in OURS):
        return folder
    return None


def _minds_its_name(file: str) -> bool:
    """Whether a hook would do something else under another name: a link to one program for all, or one that looks."""
    if os.path.islink(file):
        return True
    try:
        with open(file, "rb") as opened:
            text = opened.read(_TEXT_BYTES_MAX)
    except OSError:
        return False
    return MARK.encode() not in text and (b"\0" in text or any(sign in text for sign in _MINDS_ITS_NAME))


def _texts(place: Repository, settings: Settings, former: str | None) -> dict[str, str]:
    binding = Binding(settings.home, fail_closed=settings.fail_closed)
    texts = {name: hookscripts.script(name, former, binding) for name in OURS}
    if former is not None:
        texts |= {name: hookscripts.handing_on(name, former) for name in _handed_on(place, former)}
    return texts


def _handed_on(place: Repository, former: str) -> list[str]:
    """The other hooks that a folder takes over."""
    folder = _from_root(place, former)
    try:
        there = [
            name for name in os.listdir(folder) if "." not in name and os.access(os.path.join(folder, name), os.X_OK)
        ]
    except OSError:
        there = []
    known = {name for name in there if os.path.isfile(os.path.join(folder, name)) and "-" in name}
    return sorted((known | set(HANDED_ON)) - set(OURS))


def _take_out(place: Repository, record: Record, done: Done) -> None:
    if record.former is not None:
        _restore_setting(record, done)
        _take_away_folder(record, done)
    else:
        for name in record.hooks:
            _put_back(record, name, done)
        if record.made_folder:
            _drop(record.folder)
    os.unlink(_record_file(place))
    _drop(os.path.join(place.common, FOLDER))


def _runs_as_legacy(record: Record, name: str) -> bool:
    """Whether pre-commit was installed over ours: it runs what it found as well."""
    return _digest(_text(os.path.join(record.folder, f"{name}.legacy")) or "") == record.hooks.get(name)


def _can_run(text: str) -> bool:
    return os.access(hookscripts.interpreter_in(text), os.X_OK)


def _from_root(place: Repository, value: str) -> str:
    """A hooks path as git understands it: from the root of the worktree."""
    return os.path.join(place.root, value)


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _text(file: str) -> str | None:
    try:
        with open(file, "rb") as opened:
            return opened.read(_TEXT_BYTES_MAX).decode("utf-8", "surrogateescape")
    except OSError:
        return None


def _digest(text: str) -> str:
    return platforms.digest(text.encode("utf-8", "surrogateescape"))


def _write(file: str, text: str, done: Done) -> None:
    """Put a hook in place whole: git may run it at any moment."""
    if _text(file) == text and os.access(file, os.X_OK):
        return
    aside = f"{file}.clearway-new"
    descriptor = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o755)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(text.encode("utf-8", "surrogateescape"))
    os.chmod(aside, 0o755)
    os.replace(aside, file)
    done.changed.append(f"{file} is written.")


def _record_file(place: Repository) -> str:
    return os.path.join(place.common, FOLDER, _RECORD)


def _keep(place: Repository, record: Record) -> None:
    file = _record_file(place)
    text = wire.dumps(asdict(record)) + "\n"
    if _text(file) == text:
        return
    os.makedirs(os.path.dirname(file), exist_ok=True)
    aside = f"{file}.new"
    with open(aside, "w", encoding="utf-8") as opened:
        opened.write(text)
    os.replace(aside, file)


def _drop(folder: str) -> None:
    """Remove a folder that is empty."""
    try:
        os.rmdir(folder)
    except OSError:
        pass


def examined(place: Repository | None, settings: Settings) -> tuple[str, str, str]:
    """For the doctor: level, message and way out."""
    fix = "clearway doctor --repair, or clearway git-hooks install"
    record = None if place is None or not place.git else recorded(place)
    if place is None or record is None:
        return "ok", "not installed in this repository", ""
    wrong = faults(place, settings, record)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return "problem", f"{wrong[0]}{more}", fix
    if not is_current(place, settings, record):
        return "notice", "installed by another version, or for another home", fix
    how = "beside what is there" if record.former is None else f"before {record.former}"
    return "ok", f"what is committed is looked at, {how}", ""

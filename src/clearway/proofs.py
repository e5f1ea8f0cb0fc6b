"""Does a denial stop a write of this client? What `doctor --live` has found on this machine, by client and version.

A small file for its owner alone, newest first. Read wherever people and agents look at each other: a client whose
denials stop nothing is only advised. A file that cannot be read says nothing.
"""

from __future__ import annotations

import os

from clearway import platforms, wire
from clearway.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ENFORCED, ADVISORY, UNPROVED = "enforced", "advisory only", "not proved"
_NAME = "proofs.json"
_BYTES_MAX = 262_144
_VERSIONS_MAX = 8


def note(home: str, proof: dict[str, Any]) -> None:
    """Keep what was found of one client: {client, agent, version, at, result, stopped, why?}, at in wall ms. It stands
    for what was found of the same version before, unless it proves nothing and that did."""
    known = _read(home)
    others = [each for each in known if not _same(each, proof)]
    before = next((each for each in known if _same(each, proof)), None)
    kept = before if before and proof["result"] == UNPROVED and before["result"] != UNPROVED else proof
    mine = [each for each in others if each["client"] == proof["client"]][: _VERSIONS_MAX - 1]
    rest = [each for each in others if each["client"] != proof["client"]]
    _write(home, [kept, *mine, *rest])


def noted(home: str) -> dict[str, dict[str, Any]]:
    """What was found last, by client."""
    found: dict[str, dict[str, Any]] = {}
    for proof in _read(home):
        found.setdefault(proof["client"], proof)
    return found


def advised(home: str) -> frozenset[str]:
    """The names, as clients and as agents, of those whose denials do not stop every write."""
    judged: dict[str, dict[str, Any]] = {}
    for proof in _read(home) if home else []:
        if proof["result"] != UNPROVED:
            judged.setdefault(proof["client"], proof)
    weak = [proof for proof in judged.values() if proof["result"] == ADVISORY]
    return frozenset(str(proof[name]) for proof in weak for name in ("client", "agent"))


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["client"] == other["client"] and one["version"] == other["version"]


def _file(home: str) -> str:
    return os.path.join(home, "run", _NAME)


def _read(home: str) -> list[dict[str, Any]]:
    try:
        descriptor = os.open(_file(home), os.O_RDONLY)
    except OSError:
        return []
    try:
        listed: Any = wire.loads(os.read(descriptor, _BYTES_MAX))
    except (OSError, ValueError):
        return []
    finally:
        os.close(descriptor)
    return [entry for entry in listed if _is_whole(entry)] if wire.is_list(listed) else []


def _is_whole(entry: Any) -> bool:
    if not wire.is_object(entry) or not isinstance(entry.get("at"), int) or not wire.is_object(entry.get("stopped")):
        return False
    return all(isinstance(entry.get(name), str) for name in ("client", "agent", "version", "result"))


def _write(home: str, entries: list[dict[str, Any]]) -> None:
    """Whole or not at all: a reader never meets a half."""
    file = _file(home)
    aside = platforms.aside(file)
    try:
        platforms.make_private(os.path.dirname(file))
        descriptor = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, wire.dumps(entries).encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
        os.replace(aside, file)
    except OSError as error:
        raise Refusal("STORAGE_FAILURE", f"{file} cannot be written: {error.strerror}.") from error

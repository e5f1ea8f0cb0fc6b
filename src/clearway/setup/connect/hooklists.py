"""Hooks in a JSON file of the form `{"version": 1, "hooks": {EVENT: [HANDLER]}}`.

Copilot, Cursor and others share this form; they differ in the key under which a handler has its command. What another
person wrote is never dropped, reordered or changed; ours are known by the exact form of their command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from clearway.setup.connect import jsontext
from clearway.setup.connect.hookgroups import events
from clearway.setup.registered import read_hook_command


def join(text: str, wanted: Mapping[str, dict[str, Any]], key: str, version: int | None = None) -> str:
    """The text with exactly these handlers of ours, one an event. version: what the file has to say of its form."""
    for event in dict.fromkeys([*events(text), *wanted]):
        text = _settle(text, event, wanted.get(event), key)
    if version is not None and "version" not in jsontext.load(text, comments=True):
        text = jsontext.put(text, ["version"], version)
    return text


def part(text: str, original: str | None, key: str) -> str:
    """The text without a handler of ours, and without what became empty by it and was not there before us."""
    before: dict[str, Any] = {} if original is None else jsontext.load(original, comments=True)
    kept = events(original) if original is not None else {}
    removed = False
    for event in events(text):
        places = _ours(text, event, key)
        removed = removed or bool(places)
        for place in reversed(places):
            text = jsontext.remove(text, ["hooks", event, place])
        if places and not events(text)[event] and event not in kept:
            text = jsontext.remove(text, ["hooks", event])
    if removed and not events(text) and "hooks" not in before:
        text = jsontext.remove(text, ["hooks"])
    if removed and "version" not in before and list(jsontext.load(text, comments=True)) == ["version"]:
        text = jsontext.remove(text, ["version"])
    return text


def commands(text: str, key: str) -> list[str]:
    """The commands of ours in the file, each once."""
    ours = (events(text)[event][place][key] for event in events(text) for place in _ours(text, event, key))
    return list(dict.fromkeys(ours))


def _settle(text: str, event: str, wanted: dict[str, Any] | None, key: str) -> str:
    if wanted and not isinstance(events(text).get(event, []), list):
        raise ValueError(f'"hooks.{event}" in it is not an array')
    places = _ours(text, event, key)
    if wanted and len(places) == 1:
        if events(text)[event][places[0]] == wanted:
            return text
        return jsontext.put(text, ["hooks", event, places[0]], wanted)
    for place in reversed(places):
        text = jsontext.remove(text, ["hooks", event, place])
    if not wanted:
        return jsontext.remove(text, ["hooks", event]) if places and not events(text)[event] else text
    if event in events(text):
        return jsontext.append(text, ["hooks", event], wanted)
    return jsontext.put(text, ["hooks", event], [wanted])


def _ours(text: str, event: str, key: str) -> list[int]:
    return [place for place, handler in _handlers(text, event) if read_hook_command(handler.get(key)) is not None]


def _handlers(text: str, event: str) -> Iterator[tuple[int, dict[str, Any]]]:
    listed = events(text).get(event)
    for place, handler in enumerate(cast("list[Any]", listed) if isinstance(listed, list) else []):
        if isinstance(handler, dict):
            yield place, cast("dict[str, Any]", handler)

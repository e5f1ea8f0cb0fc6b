"""Hooks in a JSON file of the form `{"hooks": {EVENT: [{"matcher": M, "hooks": [HANDLER]}]}}`.

Claude Code, Codex and others share this form. Ours stand in groups of their own. What another person wrote is never
dropped, reordered or changed, even inside a group that also holds a handler of ours; ours are known by the exact form
of their command, never by a word in it. An event may have two of them: a hook, and what waits in the background.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from clearway.setup.connect import jsontext
from clearway.setup.registered import (
    HOOK_TIMEOUT_SECONDS,
    Binding,
    hook_command,
    is_wait_command,
    read_hook_command,
)

_HOOK, _WAITER = _KINDS = ("hook", "waiter")


@dataclass(frozen=True)
class Wanted:
    """One handler to register for an event; without a matcher where the event has none."""

    event: str
    handler: dict[str, Any]
    matcher: str | None = None

    def group(self) -> dict[str, Any]:
        matcher = {} if self.matcher is None else {"matcher": self.matcher}
        return {**matcher, "hooks": [self.handler]}


def wanted_for(
    client: str,
    events_and_matchers: Sequence[tuple[str, str | None]],
    binding: Binding,
    *,
    timeout: int = HOOK_TIMEOUT_SECONDS,
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Wanted]:
    """The hooks of one client: the same command for each of its events. timeout: in the client's own unit. more: what
    the handler of an event has beside that, or instead."""
    handler: dict[str, Any] = {"type": "command", "command": hook_command(client, binding), "timeout": timeout}
    return [
        Wanted(event, {**handler, **(more or {}).get(event, {})}, matcher) for event, matcher in events_and_matchers
    ]


def plain(text: str) -> str:
    """The text of a client that reads no comments. Raises ValueError for one that it could not read itself."""
    jsontext.load(text)
    return text


def join(text: str, wanted: list[Wanted]) -> str:
    """The text with exactly the wanted handlers of ours."""
    by_event = {(entry.event, _kind(entry.handler)): entry for entry in wanted}
    for event in dict.fromkeys([*events(text), *(event for event, _ in by_event)]):
        for kind in _KINDS:
            text = _settle(text, event, kind, by_event.get((event, kind)))
    return text


def part(text: str, original: str | None) -> str:
    """The text without a handler of ours, and without what became empty by it and was not there before us."""
    kept = events(original) if original is not None else None
    removed = False
    for event in events(text):
        places = _ours(text, event)
        removed = removed or bool(places)
        text = _without(text, event, places)
        if places and not events(text)[event] and event not in (kept or {}):
            text = jsontext.remove(text, ["hooks", event])
    if (
        removed
        and not events(text)
        and not (original is not None and "hooks" in jsontext.load(original, comments=True))
    ):
        text = jsontext.remove(text, ["hooks"])
    return text


def commands(text: str) -> list[str]:
    """The commands of ours in the file, each once."""
    handlers = [
        handler for event in events(text) for _, _, handler in _handlers(text, event) if _kind(handler) == _HOOK
    ]
    return list(dict.fromkeys(handler["command"] for handler in handlers))


def waits(text: str) -> bool:
    """Whether something of ours waits in the background."""
    return any(_ours(text, event, _WAITER) for event in events(text))


def foreign_places(text: str) -> set[tuple[str, int, int, str]]:
    """Where the handlers of other people stand: event, group, place in the group, and the handler itself."""
    return {
        (event, group, place, repr(handler))
        for event in events(text)
        for group, place, handler in _handlers(text, event)
        if not _kind(handler)
    }


def _settle(text: str, event: str, kind: str, wanted: Wanted | None) -> str:
    if wanted and not isinstance(events(text).get(event, []), list):
        raise ValueError(f'"hooks.{event}" in it is not an array')
    places = _ours(text, event, kind)
    if wanted and len(places) == 1:
        group, place = places[0]
        found = events(text)[event][group]
        if found.get("matcher") == wanted.matcher:
            if found["hooks"][place] == wanted.handler:
                return text
            return jsontext.put(text, ["hooks", event, group, "hooks", place], wanted.handler)
    text = _without(text, event, places)
    if wanted:
        if event in events(text):
            return jsontext.append(text, ["hooks", event], wanted.group())
        return jsontext.put(text, ["hooks", event], [wanted.group()])
    return jsontext.remove(text, ["hooks", event]) if places and not events(text)[event] else text


def _without(text: str, event: str, places: list[tuple[int, int]]) -> str:
    for group, place in reversed(places):
        text = jsontext.remove(text, ["hooks", event, group, "hooks", place])
        if not events(text)[event][group]["hooks"]:
            text = jsontext.remove(text, ["hooks", event, group])
    return text


def _ours(text: str, event: str, kind: str = "") -> list[tuple[int, int]]:
    """Where handlers of ours stand, those of one kind or all."""
    kinds = (kind,) if kind else _KINDS
    return [(group, place) for group, place, handler in _handlers(text, event) if _kind(handler) in kinds]


def _kind(handler: Any) -> str:
    """What a handler of ours is for; empty for other people's."""
    command = cast("dict[str, Any]", handler).get("command") if isinstance(handler, dict) else None
    if read_hook_command(command) is not None:
        return _HOOK
    return _WAITER if is_wait_command(command) else ""


def _handlers(text: str, event: str) -> Iterator[tuple[int, int, Any]]:
    groups = events(text).get(event)
    for group, entry in enumerate(cast("list[Any]", groups) if isinstance(groups, list) else []):
        handlers: Any = cast("dict[str, Any]", entry).get("hooks") if isinstance(entry, dict) else None
        if isinstance(handlers, list):
            for place, handler in enumerate(cast("list[Any]", handlers)):
                yield group, place, handler


def events(text: str) -> dict[str, Any]:
    """What the file says about each event. Raises ValueError where it has another shape."""
    document = jsontext.load(text, comments=True)
    if not isinstance(document, dict):
        raise ValueError("its top level is not an object")
    hooks: Any = cast("dict[str, Any]", document).get("hooks", {})
    if not isinstance(hooks, dict):
        raise ValueError('"hooks" in it is not an object')
    return cast("dict[str, Any]", hooks)

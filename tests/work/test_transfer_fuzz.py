"""Documents that somebody has damaged: whatever is in them, the answer is a refusal or an import that is whole.

CLEARWAY_FUZZ_DOCUMENTS says how many are tried; a seed that finds something becomes a named test.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.errors import Refusal

FORMATS = Path(__file__).parent.parent / "formats"
COUNT = int(os.environ.get("CLEARWAY_FUZZ_DOCUMENTS", "80"))
JUNK: list[Any] = [
    *(None, [], {}, 0, -1, 1.5, True, "", "x", " ", "\ud800", "a\0b", [[]], {"a": 1}, "x" * 400, 10**30, [None]),
    *("2026-13-45T99:00:00Z", "01K00000000000000000000103", "0" * 26, ["a", "A"], "https://x:y@z", 1e308, "../x"),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def damaged(chance: random.Random, document: Any) -> Any:
    """A copy in which a few things are something else, missing, twice, or elsewhere."""
    copy = json.loads(json.dumps(document))
    for _ in range(chance.choice((1, 1, 2, 4))):
        *path, last = chance.choice(list(places(copy)))
        inside = copy
        for key in path:
            inside = inside[key]
        how = chance.random()
        if how < 0.6:
            inside[last] = deepcopy(chance.choice(JUNK))
        elif how < 0.75:
            del inside[last]
        elif isinstance(inside, list):
            inside.insert(chance.randrange(len(inside) + 1), deepcopy(inside[last]))
        else:
            inside[chance.choice(("x", "id", "status", "type", "record", "version"))] = deepcopy(inside[last])
    return copy


def cut(chance: random.Random, text: str) -> str:
    """A copy with a piece missing, twice, or replaced."""
    start = chance.randrange(len(text))
    end = min(len(text), start + chance.randrange(1, 40))
    between = chance.choice(("", text[start:end] * 2, "\0", "{", "]", '"', "\\u", "é", "\n", "\n- [ ] ", "after: "))
    return text[:start] + between + text[end:]


def as_text(form: str, document: Any) -> str:
    if form in ("beads", "clearway") and isinstance(document, list):
        return "".join(json.dumps(line) + "\n" for line in document)
    return json.dumps(document)


def asked_or_refused(agent: Agent, asked: dict[str, Any]) -> tuple[dict[str, Any], Refusal | None]:
    try:
        return agent.ask("validate_import", **asked), None
    except Refusal as refusal:
        return {}, refusal


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_damaged_document_is_refused_or_imported_whole(world: World) -> None:
    codex = world.agent("codex")
    read = {name: (FORMATS / name).read_text(encoding="utf-8") for name in ("rhizome.json", "github.json", "tasks.md")}
    sound: dict[str, Any] = {
        "rhizome": json.loads(read["rhizome.json"]),
        "github": json.loads(read["github.json"]),
        "beads": [json.loads(line) for line in (FORMATS / "beads.jsonl").read_text(encoding="utf-8").splitlines()],
    }
    codex.ask("apply_import", document=json.dumps(sound["rhizome"]))
    own = codex.ask("export_project")["document"]
    sound["clearway"] = [json.loads(line) for line in own.split("\n") if line]
    done = 0
    for seed in range(COUNT):
        chance = random.Random(seed)
        form = chance.choice((*sound, "clearway", "markdown"))
        if form == "markdown":
            text = cut(chance, read["tasks.md"])
        elif chance.random() < 0.2:
            text = cut(chance, as_text(form, sound[form]))
        else:
            text = as_text(form, damaged(chance, sound[form]))
        before = codex.ask("get_changes")["latest_event_id"]
        asked = {"document": text, "mode": "merge", "format": form}
        looked, refused = asked_or_refused(codex, asked)
        if refused is not None:
            assert refused.details, seed
            assert codex.refused("apply_import", **asked).as_dict() == refused.as_dict(), seed
            assert codex.ask("get_changes")["latest_event_id"] == before, seed
            continue
        applied = codex.ask("apply_import", **asked)
        assert (looked["created"], looked["updated"]) == (applied["created"], applied["updated"]), seed
        count = codex.ask("get_changes")["latest_event_id"]
        again = codex.ask("apply_import", **asked)
        assert (again["created"], again["updated"]) == ({}, {}), seed
        assert codex.ask("get_changes")["latest_event_id"] == count, seed
        done += 1
    assert COUNT < 50 or done > COUNT // 20, "some of them are still documents"

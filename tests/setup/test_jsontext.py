"""Edits in other people's JSON: what was asked changes, and nothing else does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.setup.connect import jsontext

PERSONAL = """{
    "model": "opus",   "numbers": [1.0, 1e3, 12345678901234567890],
    "hooks": {
        "Stop": [ {"hooks": [{"type": "command", "command": "say \\"done, {x}\\""}]} ],
        "Empty": []
    },
    "last": {}
}
"""
PLACES: list[list[str | int]] = [["new"], ["hooks", "New"], ["last", "x"], ["deep", "er"], ["hooks", "Empty"]]


@pytest.mark.parametrize("path", PLACES)
def test_an_added_member_leaves_every_other_line_as_it_was(path: list[str | int]) -> None:
    text = jsontext.put(PERSONAL, path, [{"a": 1}])

    wanted = json.loads(PERSONAL)
    target = wanted
    for step in path[:-1]:
        target = target.setdefault(step, {})
    target[path[-1]] = [{"a": 1}]
    assert json.loads(text) == wanted
    assert list(json.loads(text)) == list(wanted)
    touched = {'    "last": {}', '        "Empty": []'}
    assert [line for line in PERSONAL.splitlines() if line not in text.splitlines() and line not in touched] == []


def test_an_addition_takes_the_indentation_of_its_neighbours() -> None:
    text = jsontext.put(PERSONAL, ["hooks", "New"], {"a": [1]})
    assert text.splitlines()[4:10] == [
        '        "Empty": [],',
        '        "New": {',
        '            "a": [',
        "                1",
        "            ]",
        "        }",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":1,"b":{"c":[2]}}'),
        ('{"a": 1}\n', '{"a": 1, "b": {"c": [2]}}\n'),
        ("{}", '{\n  "b": {\n    "c": [\n      2\n    ]\n  }\n}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"b": {\n\t\t"c": [\n\t\t\t2\n\t\t]\n\t}\n}'),
        ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": [\r\n      2\r\n    ]\r\n  }\r\n}\r\n'),
    ],
)
def test_the_style_of_the_file_is_kept(before: str, after: str) -> None:
    assert jsontext.put(before, ["b"], {"c": [2]}) == after


def test_of_a_key_that_stands_twice_the_one_that_counts_is_changed() -> None:
    assert jsontext.put('{"a": 1, "a": 2}', ["a"], 3) == '{"a": 1, "a": 3}'


@pytest.mark.parametrize("text", ["", "{", '{"a": 1,}', '{// no\n"a": 1}', "[" * 100_000])
def test_what_is_not_json_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"it is (not valid JSON|nested too deeply)"):
        jsontext.load(text)


def test_what_is_nested_too_deeply_is_refused_with_a_sentence() -> None:
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    with pytest.raises(ValueError, match="nested too deeply"):
        jsontext.put(deep, ["b"], 1)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=4), values, max_size=4), st.sampled_from([None, 0, 2, "\t"]), st.text(max_size=4)
)
def test_what_was_added_comes_out_again_without_a_trace(
    document: dict[str, Any], indent: int | str | None, key: str
) -> None:
    document.pop(key, None)
    text = json.dumps(document, indent=indent)
    added = jsontext.put(text, [key], {"x": [1, "y"]})
    assert json.loads(added) == {**document, key: {"x": [1, "y"]}}
    assert jsontext.remove(added, [key]) == text


@given(st.lists(values, min_size=1, max_size=5), st.sampled_from([None, 1, 4]), st.data())
def test_any_element_can_be_taken_out(elements: list[Any], indent: int | None, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(elements) - 1))
    text = jsontext.remove(json.dumps({"a": elements}, indent=indent), ["a", index])
    assert json.loads(text) == {"a": elements[:index] + elements[index + 1 :]}
    appended = jsontext.append(text, ["a"], "z")
    assert json.loads(appended) == {"a": [*elements[:index], *elements[index + 1 :], "z"]}


COMMENTED = """{
  // first
  "a": 1, /* second */
  "b": [1, 2,], // third
  "c": {"url": "http://x/*y*/", /* fourth */ },
}
"""


@pytest.mark.parametrize("path", [["d"], ["c", "d"], ["e", "f"], ["b"]])
def test_comments_and_last_commas_stay_around_what_changes(path: list[str]) -> None:
    text = jsontext.put(COMMENTED, path, {"x": 1})
    found = jsontext.load(text, comments=True)
    for step in path:
        found = found[step]
    assert found == {"x": 1}
    for comment in ("// first", "/* second */", "// third", "/* fourth */"):
        assert comment in text
    if path != ["b"]:
        assert jsontext.remove(text, path if len(path) == 1 or path[0] == "c" else path[:1]) == COMMENTED


def test_comments_are_refused_by_those_who_do_not_read_them() -> None:
    with pytest.raises(ValueError, match="not valid JSON"):
        jsontext.load(COMMENTED)
    for broken in ('{"a": 1 /', '{"a": 1 /*', '{"a" // }', '{"a": [,]}', "//"):
        with pytest.raises(ValueError):
            jsontext.load(broken, comments=True)


@given(st.text('{}[]",:/* \n\\a1', max_size=40))
def test_no_text_makes_it_stumble(text: str) -> None:
    try:
        jsontext.load(text, comments=True)
    except ValueError:
        return
    assert isinstance(jsontext.put('{"k": ' + text + "\n}", ["new"], 1), str)

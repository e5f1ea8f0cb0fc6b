"""What the door lets in: arguments at their bounds, the code of what is wrong, and the schema that says so."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from clearway import arguments, catalog, kinds
from clearway.arguments import (
    Artifacts,
    Doing,
    LeaseSeconds,
    NoteText,
    Placed,
    Priority,
    Statuses,
    Steps,
    Title,
    Yes,
)
from clearway.clock import Clock
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.op import Operation, op, operation_of


@op(writes=True, keyed="agent")
def try_everything(
    tx: Any,
    title: Title,
    yes: Yes = False,
    seconds: LeaseSeconds = 900,
    priority: Priority | None = None,
    statuses: Statuses | None = None,
    steps: Steps | None = None,
    doing: Doing | None = None,
    artifacts: Artifacts | None = None,
    note: NoteText | None = None,
) -> dict[str, Any]:
    """Try every kind of argument. Call it in tests.

    It has a second paragraph
    of two lines.

    title: what it is called,
      in few words.
    seconds: how long.
    """
    return {}


TRY = operation_of(try_everything)


def checked(operation: Operation = TRY, /, **given: Any) -> tuple[dict[str, Any], str | None]:
    return arguments.checked(operation, given, Caller("alpha", cwd="/home"), Clock())


def wrong(operation: Operation = TRY, /, **given: Any) -> tuple[str, list[tuple[str, str]]]:
    """The code of the refusal, and (field, code) of everything that is wrong."""
    with pytest.raises(Refusal) as caught:
        checked(operation, **given)
    refusal = caught.value
    assert all(set(detail) == {"field", "code", "message"} for detail in refusal.details)
    assert not refusal.retryable
    return refusal.code, [(detail["field"], detail["code"]) for detail in refusal.details]


FILE = {"type": "file", "uri": "a"}
DEEP: dict[str, Any] = {}
for _ in range(100_000):
    DEEP = {"x": DEEP}

FINE: list[tuple[str, Any, Any]] = [
    ("title", "x", "x"),
    ("title", " x ", " x "),
    ("title", "é🙂日" * 100, "é🙂日" * 100),
    ("yes", True, True),
    ("seconds", 30, 30),
    ("seconds", 3_600, 3_600),
    ("seconds", 60.0, 60),
    ("priority", "critical", "critical"),
    ("statuses", [], []),
    ("statuses", ["open", "done"], ["open", "done"]),
    ("steps", ["x" * 1_000] * 20, ["x" * 1_000] * 20),
    ("doing", "y" * 500, "y" * 500),
    ("artifacts", [], []),
    ("artifacts", [{"type": "file", "uri": "a", "title": None}], [{"type": "file", "uri": "a"}]),
    ("artifacts", [{"type": "url", "uri": "https://x.test/?q=a@b", "title": "t"}], None),
    ("artifacts", [{"type": "commit", "uri": "0a1b2c3"}] * 20, None),
    ("artifacts", [{**FILE, "metadata": {"k": "é" * 4_092}}], None),
    ("note", "n" * 50_000, None),
]


@pytest.mark.parametrize(("field", "value", "taken"), FINE)
def test_a_value_within_its_bounds_is_taken(field: str, value: Any, taken: Any) -> None:
    values, _ = checked(**{"title": "x", field: value})

    assert values[field] == (value if taken is None else taken)


WRONG: list[tuple[str, Any, str, str, str]] = [
    ("title", "", "title", "REQUIRED", "INVALID_ARGUMENT"),
    ("title", " \n\t", "title", "REQUIRED", "INVALID_ARGUMENT"),
    ("title", "x" * 301, "title", "MAX_RUNES", "LIMIT_EXCEEDED"),
    ("title", "a\0b", "title", "NUL_NOT_ALLOWED", "INVALID_ARGUMENT"),
    ("title", "\ud800", "title", "INVALID_UTF8", "INVALID_ARGUMENT"),
    ("title", 7, "title", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("title", ["x"], "title", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("yes", 1, "yes", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("yes", "true", "yes", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("seconds", 29, "seconds", "OUT_OF_RANGE", "INVALID_ARGUMENT"),
    ("seconds", 3_601, "seconds", "OUT_OF_RANGE", "INVALID_ARGUMENT"),
    ("seconds", 60.5, "seconds", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("seconds", float("nan"), "seconds", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("seconds", float("inf"), "seconds", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("seconds", 1e300, "seconds", "OUT_OF_RANGE", "INVALID_ARGUMENT"),
    ("seconds", "60", "seconds", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("seconds", True, "seconds", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("seconds", {}, "seconds", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("priority", "urgent", "priority", "INVALID_ENUM", "INVALID_ARGUMENT"),
    ("priority", "High", "priority", "INVALID_ENUM", "INVALID_ARGUMENT"),
    ("priority", ["high"], "priority", "INVALID_ENUM", "INVALID_ARGUMENT"),
    ("priority", {}, "priority", "INVALID_ENUM", "INVALID_ARGUMENT"),
    ("statuses", "open", "statuses", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("statuses", {"open": 1}, "statuses", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("statuses", ["open", "open"], "statuses", "DUPLICATE", "INVALID_ARGUMENT"),
    ("statuses", ["open"] * 7, "statuses", "MAX_ITEMS", "LIMIT_EXCEEDED"),
    ("statuses", ["open", None], "statuses[1]", "INVALID_ENUM", "INVALID_ARGUMENT"),
    ("steps", ["x"] * 21, "steps", "MAX_ITEMS", "LIMIT_EXCEEDED"),
    ("steps", ["x", ""], "steps[1]", "REQUIRED", "INVALID_ARGUMENT"),
    ("steps", ["x" * 1_001], "steps[0]", "MAX_RUNES", "LIMIT_EXCEEDED"),
    ("artifacts", [7], "artifacts[0]", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("artifacts", [{"type": "file"}], "artifacts[0].uri", "REQUIRED", "INVALID_ARGUMENT"),
    ("artifacts", [{"type": "file", "uri": None}], "artifacts[0].uri", "REQUIRED", "INVALID_ARGUMENT"),
    ("artifacts", [{"type": "x", "uri": "a"}], "artifacts[0].type", "INVALID_ENUM", "INVALID_ARGUMENT"),
    ("artifacts", [{"type": "file", "uri": "a", "id": 1}], "artifacts[0].id", "UNSUPPORTED", "INVALID_ARGUMENT"),
    ("artifacts", [{"type": "file", "uri": "x" * 4_097}], "artifacts[0].uri", "MAX_RUNES", "LIMIT_EXCEEDED"),
    ("artifacts", [{"type": "file", "uri": "a"}] * 21, "artifacts", "MAX_ITEMS", "LIMIT_EXCEEDED"),
    ("artifacts", [{**FILE, "metadata": []}], "artifacts[0].metadata", "INVALID_VALUE", "INVALID_ARGUMENT"),
    (
        "artifacts",
        [{**FILE, "metadata": {"x": float("inf")}}],
        "artifacts[0].metadata",
        "INVALID_VALUE",
        "INVALID_ARGUMENT",
    ),
    (
        "artifacts",
        [{**FILE, "metadata": {"x": "\ud800"}}],
        "artifacts[0].metadata",
        "INVALID_VALUE",
        "INVALID_ARGUMENT",
    ),
    ("artifacts", [{**FILE, "metadata": DEEP}], "artifacts[0].metadata", "INVALID_VALUE", "INVALID_ARGUMENT"),
    ("artifacts", [{**FILE, "metadata": {"k": "é" * 4_093}}], "artifacts[0].metadata", "MAX_BYTES", "LIMIT_EXCEEDED"),
    ("note", "n" * 50_001, "note", "MAX_RUNES", "LIMIT_EXCEEDED"),
]


@pytest.mark.parametrize(("given", "value", "field", "detail", "code"), WRONG)
def test_a_value_outside_of_them_is_refused_by_what_is_wrong(
    given: str, value: Any, field: str, detail: str, code: str
) -> None:
    assert wrong(**{"title": "x", given: value}) == (code, [(field, detail)])


def test_every_detail_code_of_the_door_is_tried_here() -> None:
    files = (arguments.__file__, kinds.__file__)
    nodes = [node for file in files for node in ast.walk(ast.parse(Path(file or "").read_text()))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "Problem"]
    given = {call.args[1].value for call in calls if isinstance(call.args[1], ast.Constant)}

    elsewhere = {"INVALID_URL", "INVALID_PATH", "NULL_NOT_ALLOWED"}  # where their kinds are used
    assert given <= {detail for *_, detail, _ in WRONG} | elsewhere


def test_null_means_not_given() -> None:
    assert checked(title="x", yes=None, seconds=None, artifacts=None, idempotency_key=None) == ({"title": "x"}, None)
    assert wrong(title=None) == ("INVALID_ARGUMENT", [("title", "REQUIRED")])


def test_what_is_not_an_argument_is_refused_unless_it_is_null() -> None:
    assert wrong(title="x", titel="y") == ("INVALID_ARGUMENT", [("titel", "UNSUPPORTED")])
    assert wrong(title="x", tx=1) == ("INVALID_ARGUMENT", [("tx", "UNSUPPORTED")])
    assert wrong(title="x", cwd="/") == ("INVALID_ARGUMENT", [("cwd", "UNSUPPORTED")])
    assert checked(title="x", nothing=None) == ({"title": "x"}, None)


def test_all_that_is_wrong_is_told_at_once_in_order() -> None:
    assert wrong(seconds=0, priority="x", extra=1, steps=["x" * 1_001]) == (
        "INVALID_ARGUMENT",
        [
            ("extra", "UNSUPPORTED"),
            ("priority", "INVALID_ENUM"),
            ("seconds", "OUT_OF_RANGE"),
            ("steps[0]", "MAX_RUNES"),
            ("title", "REQUIRED"),
        ],
    )


def test_a_refusal_names_the_operation_and_the_first_field() -> None:
    with pytest.raises(Refusal) as caught:
        checked(title="x" * 301, note="n" * 50_001)

    assert caught.value.message == "try_everything: note must have at most 50000 characters (1 more in details)."


def test_a_key_goes_beside_the_arguments() -> None:
    assert checked(title="x", idempotency_key="k" * 128) == ({"title": "x"}, "k" * 128)
    assert wrong(title="x", idempotency_key="k" * 129) == ("LIMIT_EXCEEDED", [("idempotency_key", "MAX_RUNES")])
    assert wrong(title="x", idempotency_key=" ") == ("INVALID_ARGUMENT", [("idempotency_key", "REQUIRED")])


def test_an_operation_without_keys_takes_none() -> None:
    @op()
    def look(tx: Any, title: Title) -> dict[str, Any]:
        """Look."""
        return {}

    assert wrong(operation_of(look), title="x", idempotency_key="k") == (
        "INVALID_ARGUMENT",
        [("idempotency_key", "UNSUPPORTED")],
    )


def test_a_folder_goes_with_every_operation_that_takes_a_path() -> None:
    @op()
    def find(tx: Any, path: Placed) -> dict[str, Any]:
        """Find."""
        return {}

    assert checked(operation_of(find), path="x")[0]["path"].absolute == "/home/x"
    assert checked(operation_of(find), path="x", cwd="/nowhere")[0]["path"].absolute == "/nowhere/x"
    assert wrong(operation_of(find), path="x", cwd="relative")[1] == [("cwd", "INVALID_VALUE")]
    assert arguments.schema(operation_of(find))["properties"]["cwd"] == {"type": "string"}


def test_the_schema_is_closed_and_describes_what_the_docstring_describes() -> None:
    schema = arguments.schema(TRY)

    assert (schema["type"], schema["additionalProperties"], schema["required"]) == ("object", False, ["title"])
    shown = schema["properties"]
    assert shown["title"] == {"type": "string", "description": "what it is called, in few words."}
    assert shown["seconds"] == {"type": "integer", "description": "how long."}
    assert shown["priority"] == {"type": "string", "enum": ["low", "medium", "high", "critical"]}
    assert shown["statuses"]["items"]["enum"][0] == "open"
    assert shown["artifacts"]["items"]["required"] == ["type", "uri"]
    assert shown["artifacts"]["items"]["additionalProperties"] is False
    assert shown["idempotency_key"] == {"type": "string"}
    assert "tx" not in shown


def test_what_a_model_reads_is_the_docstring_without_its_arguments() -> None:
    assert arguments.summary(TRY) == "Try every kind of argument. Call it in tests."
    assert arguments.description(TRY) == (
        "Try every kind of argument. Call it in tests. It has a second paragraph of two lines."
    )


@pytest.mark.parametrize("operation", catalog.OPERATIONS.values(), ids=lambda operation: operation.name)
def test_every_operation_says_what_it_takes_and_refuses_the_rest(operation: Operation) -> None:
    schema = arguments.schema(operation)
    required = schema.get("required", [])

    code, problems = wrong(operation, not_an_argument=1)

    assert code == "INVALID_ARGUMENT"
    assert problems == sorted([("not_an_argument", "UNSUPPORTED"), *((name, "REQUIRED") for name in required)])
    assert 0 < len(arguments.summary(operation)) <= 120
    assert len(arguments.description(operation)) <= 400
    assert set(schema["properties"]) >= set(required)

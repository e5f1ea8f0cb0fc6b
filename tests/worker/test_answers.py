"""What a run came to, by the shape of what was printed; the shapes are those of real clients, shortened."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clearway.worker import answers
from clearway.worker.answers import Answer, Usage
from clearway.worker.running import Ran


def read(out: Any, status: int = 0, complaint: str = "") -> Answer:
    text = out if isinstance(out, str) else "\n".join(json.dumps(each) for each in out)
    return answers.read(Ran(status, text, complaint, 10))


# claude 2.1.332, `-p --output-format json`, against a server that answers 429
CLAUDE_LIMITED = {
    "is_error": True,
    "num_turns": 1,
    "subtype": "success",
    "terminal_reason": "api_error",
    "api_error_status": 429,
    "api_error_type": "rate_limit_error",
    "result": "API Error: Request rejected (429) · This request would exceed your account's rate limit.",
    "type": "result",
    "total_cost_usd": 0,
    "usage": {"input_tokens": 0, "output_tokens": 0},
}
# codex 0.171.0, `exec --json`, against a server that answers usage_limit_reached
_CODEX_SAYS = "You’ve hit your usage limit. Upgrade to Pro or try again at 4:17 PM."
CODEX_LIMITED = [
    {"type": "thread.started", "thread_id": "01a22d35-f727-7ff0-a1b6-e52e2cc65d77"},
    {"type": "turn.started"},
    {"type": "error", "message": _CODEX_SAYS},
    {"type": "turn.failed", "error": {"message": _CODEX_SAYS}},
]
GEMINI_LIMITED = {"session_id": "x", "error": {"type": "TerminalQuotaError", "message": "Quota", "code": 429}}


@pytest.mark.parametrize(
    ("out", "complaint", "status"),
    [
        ([CLAUDE_LIMITED], "", 1),
        (CODEX_LIMITED, "", 1),
        ([GEMINI_LIMITED], "", 1),
        ("Claude AI usage limit reached|1796055600", "", 1),
        ("API Error: Request rejected (429) · This request would exceed your account's rate limit.", "", 1),
        ("5-hour limit reached ∙ resets 3pm", "", 1),
        ("", f"warming up\nERROR: {_CODEX_SAYS}", 1),
        ("", "", 75),
        ("busy with 429", "Retry-After: 600", 75),
    ],
)
def test_a_limit_is_known_where_the_client_says_so_itself(out: Any, complaint: str, status: int) -> None:
    """C47: each known limit, as JSON, as an event, as a line of its own, and as the agreed exit status."""
    assert read(out, status, complaint).limit is not None


PROSE = "The provider answered 429: rate limit, quota exceeded, too many requests. You've hit your usage limit."
GEMINI_MODEL = {"tokens": {"prompt": 4, "candidates": 2, "cached": 1}}


@pytest.mark.parametrize(
    ("out", "complaint", "status"),
    [
        (PROSE, PROSE, 1),
        (f"Claude AI usage limit reached|1 is what it prints\n{PROSE}", "", 1),
        ([{"type": "result", "is_error": False, "result": PROSE}], "", 1),
        ([CLAUDE_LIMITED | {"api_error_status": 400, "api_error_type": "invalid_request_error"}], "", 1),
        ([CLAUDE_LIMITED | {"is_error": False}], "", 0),
        (
            [
                *CODEX_LIMITED[:2],
                {"type": "item.completed", "item": {"type": "agent_message", "text": _CODEX_SAYS}},
                {"type": "turn.failed", "error": {"message": "stream disconnected"}},
            ],
            "",
            1,
        ),
        ([{"type": "error", "message": _CODEX_SAYS}], "", 1),
        (json.dumps({"log": [CLAUDE_LIMITED]}), "", 1),
        ("", "Retry-After: 600", 1),
        (f"The last run said:\n{_CODEX_SAYS}", "", 1),
        ("I did what I could.", f"ERROR: {_CODEX_SAYS}", 1),
        ("", f"ERROR: {_CODEX_SAYS}\nTraceback", 1),
        ("5-hour limit reached is what the test expects", "", 0),
        ("Claude AI usage limit reached|1796055600", "", 0),
    ],
)
def test_prose_about_limits_is_no_limit(out: Any, complaint: str, status: int) -> None:
    """P59, C47."""
    assert read(out, status, complaint).limit is None


def test_the_end_of_a_limit_is_what_was_said_and_never_invented() -> None:
    limits = [
        read("", 75, "Retry-After: 600").limit,
        read("", 75, "Retry-After: Mon, 30 Nov 2026 16:20:00 GMT").limit,
        read("Claude AI usage limit reached|1796055600", 1).limit,
        read([CLAUDE_LIMITED], 1).limit,
        read("", 75, "Retry-After: soon").limit,
        read("", 75).limit,
    ]
    said = [(limit.seconds, limit.resets_wall) for limit in limits if limit is not None]
    assert said == [(600, None), (None, 1796055600000), (None, 1796055600000), *[(None, None)] * 3]


@pytest.mark.parametrize(
    ("out", "text", "usage"),
    [
        ("  Plain text.\n", "Plain text.", None),
        (
            [
                {
                    "type": "result",
                    "result": "Fine.",
                    "total_cost_usd": 0.25,
                    "modelUsage": {"claude-x": {}},
                    "usage": {
                        "input_tokens": 3,
                        "cache_creation_input_tokens": 10,
                        "cache_read_input_tokens": 100,
                        "output_tokens": 7,
                    },
                }
            ],
            "Fine.",
            Usage(113, 7, 100, 0.25, "claude-x"),
        ),
        (
            [
                {"type": "thread.started", "thread_id": "t"},
                {"type": "item.completed", "item": {"type": "reasoning", "text": "Hm."}},
                {"type": "item.completed", "item": {"type": "agent_message", "text": "First."}},
                {"type": "item.completed", "item": {"type": "agent_message", "text": "Fine."}},
                {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}},
            ],
            "Fine.",
            Usage(5, 2, 1),
        ),
        (
            [
                {
                    "response": "Fine.",
                    "stats": {"models": {"g": {"tokens": {"prompt": 4, "candidates": 2, "cached": 1}}}},
                }
            ],
            "Fine.",
            Usage(4, 2, 1, None, "g"),
        ),
        (json.dumps([{"type": "system"}, {"type": "result", "result": "Fine."}]), "Fine.", None),
        ('{"a": 1}', '{"a": 1}', None),
    ],
)
def test_an_answer_and_what_it_cost_are_found(out: Any, text: str, usage: Usage | None) -> None:
    found = read(out)
    assert (found.text, found.usage, found.failed) == (text, usage, False)


@pytest.mark.parametrize(
    "out", ["{", "[" * 100_000, '{"type": "result"}', '{"type":"result","usage":[],"result":{}}', "\x00\ufffd", "[1,2]"]
)
def test_nonsense_is_no_crash(out: str) -> None:
    assert read(out).limit is None


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5_000])
def test_an_absurd_number_is_no_crash(number: str) -> None:
    """Whatever a client prints as its price or as the end of its limit: the worker goes on."""
    found = read('{"type": "result", "result": "Fine.", "usage": {}, "total_cost_usd": ' + number + "}")
    assert found.usage is None or found.usage.cost_usd is None
    for end in (number, "\u00b2"):
        limit = read(f"Claude AI usage limit reached|{end}", 1).limit
        assert limit is not None and not limit.has_end


def test_a_provider_that_has_too_much_to_do_is_no_limit_and_no_failure_of_the_work() -> None:
    overloaded = CLAUDE_LIMITED | {"api_error_status": 529, "api_error_type": "overloaded_error"}
    found = read([overloaded], 1)
    assert found.busy and found.limit is None
    assert not read([overloaded | {"api_error_status": 400, "api_error_type": "x"}], 1).busy

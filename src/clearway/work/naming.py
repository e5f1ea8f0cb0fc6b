"""What the issues of a project are called: PAY-42 where its people chose PAY, and ISSUE-42 everywhere.

Inside the house an issue is ISSUE-42. Where a project has a word of its own, the door says it in every answer and every
refusal; both are understood in every question. What agents wrote is not touched, unless it is nothing but such a name.
"""

from __future__ import annotations

from clearway.limits import ISSUE_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.errors import Refusal

_OURS = f"{ISSUE_KEY}-"
_SENTENCES = frozenset({"why"})  # fields in which we speak


def in_answer(value: Any, key: str, field: str = "") -> Any:
    """An answer with the project's word for its issues."""
    if isinstance(value, str):
        whole = value.startswith(_OURS) and value[len(_OURS) :].isdigit()
        return in_sentence(value, key) if whole or field in _SENTENCES else value
    if isinstance(value, list):
        return [in_answer(item, key, field) for item in value]  # type: ignore[var-annotated]
    if isinstance(value, dict):
        return {name: in_answer(item, key, name) for name, item in value.items()}  # type: ignore[var-annotated]
    return value


def in_refusal(refusal: Refusal, key: str) -> None:
    """A refusal that says the project's word for its issues."""
    refusal.message = in_sentence(refusal.message, key)
    refusal.facts = in_answer(refusal.facts, key)
    refusal.details = [
        {name: in_sentence(text, key) if name == "message" else text for name, text in detail.items()}
        for detail in refusal.details
    ]


def in_sentence(text: str, key: str) -> str:
    """A sentence of ours with the project's word for its issues."""
    first, *rest = text.split(_OURS)
    said = first
    for part in rest:
        is_name = part[:1].isdigit() and not said[-1:].isalnum()
        said += (f"{key}-" if is_name else _OURS) + part
    return said

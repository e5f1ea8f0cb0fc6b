"""A settings file that is ours alone: its name is ours, and it holds nothing but what we put there.

A file of that name which somebody else wrote, or wrote into, is refused, never replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clearway.setup.connect import jsontext

TAKEN = "it has our name and holds what is not ours; rename it and try again"


def join(text: str, wanted: str, is_ours: Callable[[str], bool]) -> str:
    """The wanted text, where there is nothing or an earlier one of ours."""
    if text.strip() and not is_ours(text):
        raise ValueError(TAKEN)
    return wanted


def part(text: str, is_ours: Callable[[str], bool]) -> str:
    """Nothing, where the text is ours."""
    return "" if is_ours(text) else text


def rendered(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def loaded(text: str) -> Any:
    """The document, None where there is none or what is there is not JSON."""
    try:
        return jsontext.load(text) if text.strip() else None
    except ValueError:
        return None

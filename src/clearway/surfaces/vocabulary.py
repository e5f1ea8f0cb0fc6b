"""Which words stand for which operation: those that it declares, and those that fix an argument of it.

Known without loading one operation: a command loads its own when it asks, and the first page of help loads none.
"""

from __future__ import annotations

import os

from clearway.surfaces.index import SPELT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.op import Operation
    from clearway.surfaces.spelling import Slot

_READS_VERSION = {"issue_id": "get_issue", "review_request_id": "get_review_request"}


class Command:
    """The words of one operation. fixed: arguments that the words give. only: the one change that they are for."""

    __slots__ = ("_only", "_slots", "_without", "fixed", "group", "name", "summary", "words")

    def __init__(
        self,
        words: str,
        name: str,
        group: str,
        summary: str,
        fixed: dict[str, Any],
        without: tuple[str, ...] = (),
        only: str = "",
    ) -> None:
        self.words = words
        self.name = name
        self.group = group
        self.summary = summary
        self.fixed = fixed
        self._without = without
        self._only = only
        self._slots: list[Slot] | None = None

    @property
    def operation(self) -> Operation:
        from clearway.catalog import OPERATIONS

        return OPERATIONS[self.name]

    @property
    def slots(self) -> list[Slot]:
        """What may be typed after the words."""
        if self._slots is None:
            from clearway.surfaces import spelling

            self._slots = spelling.slots(self)
        return self._slots

    @property
    def without(self) -> tuple[str, ...]:
        """What these words have no option for."""
        if not self._only:
            return self._without
        from clearway.arguments import ChangesShape

        return (*self._without, *(name for name in ChangesShape.__annotations__ if name != self._only))

    @property
    def reads_version(self) -> Operation | None:
        """What tells the version to expect, where none was typed."""
        from clearway.catalog import OPERATIONS

        names = self._arguments
        reader = next((_READS_VERSION[name] for name in names if name in _READS_VERSION), "")
        return OPERATIONS.get(reader) if "expected_version" in names else None

    @property
    def takes_token(self) -> bool:
        return "lease_token" in self._arguments

    @property
    def derived(self) -> tuple[str, ...]:
        """What a session need not type: its own attempt, the token of that, and the version there is."""
        taken = self._arguments
        names = tuple(name for name in ("attempt_id", "lease_token") if name in taken and self.takes_token)
        return names + (("expected_version",) if self.reads_version is not None else ())

    @property
    def _arguments(self) -> list[str]:
        from clearway import arguments

        return list(arguments.form(self.operation).parameters)


# operation -> further words of its own: what they fix, what they have no option for, and what they are good for
_MORE_WORDS: dict[str, tuple[tuple[str, dict[str, Any], tuple[str, ...], str], ...]] = {
    "claim_issue": (("next", {"next": True}, ("issue_id", "review_request_id"), "Claim the best ready issue."),),
    "room": (("who", {}, (), ""),),
    "send_message": (("say", {"to": "*"}, ("kind",), "Tell everybody something."),),
    "update_task": (
        ("task start", {"state": "started"}, ("result",), "Say that you have begun with a task, or still are at it."),
        ("task done", {"state": "succeeded"}, ("lease_seconds",), "Give back a task that is done, with its result."),
        ("task fail", {"state": "failed"}, ("lease_seconds",), "Give back a task that came to nothing, and say why."),
    ),
    "update_issue": (
        (
            "issue reserve",
            {},
            ("create_missing_labels",),
            "Keep an issue for one agent, for a day; --for '' frees it.",
        ),
    ),
    "archive_issue": (
        ("issue archive", {"archived": True}, (), "Put an issue away; it keeps its history."),
        ("issue unarchive", {"archived": False}, (), "Bring an archived issue back."),
    ),
    "manage_issue_relation": (
        ("issue link", {"action": "add"}, (), "Say how one issue stands to another: it blocks it, or belongs with it."),
        ("issue unlink", {"action": "remove"}, (), "Take back what issue link said."),
    ),
}
_ONLY = {"issue reserve": "reserved_for"}  # of all that can be changed


def _known() -> dict[str, Command]:
    """Every command of an operation, by its words."""
    known: dict[str, Command] = {}
    for name, (words, group, summary) in SPELT.items():
        if words:
            known[words] = Command(words, name, group, summary, {})
        for more, fixed, without, about in _MORE_WORDS.get(name, ()):
            known[more] = Command(more, name, group, about or summary, fixed, without, _ONLY.get(more, ""))
    return known


COMMANDS: dict[str, Command] = _known()


def asks_why_of_an_issue(words: list[str]) -> bool:
    """Whether a line that begins with `why` names an issue: ISSUE-42, in a project with a key of its own PAY-42. What
    is there as a file is a path."""
    subject = next((word for word in words[1:] if not word.startswith("-")), "")
    key, dash, number = subject.rpartition("-")
    is_key = key.isalnum() and key.isascii() and (key.isupper() or key.lower() == "issue")
    is_issue = bool(dash) and is_key and number.isascii() and number.isdigit()
    return words[:1] == ["why"] and is_issue and not os.path.lexists(subject)

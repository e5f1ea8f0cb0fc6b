"""Which makers' documents are understood, how each is told from the others, and how the own one is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

from clearway.errors import Refusal
from clearway.untrusted import folded
from clearway.work.transfer_documents import Faults, Text, Unreadable, value_of
from clearway.work.transfer_records import FORMAT, HEADER, ORDER, SHAPES, VERSION
from clearway.work.transfer_survey import Item


class Source(Protocol):
    """A document of one format. `items` gives its records in the order in which they refer to each other, as often as
    it is asked; what is wrong with the document itself goes to the faults. `left_out`: where it says something that
    has no place here, after the first time."""

    name: str
    project: dict[str, Any]
    left_out: list[str]

    def items(self, faults: Faults) -> Iterator[Item]: ...

    def called(self, id: str) -> str:
        """What this document calls what has this id here, for whoever is to look there."""
        ...


def source_of(text: Text, form: str | None = None) -> Source:
    """The document as what it says it is, or as what the caller says."""
    from clearway.work import transfer_foreign, transfer_outline

    makers: dict[str, Any] = {
        "clearway": Own,
        "rhizome": transfer_foreign.Rhizome,
        "beads": transfer_foreign.Beads,
        "github": transfer_foreign.GitHub,
        "markdown": transfer_outline.Markdown,
    }
    made: Source = makers[form or _form_of(text)](text)
    return made


def _form_of(text: Text) -> str:
    head = text.head()
    if head[:1] == "[":
        return "github"
    if head[:1] != "{":
        what = "It begins with nothing" if not head.strip() else "It is no JSON"
        raise Refusal(
            "INVALID_ARGUMENT",
            f"This document cannot be read: {what.lower()}; name its format (markdown) if it is a list of tasks.",
            [{"field": "$", "code": "INVALID_JSON", "message": "must be JSON or JSON Lines"}],
        )
    first = head.partition("\n")[0]
    try:
        value = value_of(first, "$[0]", 1)
    except Unreadable:
        value = None
    if not isinstance(value, dict):
        if _names(head, "rhizome-logical-project"):
            return "rhizome"
        if _names(head, FORMAT):
            return "clearway"
        return "beads" if "\n" not in head or _names(first, "issue_type") else "rhizome"
    known: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
    if "format" in known:
        return "rhizome" if "issues" in known or str(known["format"]).startswith("rhizome") else "clearway"
    return "beads" if "record" not in known and {"id", "title"} & set(known) else "clearway"


def _names(head: str, word: str) -> bool:
    return f'"{word}"' in head


class Own:
    """The format of export_project."""

    name = FORMAT

    def __init__(self, text: Text) -> None:
        self._text = text
        self.project: dict[str, Any] = {}
        self.left_out: list[str] = []

    def called(self, id: str) -> str:
        return id

    def items(self, faults: Faults) -> Iterator[Item]:
        counts = dict.fromkeys(ORDER, 0)
        last = 0
        ended = -1
        number = 0
        for place, number, value in self._text.lines():
            path = f"$[{place}]"
            if place == 0:
                self._read_header(value, faults, number)
                continue
            given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
            kind: Any = given.get("record")
            if ended >= 0:
                faults.add(path, "INVALID_VALUE", "stands behind the last record", number)
                return
            if kind == "end":
                ended = place
                self._check_end(given, counts, path, faults, number)
                continue
            if not isinstance(kind, str) or kind not in SHAPES:
                known = ", ".join(ORDER)
                faults.add(f"{path}.record", "INVALID_ENUM", f"must be one of {known}, end", number)
                continue
            if ORDER.index(kind) < last:
                message = f"comes behind a {ORDER[last]}; records stand in the order {', '.join(ORDER)}"
                faults.add(f"{path}.record", "OUT_OF_ORDER", message, number)
                continue
            last = ORDER.index(kind)
            counts[kind] += 1
            yield Item(kind, value, path, number)
        if ended < 0:
            message = "is missing: the document was cut off, its last line counts its records"
            faults.add("$[-1]", "TRUNCATED", message, number)

    def _read_header(self, value: Any, faults: Faults, line: int) -> None:
        given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if given.get("format") != FORMAT:
            raise Unreadable("$[0].format", "INVALID_VALUE", f"must be {FORMAT} in the first line", line)
        if given.get("version") != VERSION or isinstance(given.get("version"), bool):
            shown = folded(str(given.get("version")), 20)
            message = f"is {shown}, and this Clearway reads {VERSION}; a newer one may read it"
            raise Unreadable("$[0].version", "FORMAT_VERSION", message, line)
        found = HEADER.read(given, "$[0]", faults, line)
        self.project = {} if found is None else found["project"]

    def _check_end(self, value: dict[str, Any], counts: dict[str, int], path: str, faults: Faults, line: int) -> None:
        for name in value:
            if name not in ("record", "counts"):
                faults.add(f"{path}.{folded(name, 64)}", "UNSUPPORTED", "is not a field of it", line)
        said = value.get("counts")
        if said != counts:
            message = "does not agree with the records above it: some are missing or were added"
            faults.add(f"{path}.counts", "TRUNCATED", message, line)

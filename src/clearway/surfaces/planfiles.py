"""Plans as people write them down: JSON, YAML, or an outline in Markdown, read as the arguments of a plan.

Only the form is judged here. In all three an issue may say for itself what it comes `after`, what it `blocks`, what
it is `related` to and what it `duplicates`; that becomes relations. Of an outline the line of every entry is known, so
that what is wrong can be found again. What the Markdown means is told in docs/how-to/plans.md.
"""

from __future__ import annotations

import re
from typing import Any, cast

from clearway import wire
from clearway.errors import Refusal
from clearway.limits import PLAN_REF_CHARS_MAX
from clearway.untrusted import folded
from clearway.work.plans import is_of_an_issue

Entry = dict[str, Any]

FORMATS = ("json", "yaml", "markdown")
_ENDINGS = {"json": "json", "yaml": "yaml", "yml": "yaml", "md": "markdown", "markdown": "markdown"}
_DEPTH_MAX = 20  # of a YAML document: a plan has four levels

# What an issue says of others -> the type of the relation, and whether the issue itself is its source.
_RELATED = {
    "after": ("blocks", False),
    "blocks": ("blocks", True),
    "related": ("related_to", True),
    "duplicates": ("duplicates", True),
}

_HEADING = re.compile(r"(#{1,6})\s+(.*)$")
_ITEM = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$")
_FIELD = re.compile(r"\s*([-*+]\s+)?([A-Za-z][A-Za-z _-]{0,30}):\s*(.*)$")
_REF = re.compile(r"([^{}\s]+)\}$")
_FENCE = re.compile(r"\s*(```|~~~)")
# Fields of an outline: what they are called there -> the field of the plan.
_FIELDS = {
    **{name: name for name in ("type", "priority", "status", "labels", "paths", "needs", "reserved_for", *_RELATED)},
    "id": "ref",
    "ref": "ref",
    "blocked": "blocked_reason",
    "blocked_reason": "blocked_reason",
    **dict.fromkeys(("done_when", "criteria", "acceptance_criteria"), "acceptance_criteria"),
}
_OF_A_DECISION = {"summary": "summary", "issue": "issue_ref", "status": "status", "supersedes": "supersedes_id"}
_LISTS = frozenset({"labels", "paths", "needs", *_RELATED})
# What may also be an item of a list below the issue: where a criterion was meant, it is found to be wrong.
_MAY_BE_ITEMS = frozenset({"type", "priority", "status", *_RELATED, *_OF_A_DECISION})


class PlanFile:
    """The arguments of a plan, and on which line of the file each entry stands, where that is known."""

    def __init__(self, plan: Entry, lines: dict[str, int] | None = None) -> None:
        self.plan = plan
        self._lines = lines or {}

    def where(self, error: Entry) -> str:
        """`line 12, priority` for an error of the plan."""
        entry, _, field = str(error["field"]).partition(".")
        line = self._lines.get(entry)
        return str(error["field"]) if line is None else f"line {line}" + (f", {field}" if field else "")

    def line(self, error: Entry) -> int | None:
        return self._lines.get(str(error["field"]).partition(".")[0])


def form_of(name: str, text: str) -> str:
    """In which format a file is written, by the end of its name; of a text without one by how it begins."""
    known = _ENDINGS.get(name.rpartition(".")[2].lower())
    if known is None and text.lstrip()[:1] in ("{", "["):
        known = "json"
    if known is None:
        raise Refusal(
            "INVALID_ARGUMENT",
            f"What is {folded(name, 200)} written in? Say --format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.",
        )
    return known


def read(text: str, form: str) -> PlanFile:
    """The plan in a text of one of the formats."""
    text = text.removeprefix("\ufeff")
    if form == "markdown":
        return _Outline(text).plan_file()
    try:
        value: Any = wire.loads(text) if form == "json" else _yaml(text)
    except ValueError as error:
        raise Refusal("INVALID_ARGUMENT", f"This is not {form.upper()}: {folded(str(error), 300)}.") from None
    return PlanFile(_with_relations({"issues": value} if isinstance(value, list) else value))


def _with_relations(value: Any) -> Entry:
    """A plan in which relations stand by themselves only."""
    if not isinstance(value, dict):
        raise Refusal("INVALID_ARGUMENT", "A plan is an object with issues, relations and decisions.")
    plan = cast("Entry", value)
    listed: Any = plan.get("issues")
    if not isinstance(listed, list):
        return plan
    entries: list[Any] = [_copied(entry) for entry in cast("list[Any]", listed)]
    spoken: list[Entry] = [entry for entry in entries if isinstance(entry, dict)]
    names = _Names(spoken)
    relations: Any = plan.get("relations") or []
    if isinstance(relations, list):
        relations = [*cast("list[Any]", relations), *(each for entry in spoken for each in _taken_out(entry, names))]
    return {**plan, "issues": entries, **({"relations": relations} if relations else {})}


def _copied(entry: Any) -> Any:
    return dict(cast("Entry", entry)) if isinstance(entry, dict) else entry


def _taken_out(entry: Entry, names: _Names) -> list[Entry]:
    """The relations that an issue speaks of; it says nothing of them any more, and has a name."""
    found: list[Entry] = []
    for word, (kind, is_source) in _RELATED.items():
        others: Any = entry.get(word)
        if not isinstance(others, str | list):
            continue  # who judges the plan says that there is no such field
        del entry[word]
        for other in [others] if isinstance(others, str) else cast("list[Any]", others):
            entry.setdefault("ref", names.of(entry))
            ends = (entry["ref"], names.meant(other)) if is_source else (names.meant(other), entry["ref"])
            found.append({"source_ref": ends[0], "target_ref": ends[1], "type": kind})
    return found


class _Names:
    """The names of entries: their own, or one that is made of the title."""

    def __init__(self, entries: list[Entry]) -> None:
        self._taken = {entry["ref"] for entry in entries if isinstance(entry.get("ref"), str)}
        self._made: dict[str, str] = {}
        self._own: dict[int, str] = {}
        for entry in entries:
            slug = _slug(str(entry.get("title", "")))
            name = entry.get("ref")
            if not isinstance(name, str):
                name, count = slug, 1
                while name in self._taken:
                    count += 1
                    name = f"{slug[: PLAN_REF_CHARS_MAX - 5]}-{count}"
                self._taken.add(name)
                self._own[id(entry)] = name
            self._made.setdefault(slug, name)

    def of(self, entry: Entry) -> str:
        return str(entry.get("ref") or self._own[id(entry)])

    def meant(self, word: Any) -> Any:
        """What a reference means: a name, or a title as it stands there; else it is left as it is."""
        if not isinstance(word, str) or word in self._taken or is_of_an_issue(word):
            return word
        return self._made.get(_slug(word), word)


def _slug(title: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in title.lower()).split()
    slug = "-".join(words)[: PLAN_REF_CHARS_MAX - 8].strip("-")
    return f"item-{slug}".rstrip("-") if not slug or is_of_an_issue(slug) else slug


# --- YAML -------------------------------------------------------------------------------------------------------------


def _yaml(text: str) -> Any:
    """A document of plain values: every scalar is a text but true, false and null. Aliases could unfold without end,
    and of two equal keys one would be lost; both are refused."""
    import yaml

    library: Any = yaml
    base: Any = getattr(library, "CSafeLoader", library.SafeLoader)
    truth = ("tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"))
    nothing = ("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)$"))

    class Loader(base):
        yaml_implicit_resolvers = {
            **{first: [truth] for first in "tTfF"},
            **{first: [nothing] for first in ("~", "n", "N", "")},
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and key.value in seen:
                    raise ValueError(f"{key.value} stands twice at line {key.start_mark.line + 1}")
                seen.add(str(key.value))
            return base.construct_mapping(self, node, deep=deep)

    try:
        depth = 0
        for event in library.parse(text, Loader=base):
            if isinstance(event, library.AliasEvent):
                raise ValueError(f"an alias at line {event.start_mark.line + 1}; write it out")
            if getattr(event, "tag", None):
                raise ValueError(f"a tag at line {event.start_mark.line + 1}; write the value as it is")
            depth += isinstance(event, library.CollectionStartEvent) - isinstance(event, library.CollectionEndEvent)
            if depth > _DEPTH_MAX:
                raise ValueError(f"nested too deeply at line {event.start_mark.line + 1}")
        return library.load(text, Loader=Loader)
    except library.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise ValueError(f"{what} at line {mark.line + 1}" if mark is not None else what) from None


# --- Markdown ---------------------------------------------------------------------------------------------------------


class _Outline:
    """Headings are epics, list items are tasks; what is indented below an item belongs to it."""

    def __init__(self, text: str) -> None:
        self._issues: list[Entry] = []
        self._decisions: list[Entry] = []
        self._lines: dict[int, int] = {}  # id of an entry -> its line
        self._texts: dict[int, list[str]] = {}
        self._epic: Entry | None = None
        self._item: Entry | None = None
        self._deciding = False
        self._indent = 0
        self._fence: list[str] | None = None  # the text that holds the open one
        self._blank = True
        for number, line in enumerate(text.splitlines(), 1):
            self._read(number, line.expandtabs(4).rstrip())
        if self._fence is not None:
            raise Refusal("INVALID_ARGUMENT", "The last block of code in this outline has no end; close it.")
        for entry in (*self._issues, *self._decisions):
            self._settle(entry)

    def plan_file(self) -> PlanFile:
        names = _Names(self._issues)
        relations: list[Entry] = []
        lines: dict[str, int] = {}
        for place, entry in enumerate(self._issues):
            lines[f"issues[{place}]"] = self._lines[id(entry)]
            parent = entry.pop("", None)
            if parent is not None:
                entry["parent_ref"] = names.of(parent)
            for relation in _taken_out(entry, names):
                lines[f"relations[{len(relations)}]"] = self._lines[id(entry)]
                relations.append(relation)
        for entry in self._issues:
            entry.setdefault("ref", names.of(entry))
        for place, entry in enumerate(self._decisions):
            lines[f"decisions[{place}]"] = self._lines[id(entry)]
            if "issue_ref" in entry:
                entry["issue_ref"] = names.meant(entry["issue_ref"])
        plan = {"issues": self._issues, "relations": relations, "decisions": self._decisions}
        return PlanFile({name: entries for name, entries in plan.items() if entries}, lines)

    def _read(self, number: int, line: str) -> None:
        if self._fence is not None:
            self._fence.append(line)
            self._fence = None if _FENCE.match(line) else self._fence
            return
        heading, item = _HEADING.match(line), _ITEM.match(line)
        inside = self._item is not None and (not line or len(line) - len(line.lstrip()) > self._indent)
        if heading:
            self._begin_part(number, len(heading[1]), _without_end(heading[2]))
        elif item and not inside:
            self._begin_item(number, item)
        elif self._item is not None and (inside or not self._blank):
            self._read_text(self._item, line, _OF_A_DECISION if self._deciding else _FIELDS, item)
        elif self._epic is not None:
            self._item = None
            self._read_text(self._epic, line, _FIELDS, None)
        else:
            self._item = None  # what stands under the title is for people
        self._blank = not line

    def _begin_part(self, number: int, level: int, title: str) -> None:
        """A heading: from the second level on an epic, once it has items."""
        self._item = None
        self._epic = None
        self._deciding = title.strip().lower() == "decisions"
        if level > 1 and not self._deciding:
            self._epic = _titled(title) | {"type": "epic"}
            self._lines[id(self._epic)] = number
            self._texts[id(self._epic)] = []

    def _begin_item(self, number: int, item: re.Match[str]) -> None:
        self._indent = len(item[1])
        self._item = _titled(item[3])
        self._lines[id(self._item)] = number
        self._texts[id(self._item)] = []
        if self._deciding:
            self._decisions.append(self._item)
            return
        self._item["status"] = "done" if item[2] in ("x", "X") else "ready"
        if self._epic is not None:
            if not any(entry is self._epic for entry in self._issues):
                self._issues.append(self._epic)
            self._item[""] = self._epic  # until all have their names
        self._issues.append(self._item)

    def _read_text(self, entry: Entry, line: str, known: dict[str, str], nested: re.Match[str] | None) -> None:
        """A line that belongs to an entry: a field of it, a criterion, or a part of what is told of it."""
        if _take_field(entry, line, known):
            return
        if nested and not self._deciding:
            entry.setdefault("criteria", []).append(f"- {nested[3]}")
            return
        text = self._texts[id(entry)]
        text.append(line)
        if _FENCE.match(line):
            self._fence = text

    def _settle(self, entry: Entry) -> None:
        """What was gathered line by line becomes texts."""
        text = _joined(self._texts[id(entry)])
        criteria = entry.pop("criteria", [])
        if criteria:
            given = entry.get("acceptance_criteria")
            entry["acceptance_criteria"] = "\n".join([*([given] if given else []), *criteria])
        if any(entry is decision for decision in self._decisions):
            first, _, rest = text.partition("\n\n")
            summary = entry.get("summary")
            entry["summary"] = summary or first or entry["title"]
            if summary or rest:
                entry["content"] = text
        elif text:
            entry["description"] = text


def _without_end(heading: str) -> str:
    """A heading may be closed by what it began with; that of C# is not."""
    rest = heading.rstrip("#")
    return rest.rstrip() if rest[-1:] in ("", " ") else heading


def _titled(text: str) -> Entry:
    """A title, and the name that may stand behind it."""
    title, mark, behind = text.strip().rpartition("{#")
    ref = _REF.match(behind) if mark else None
    return {"title": title.rstrip(), "ref": ref[1]} if ref else {"title": text.strip()}


def _take_field(entry: Entry, line: str, known: dict[str, str]) -> bool:
    """Whether the line is a field of the entry, which then has it."""
    field = _FIELD.match(line)
    word = "" if field is None else field[2].strip().lower().replace(" ", "_").replace("-", "_")
    name = known.get(word)
    if field is None or name is None or (field[1] and word not in _MAY_BE_ITEMS):
        return False
    value = field[3].strip()
    if name in _LISTS:
        entry.setdefault(name, []).extend(part for part in (part.strip() for part in value.split(",")) if part)
    else:
        entry[name] = value
    return True


def _joined(lines: list[str]) -> str:
    """Lines without the indentation that all of them share, and without blank ones around them."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return "\n".join(line[margin:] for line in lines).strip("\n")

"""A Markdown list of tasks as records: headings are epics, boxes are tasks, what is indented below belongs to its item.

A box inside a box is a task under the same epic that its parent waits for. `(high)` is a priority, `#word` a label,
`after: TITLE` a blocker. An item is known again by its heading and its title, so a second import of the same list makes
nothing twice; a list says nothing of when it was changed, so what is here already stays as it is here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from clearway import lifecycle, limits
from clearway.clock import stable_id
from clearway.work.transfer_documents import Faults, Text
from clearway.work.transfer_survey import Item

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_BOX = re.compile(r"(\s*)(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s+(.*\S)\s*$")
_PRIORITY = re.compile(rf"(?:^|\s)\(({'|'.join(lifecycle.PRIORITIES)})\)", re.IGNORECASE)
_LABEL = re.compile(r"(?:^|(?<=\s))#([^\W\d_][\w./-]*)")
_AFTER = re.compile(r"[,;]?\s*(?:^|\s)after:\s*(.+)$", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```|~~~)")
Value = dict[str, Any]


class _Task:
    __slots__ = ("after", "depth", "done", "heading", "id", "labels", "line", "parent", "priority", "text", "title")

    def __init__(self, line: int, depth: int, title: str) -> None:
        self.line = line
        self.depth = depth
        self.title = title
        self.done = False
        self.priority = "medium"
        self.labels: list[str] = []
        self.after = ""
        self.text: list[str] = []
        self.heading: _Task | None = None
        self.parent: _Task | None = None
        self.id = ""


class Markdown:
    name = "markdown"

    def __init__(self, text: Text) -> None:
        self._text = text
        self.project: Value = {}
        self.left_out: list[str] = []

    def called(self, id: str) -> str:
        return id

    def items(self, faults: Faults) -> Iterator[Item]:
        epics, tasks = _read(self._text.whole())
        if not tasks:
            faults.add("$", "REQUIRED", "has no boxes such as - [ ] to make tasks of", 1)
        for each in epics:
            yield Item("issue", self._issue(each, is_epic=True), f"$ line {each.line}", each.line)
        for each in tasks:
            yield Item("issue", self._issue(each, is_epic=False), f"$ line {each.line}", each.line)
        by_title: dict[str, _Task] = {}
        for task in tasks:
            by_title.setdefault(_folded(task.title), task)
        seen: set[tuple[str, str]] = set()
        for task in tasks:
            before = [task] if task.parent is not None else []
            for blocker, target, soft in (
                *((child, child.parent, True) for child in before),
                *((blocker, task, False) for blocker in _blockers(task, by_title, faults)),
            ):
                assert target is not None
                if (blocker.id, target.id) not in seen:
                    seen.add((blocker.id, target.id))
                    ends = {"type": "blocks", "source": blocker.id, "target": target.id, "created_by": self.name}
                    yield Item("relation", ends, f"$ line {task.line}", task.line, soft=soft)

    def _issue(self, task: _Task, *, is_epic: bool) -> Value:
        text = _joined(task.text)
        title = task.title
        if len(title) > limits.TITLE_CHARS_MAX:
            text, title = f"{title}\n\n{text}".strip(), title[: limits.TITLE_CHARS_MAX - 1] + "…"
        return {
            "id": task.id,
            "type": "epic" if is_epic else "task",
            "title": title,
            "description": text or None,
            "status": "done" if task.done else "open" if is_epic else "ready",
            "priority": task.priority,
            "parent": None if task.heading is None else task.heading.id,
            "labels": task.labels,
            "created_by": self.name,
        }


def _read(text: str) -> tuple[list[_Task], list[_Task]]:
    """The epics that have tasks, and the tasks, in their order."""
    reading = _Reading()
    for number, line in enumerate(text.split("\n"), 1):
        reading.take(number, line.expandtabs(4).rstrip())
    tasks = reading.tasks
    used = {task.heading for task in tasks}
    not_done = {task.heading for task in tasks if not task.done}
    epics = [heading for heading in reading.headings if heading in used]
    known: dict[str, int] = {}
    for each, mark in (*((epic, "#") for epic in epics), *((task, "") for task in tasks)):
        name = "\0".join([each.heading.title if each.heading else "", each.title, mark])
        known[name] = known.get(name, 0) + 1
        each.id = stable_id(f"markdown\0{name}\0{known[name]}")
    for epic in epics:
        epic.done = epic not in not_done
    return epics, tasks


class _Reading:
    def __init__(self) -> None:
        self.headings: list[_Task] = []
        self.tasks: list[_Task] = []
        self._open: list[_Task] = []  # the boxes that the next line may be inside of
        self._heading: _Task | None = None
        self._fenced = False

    def take(self, number: int, line: str) -> None:
        if _FENCE.match(line):
            self._fenced = not self._fenced
            self._belongs(line)
            return
        heading = None if self._fenced else _HEADING.match(line)
        box = None if self._fenced else _BOX.match(line)
        if heading and (title := _without_its_end(heading[2])):
            self._heading = _titled(number, 0, title)
            self.headings.append(self._heading)
            self._open = []
        elif box:
            self._begin(number, box)
        else:
            self._belongs(line)

    def _begin(self, number: int, box: re.Match[str]) -> None:
        depth = len(box[1])
        while self._open and self._open[-1].depth >= depth:
            self._open.pop()
        task = _titled(number, depth, box[3])
        task.done = box[2] in "xX"
        task.heading = self._heading
        task.parent = self._open[-1] if self._open else None
        self._open.append(task)
        self.tasks.append(task)

    def _belongs(self, line: str) -> None:
        """A line of the text of what it stands below and inside of."""
        depth = len(line) - len(line.lstrip())
        while line and self._open and self._open[-1].depth >= depth and not self._fenced:
            self._open.pop()
        owner = self._open[-1] if self._open else self._heading
        if owner is not None:
            owner.text.append(line)


def _without_its_end(heading: str) -> str:
    """A heading may be closed by signs as it was begun; those of a word, as in C#, are its own."""
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else heading


def _titled(line: int, depth: int, text: str) -> _Task:
    """A title without the signs in it."""
    text = " ".join(text.split())  # also so that no search goes through the same spaces again and again
    after = _AFTER.search(text)
    rest = text[: after.start()] if after else text
    priority = _PRIORITY.search(rest)
    found = _LABEL.findall(rest)
    bare = _LABEL.sub("", _PRIORITY.sub("", rest, count=1) if priority else rest)
    task = _Task(line, depth, " ".join(bare.split()) or text)
    task.priority = priority[1].lower() if priority else "medium"
    task.labels = list({label.lower(): label[: limits.LABEL_CHARS_MAX] for label in found}.values())
    task.after = after[1].strip() if after else ""
    return task


def _blockers(task: _Task, by_title: dict[str, _Task], faults: Faults) -> list[_Task]:
    """The tasks that the words behind `after:` name: one title, or several with commas between them."""
    if not task.after:
        return []
    for names in ([task.after], task.after.split(";"), task.after.split(",")):
        named = [by_title.get(_folded(name)) for name in names]
        if all(named):
            return [each for each in named if each is not None]
    faults.add(f"$ line {task.line}", "NOT_FOUND", f"comes after what is no task of this list: {task.after}", task.line)
    return []


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


def _joined(lines: list[str]) -> str:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return "\n".join(line[margin:] for line in lines).strip("\n")

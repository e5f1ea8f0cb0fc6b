"""Documents of other trackers as records: rhizome's interchange (version 1), beads' JSON Lines, GitHub's issues.

Rhizome's ids are kept. The others get ids that follow from their own, so a second import finds what the first one
made; what they are called elsewhere stands with each issue as an artifact. What has no place here is not lost without a
word: short facts go below the description, the rest is named in `left_out`. Possession is never imported: what was in
progress is ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from clearway import config, lifecycle, limits
from clearway.clock import stable_id
from clearway.kinds import Problem
from clearway.untrusted import folded
from clearway.work.transfer_documents import Faults, Pieces, Text, Unreadable
from clearway.work.transfer_records import HISTORY, Moment
from clearway.work.transfer_survey import Item

Value = dict[str, Any]
_NAME_CHARS = 64
_MOMENT = Moment()
_IDS_KEPT = 200_000
_LINES = 500  # whose records are given together
_FACT_CHARS = 300
_LABEL = limits.LABEL_CHARS_MAX


class _Foreign:
    """What the readers of all formats share: what is left out is named once."""

    name = ""

    def __init__(self, text: Text) -> None:
        self._text = text
        self.project: Value = {}
        self.left_out: list[str] = []
        self._left: set[str] = set()
        self._ids: dict[str, str] = {}

    def _leave_out(self, path: str) -> None:
        if path not in self._left and len(self._left) < limits.IMPORT_CONFLICTS_SHOWN:
            self._left.add(path)
            self.left_out.append(path)

    def _id(self, *parts: Any, wall: str | None = None) -> str:
        text = "\0".join([self.name, *map(str, parts)])
        if wall is not None:
            return stable_id(text, wall_of(wall))
        known = self._ids.get(text)  # of an issue: it is named again and again
        if known is None:
            if len(self._ids) >= _IDS_KEPT:
                self._ids.clear()
            known = self._ids[text] = stable_id(text)
        return known

    def called(self, id: str) -> str:
        """The ids of other trackers become ids of ours; those that are of our form already stay."""
        said = next((text for text, known in self._ids.items() if known == id), id)
        return folded(said.rpartition("\0")[2], _NAME_CHARS)

    def _cut(self, content: Any, path: str) -> Any:
        """A remark that is longer than one may be here."""
        if not isinstance(content, str) or len(content) <= limits.COMMENT_CHARS_MAX:
            return content
        self._leave_out(f"{path} (behind {limits.COMMENT_CHARS_MAX} characters)")
        return content[: limits.COMMENT_CHARS_MAX]

    def _agent(self, name: Any) -> str:
        """Somebody elsewhere: never to be taken for somebody here."""
        known = config.agent_name(str(name), fallback="") if isinstance(name, str) else ""
        return f"{known}@{self.name}" if known else self.name


def wall_of(text: Any) -> int | None:
    """A time in milliseconds, or None where there is none that can be read."""
    try:
        return _MOMENT.check(text, "", cast("Any", None))
    except Problem:
        return None


# --- rhizome --------------------------------------------------------------------------------------------------------

_MEMBERS = (
    "format version exported_at project issues labels issue_labels relations comments decisions attempts attempt_notes "
    "artifacts events"
).split()
_FIELDS = {
    "project": "id name instructions created_at updated_at",
    "issues": "id type title description acceptance_criteria status priority parent_id blocked_reason "
    "created_by_session_id created_at updated_at closed_at",
    "labels": "id name description created_at",
    "issue_labels": "issue_id label_id",
    "relations": "id source_issue_id target_issue_id type created_by_session_id created_at",
    "comments": "id issue_id content created_by_session_id author_label created_at edited_at",
    "decisions": "id issue_id title summary content status supersedes_id created_by_session_id created_at",
    "attempts": "id issue_id session_id agent_label kind status issue_version_at_start context_event_id_at_start "
    "lease_expires_at started_at last_heartbeat_at finished_at result_summary next_steps verification "
    "failure_reason_code interruption_reason_code reason_details",
    "attempt_notes": "id attempt_id kind content next_steps important created_at",
    "artifacts": "id issue_id attempt_id type uri title metadata created_at",
    "events": "source_id issue_id event_type session_id attempt_id payload created_at",
}
_SHAPES = {name: frozenset(fields.split()) for name, fields in _FIELDS.items()}
_CALLED = {
    "parent": "parent_id",
    "issue": "issue_id",
    "attempt": "attempt_id",
    "source": "source_issue_id",
    "target": "target_issue_id",
    "supersedes": "supersedes_id",
    "issue_version": "issue_version_at_start",
    "failure_code": "failure_reason_code",
    "interruption_code": "interruption_reason_code",
    "agent": "agent_label",
}
_OURS = {theirs: ours for ours, theirs in _CALLED.items()}
_PASSED = frozenset(
    "created_by_session_id session_id agent_label author_label edited_at lease_expires_at last_heartbeat_at "
    "context_event_id_at_start".split()
)


class Rhizome(_Foreign):
    name = "rhizome"

    def items(self, faults: Faults) -> Iterator[Item]:
        pieces = Pieces(self._text.whole())
        self._check_members(pieces, faults)
        labels = self._labels_of(pieces, faults)
        history = self._history_of(pieces, faults)
        attempts: dict[str, Any] = {}
        for path, value in self._each(pieces, "labels", faults):
            yield Item("label", _kept(value, "name description created_at"), path)
        for path, value in self._each(pieces, "issues", faults):
            yield Item("issue", self._issue(value, labels, history), path, names=_CALLED)
        for path, value in self._each(pieces, "relations", faults):
            yield self._item("relation", value, path, created_by=self.name)
        for path, value in self._each(pieces, "comments", faults):
            yield self._item("comment", value, path, agent=self._agent(value.get("author_label")))
        for path, value in self._each(pieces, "decisions", faults):
            yield self._item("decision", value, path, agent=self.name)
        for path, value in self._each(pieces, "attempts", faults):
            attempts[_word(value["id"])] = value["issue_id"]
            yield self._item("attempt", value, path, agent=self._agent(value.get("agent_label")))
        for path, value in self._each(pieces, "attempt_notes", faults):
            issue = attempts.get(_word(value["attempt_id"]))
            if issue is None:
                faults.add(f"{path}.attempt_id", "NOT_FOUND", "names no attempt of this document")
                continue
            yield self._item("note", value, path, issue=issue)
        for path, value in self._each(pieces, "artifacts", faults):
            yield self._item("artifact", value, path)

    def _check_members(self, pieces: Pieces, faults: Faults) -> None:
        if pieces.members.get("format") != "rhizome-logical-project":
            raise Unreadable("$.format", "INVALID_VALUE", "must be rhizome-logical-project")
        version = pieces.members.get("version")
        if repr(version) != "1":
            message = f"is {folded(str(version), 20)}, and only version 1 is known"
            raise Unreadable("$.version", "FORMAT_VERSION", message)
        for name in sorted(pieces.names - set(_MEMBERS)):
            faults.add(f"$.{folded(name, _NAME_CHARS)}", "UNSUPPORTED", "is not a member of such a document")
        for name in _MEMBERS:
            if name not in pieces.names:
                faults.add(f"$.{name}", "REQUIRED", "is required")
            elif name in _FIELDS and name != "project" and not pieces.is_array(name):
                faults.add(f"$.{name}", "INVALID_VALUE", "must be a list")
        project = pieces.members.get("project")
        if self._fits("project", project, "$.project", faults):
            self.project = self._project(cast("Value", project), faults)

    def _project(self, project: Value, faults: Faults) -> Value:
        from clearway.work.transfer_records import HEADER

        own = {"format": self.name, "version": 1, "project": _kept(project, "id name instructions")}
        read = HEADER.read(own, "$", faults)
        return {} if read is None else read["project"]

    def _each(self, pieces: Pieces, name: str, faults: Faults) -> Iterator[tuple[str, Value]]:
        for place, value in pieces.items(name):
            path = f"$.{name}[{place}]"
            if self._fits(name, value, path, faults):
                yield path, value

    def _fits(self, name: str, value: Any, path: str, faults: Faults) -> bool:
        if not isinstance(value, dict):
            faults.add(path, "INVALID_VALUE", "must be an object")
            return False
        given = cast("Value", value)
        before = faults.count
        for field in given:
            if field not in _SHAPES[name]:
                faults.add(f"{path}.{folded(field, _NAME_CHARS)}", "UNSUPPORTED", "is not a field of it")
        for field in sorted(_SHAPES[name] - set(given)):
            faults.add(f"{path}.{field}", "REQUIRED", "is required")
        for field in ("created_by_session_id", "session_id"):
            if given.get(field) is not None:
                faults.add(f"{path}.{field}", "FORBIDDEN", "must be null: sessions are not imported")
        return faults.count == before

    def _labels_of(self, pieces: Pieces, faults: Faults) -> dict[str, list[str]]:
        named = {_word(value.get("id")): _word(value.get("name")) for value in _objects_of(pieces, "labels")}
        issues = {_word(value.get("id")) for value in _objects_of(pieces, "issues")}
        found: dict[str, list[str]] = {}
        for path, value in self._each(pieces, "issue_labels", faults):
            label, issue = _word(value["label_id"]), _word(value["issue_id"])
            if label not in named:
                faults.add(f"{path}.label_id", "NOT_FOUND", "names no label of this document")
            elif issue not in issues:
                faults.add(f"{path}.issue_id", "NOT_FOUND", "names no issue of this document")
            else:
                found.setdefault(issue, []).append(named[label])
        return found

    def _history_of(self, pieces: Pieces, faults: Faults) -> dict[str, list[Value]]:
        """What happened to an issue and is told by no other member."""
        found: dict[str, list[Value]] = {}
        for path, value in self._each(pieces, "events", faults):
            if wall_of(value["created_at"]) is None:
                faults.add(f"{path}.created_at", "INVALID_VALUE", "must be a time such as 2026-11-01T08:00:00Z")
            elif value["event_type"] in HISTORY and isinstance(value["issue_id"], str):
                payload: Any = value["payload"]
                told = {"type": value["event_type"], "at": value["created_at"], "agent": self.name, "data": payload}
                found.setdefault(value["issue_id"], []).append(told)
        return found

    def _issue(self, value: Value, labels: dict[str, list[str]], history: dict[str, list[Value]]) -> Value:
        issue = {_OURS.get(name, name): item for name, item in value.items() if name not in _PASSED}
        more = {"created_by": self.name, "labels": labels.get(_word(value["id"]), [])}
        past = history.get(_word(value["id"]))
        return issue | more | ({"history": past} if past else {})

    def _item(self, record: str, value: Value, path: str, **more: Any) -> Item:
        fields = {_OURS.get(name, name): item for name, item in value.items() if name not in _PASSED}
        if record == "relation":
            del fields["id"]
        return Item(record, fields | more, path, names=_CALLED)


def _word(value: Any) -> str:
    """An id that may be anything yet."""
    return value if isinstance(value, str) else ""


def _objects_of(pieces: Pieces, name: str) -> Iterator[Value]:
    return (cast("Value", value) for _, value in pieces.items(name) if isinstance(value, dict))


def _kept(value: Value, names: str) -> Value:
    return {name: value.get(name) for name in names.split()}


# --- what the looser formats share ------------------------------------------------------------------------------------


class _Sheet:
    """One issue of a format without promises: what is known of it goes to its fields, the rest below the text."""

    def __init__(self, title: Any, text: Any) -> None:
        self.title = title
        self.text = text if isinstance(text, str) else ""
        self._facts: list[str] = []
        if isinstance(title, str) and len(title) > limits.TITLE_CHARS_MAX:
            self.title = title[: limits.TITLE_CHARS_MAX - 1] + "…"
            self.text = f"{title}\n\n{self.text}".strip()

    def section(self, heading: str, text: Any) -> None:
        if isinstance(text, str) and text.strip():
            self.text = f"{self.text}\n\n## {heading}\n\n{text.strip()}".strip()

    def fact(self, name: str, value: Any) -> bool:
        """A short fact, on one line. Whether it was one."""
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip():
            self._facts.append(f"{name}: {folded(str(value), _FACT_CHARS)}")
            return True
        return False

    @property
    def description(self) -> str | None:
        facts = "\n".join(f"- {fact}" for fact in self._facts)
        whole = f"{self.text}\n\n{facts}".strip() if facts else self.text
        return whole or None


def _made(value: Value) -> str:
    """When something was made, where that is needed and perhaps not said."""
    return value.get("created_at") or value.get("createdAt") or "1970-01-01T00:00:00Z"


def _labels(*names: Any) -> list[str]:
    found: dict[str, str] = {}
    for name in names:
        if isinstance(name, str) and name.strip():
            label = name.strip()[:_LABEL]
            found.setdefault(label.lower(), label)
    return list(found.values())[: limits.LABELS_PER_ISSUE_MAX]


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _objects(value: Any) -> Iterator[tuple[int, Value]]:
    for place, item in enumerate(_list(value)):
        if isinstance(item, dict):
            yield place, cast("Value", item)


# --- beads ------------------------------------------------------------------------------------------------------------

_BEADS_STATUS = {"open": "ready", "in_progress": "ready", "hooked": "ready", "closed": "done", "blocked": "blocked"}
_BEADS_PRIORITY = ("critical", "high", "medium", "low", "low")
_BEADS_OWN = frozenset(
    "id title description design acceptance_criteria notes status priority issue_type labels created_at updated_at "
    "closed_at close_reason external_ref dependencies comments created_by".split()
)


class Beads(_Foreign):
    name = "beads"

    def items(self, faults: Faults) -> Iterator[Item]:
        epics: set[str] = set()
        parents: dict[str, str] = {}
        for _, _, value in self._each(faults):
            if value.get("issue_type") == "epic":
                epics.add(value["id"])
            for _, link in _objects(value.get("dependencies")):
                if link.get("type") == "parent-child" and isinstance(link.get("depends_on_id"), str):
                    parents.setdefault(value["id"], link["depends_on_id"])
        for place, line, value in self._each():
            epic = _epic_of(value["id"], parents, epics)
            yield Item("issue", self._issue(value, epic, f"$[{place}]"), f"$[{place}]", line, {"type": "issue_type"})
        seen: set[tuple[str, str, str]] = set()
        lines = self._each()
        while group := list(islice(lines, _LINES)):
            for place, line, value in group:
                yield from self._relations(value, epics, seen, f"$[{place}]", line, faults)
            for place, line, value in group:
                yield from self._comments(value, f"$[{place}]", line)
            for place, line, value in group:
                yield from self._artifacts(value, f"$[{place}]", line)

    def _each(self, faults: Faults | None = None) -> Iterator[tuple[int, int, Value]]:
        """The issues. What is deleted there is not brought here."""
        for place, line, value in self._text.lines():
            if not isinstance(value, dict):
                if faults is not None:
                    faults.add(f"$[{place}]", "INVALID_VALUE", "must be an object", line)
                continue
            issue = cast("Value", value)
            if not isinstance(issue.get("id"), str) or not issue["id"]:
                if faults is not None:
                    faults.add(f"$[{place}].id", "REQUIRED", "is required", line)
            elif issue.get("status") == "tombstone":
                self._leave_out(f"$[{place}] (deleted)")
            else:
                yield place, line, issue

    def _issue(self, value: Value, epic: str | None, path: str) -> Value:
        kind = value.get("issue_type")
        status = _BEADS_STATUS.get(str(value.get("status")), "open")
        is_epic = kind == "epic"
        status = "open" if is_epic and status == "ready" else status
        sheet = _Sheet(value.get("title"), value.get("description"))
        sheet.section("Design", value.get("design"))
        sheet.section("Notes", value.get("notes"))
        sheet.fact("beads", value["id"])
        for name in sorted(set(value) - _BEADS_OWN):
            if value[name] not in (None, "", [], {}, False) and not sheet.fact(name, value[name]):
                self._leave_out(f"{path}.{folded(name, _NAME_CHARS)}")
        further = kind if kind not in ("bug", "task", "epic") else None
        priority = value.get("priority")
        is_known = isinstance(priority, int) and not isinstance(priority, bool) and 0 <= priority < len(_BEADS_PRIORITY)
        if "priority" in value and not is_known:
            self._leave_out(f"{path}.priority")
        closed = value.get("closed_at") or value.get("updated_at")
        return {
            "id": self._id(value["id"]),
            "type": kind if kind in ("bug", "epic") else "task",
            "title": sheet.title,
            "description": sheet.description,
            "acceptance_criteria": value.get("acceptance_criteria") or None,
            "status": status,
            "priority": _BEADS_PRIORITY[cast("int", priority)] if is_known else "medium",
            "parent": None if epic is None or is_epic else self._id(epic),
            "blocked_reason": "blocked in beads" if status == "blocked" else None,
            "labels": _labels(*_list(value.get("labels")), further, *_deferred(value)),
            "created_by": self._agent(value.get("created_by")),
            "created_at": value.get("created_at"),
            "updated_at": value.get("updated_at") or value.get("created_at"),
            "closed_at": closed if status == "done" else None,
        }

    def _relations(
        self, value: Value, epics: set[str], seen: set[tuple[str, str, str]], path: str, line: int, faults: Faults
    ) -> Iterator[Item]:
        """`issue_id` depends on `depends_on_id`. A parent that is no epic waits for its children."""
        for place, link in _objects(value.get("dependencies")):
            other, kind = link.get("depends_on_id"), link.get("type", "blocks")
            at = f"{path}.dependencies[{place}]"
            if not isinstance(other, str) or not other:
                faults.add(f"{at}.depends_on_id", "REQUIRED", "is required", line)
                continue
            if other.startswith("external:"):
                self._leave_out(f"{at} ({folded(other, _NAME_CHARS)})")
                continue
            if kind == "parent-child" and other in epics and value.get("issue_type") != "epic":
                continue  # it is the parent
            ends, soft = _ends(kind, value["id"], other, epics)
            source, target, ours = ends
            one, two = self._id(source), self._id(target)
            mark = (min(one, two), max(one, two), ours) if ours == "related_to" else (one, two, ours)
            if mark in seen or (soft and (mark[0], mark[1], "blocks") in seen):
                continue
            seen.add(mark)
            relation = {"type": ours, "source": one, "target": two, "created_by": self.name}
            made = link.get("created_at") or value.get("created_at")
            yield Item(
                "relation",
                relation | {"created_at": made},
                at,
                line,
                {"source": "depends_on_id", "target": "depends_on_id"},
                soft=soft,
            )

    def _comments(self, value: Value, path: str, line: int) -> Iterator[Item]:
        issue = self._id(value["id"])
        for place, comment in _objects(value.get("comments")):
            made = comment.get("created_at") or _made(value)
            yield Item(
                "comment",
                {
                    "id": self._id(value["id"], comment.get("id", place), "comment", wall=made),
                    "issue": issue,
                    "agent": self._agent(comment.get("author")),
                    "content": self._cut(comment.get("text") or comment.get("content"), f"{path}.comments[{place}]"),
                    "created_at": made,
                },
                f"{path}.comments[{place}]",
                line,
                {"content": "text"},
            )
        why = value.get("close_reason")
        if isinstance(why, str) and why.strip() and value.get("status") == "closed":
            made = value.get("closed_at") or value.get("updated_at") or _made(value)
            yield Item(
                "comment",
                {
                    "id": self._id(value["id"], "close_reason", wall=made),
                    "issue": issue,
                    "agent": self.name,
                    "content": f"Closed: {why.strip()}",
                    "created_at": made,
                },
                f"{path}.close_reason",
                line,
            )

    def _artifacts(self, value: Value, path: str, line: int) -> Iterator[Item]:
        made = _made(value)
        reference = value.get("external_ref")
        names = [("beads", f"beads/{value['id']}", "other", "id")]
        if isinstance(reference, str) and reference.strip():
            is_url = reference.startswith(("http://", "https://"))
            names.append(("reference", reference.strip(), "url" if is_url else "other", "external_ref"))
        for title, uri, kind, field in names:
            yield Item(
                "artifact",
                {
                    "id": self._id(value["id"], field, "artifact", wall=made),
                    "issue": self._id(value["id"]),
                    "type": kind,
                    "uri": uri if kind == "url" else uri.replace(":", "/").replace("\\", "/").lstrip("/"),
                    "title": title,
                    "created_at": made,
                },
                f"{path}",
                line,
                {"uri": field},
            )


def _deferred(value: Value) -> list[str]:
    return ["deferred"] if value.get("status") in ("deferred", "pinned") else []


def _epic_of(issue: str, parents: dict[str, str], epics: set[str]) -> str | None:
    """The nearest epic above an issue."""
    seen = {issue}
    above = parents.get(issue)
    while above is not None and above not in epics and above not in seen:
        seen.add(above)
        above = parents.get(above)
    return above if above in epics else None


def _ends(kind: Any, issue: str, other: str, epics: set[str]) -> tuple[tuple[str, str, str], bool]:
    """A dependency as a relation of ours, and whether it may be left out where it would close a circle."""
    if kind == "blocks":
        return (other, issue, "blocks"), False
    if kind == "duplicates":
        return (issue, other, "duplicates"), False
    if kind == "parent-child" and not {issue, other} & epics:
        return (issue, other, "blocks"), True
    return (issue, other, "related_to"), False


# --- GitHub -----------------------------------------------------------------------------------------------------------

_NOT_DONE = frozenset({"not_planned", "duplicate"})
_URGENCY = {
    "critical": "critical", "p0": "critical", "urgent": "critical", "high": "high", "p1": "high",
    "medium": "medium", "p2": "medium", "low": "low", "p3": "low",
}  # fmt: skip
_GITHUB_OWN = frozenset(
    "number title body state stateReason state_reason labels author user createdAt created_at updatedAt updated_at "
    "closedAt closed_at comments url html_url id node_id assignees milestone closed isPinned".split()
)


class GitHub(_Foreign):
    """What `gh issue list --json number,title,body,state,...` prints, or the REST API's list."""

    name = "github"

    def items(self, faults: Faults) -> Iterator[Item]:
        pieces = Pieces(self._text.whole())
        if not pieces.is_array(""):
            raise Unreadable("$", "INVALID_VALUE", "must be a list of issues")
        for path, value in self._each(pieces, faults):
            yield Item("issue", self._issue(value, path), path, names={"description": "body"})
        for path, value in self._each(pieces):
            yield from self._comments(value, path)
        for path, value in self._each(pieces):
            yield from self._artifacts(value, path)

    def _each(self, pieces: Pieces, faults: Faults | None = None) -> Iterator[tuple[str, Value]]:
        for place, value in pieces.items():
            path = f"$[{place}]"
            issue = cast("Value", value) if isinstance(value, dict) else {}
            number = issue.get("number")
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                if faults is not None:
                    faults.add(f"{path}.number", "REQUIRED", "must be the number of an issue")
            elif issue.get("pull_request"):
                self._leave_out(f"{path} (a pull request)")
            else:
                yield path, issue

    def _key(self, value: Value) -> str:
        return str(_address(value) or value["number"])

    def _issue(self, value: Value, path: str) -> Value:
        names = [label.get("name") for _, label in _objects(value.get("labels"))]
        names += [label for label in _list(value.get("labels")) if isinstance(label, str)]
        words = {str(name).lower() for name in names}
        is_closed = str(value.get("state", "")).lower() == "closed"
        why = str(value.get("stateReason") or value.get("state_reason") or "").lower()
        status = ("cancelled" if why in _NOT_DONE else "done") if is_closed else "open"
        sheet = _Sheet(value.get("title"), value.get("body"))
        sheet.fact("GitHub", _address(value) or f"#{value['number']}")
        people = ", ".join(str(person.get("login")) for _, person in _objects(value.get("assignees")))
        sheet.fact("assignees", people)
        milestone = value.get("milestone")
        sheet.fact("milestone", cast("Value", milestone).get("title") if isinstance(milestone, dict) else None)
        for name in sorted(set(value) - _GITHUB_OWN):
            if value[name] not in (None, "", [], {}, False) and not sheet.fact(name, value[name]):
                self._leave_out(f"{path}.{folded(name, _NAME_CHARS)}")
        made = value.get("createdAt") or value.get("created_at")
        changed = value.get("updatedAt") or value.get("updated_at") or made
        return {
            "id": self._id(self._key(value)),
            "type": "bug" if "bug" in words else "task",
            "title": sheet.title,
            "description": sheet.description,
            "status": status,
            "priority": _urgency(words),
            "labels": _labels(*names),
            "created_by": self._agent(_login(value)),
            "created_at": made,
            "updated_at": changed,
            "closed_at": (value.get("closedAt") or value.get("closed_at") or changed) if is_closed else None,
        }

    def _comments(self, value: Value, path: str) -> Iterator[Item]:
        for place, comment in _objects(value.get("comments")):
            made = comment.get("createdAt") or comment.get("created_at") or _made(value)
            content = comment.get("body")
            if not content:
                continue
            yield Item(
                "comment",
                {
                    "id": self._id(self._key(value), comment.get("id", place), "comment", wall=made),
                    "issue": self._id(self._key(value)),
                    "agent": self._agent(_login(comment)),
                    "content": self._cut(content, f"{path}.comments[{place}].body"),
                    "created_at": made,
                },
                f"{path}.comments[{place}]",
                names={"content": "body"},
            )

    def _artifacts(self, value: Value, path: str) -> Iterator[Item]:
        address = _address(value)
        made = _made(value)
        key = self._key(value)
        yield Item(
            "artifact",
            {
                "id": self._id(key, "artifact", wall=made),
                "issue": self._id(key),
                "type": "url" if address else "other",
                "uri": address or f"github/{value['number']}",
                "title": f"GitHub #{value['number']}",
                "created_at": made,
            },
            path,
            names={"uri": "url"},
        )


def _address(value: Value) -> str | None:
    for name in ("html_url", "url"):
        if isinstance(value.get(name), str) and value[name].startswith("https://"):
            return value[name]
    return None


def _login(value: Value) -> Any:
    person = value.get("author") or value.get("user")
    return cast("Value", person).get("login") if isinstance(person, dict) else None


def _urgency(words: set[str]) -> str:
    """A priority, where a label says one."""
    found: set[str] = set()
    for word in words:
        tail = word.replace("priority", "").strip(" :/-_")
        if word in _URGENCY or (word.startswith("priority") and tail in _URGENCY):
            found.add(_URGENCY.get(word) or _URGENCY[tail])
    return next((name for name in reversed(lifecycle.PRIORITIES) if name in found), "medium")

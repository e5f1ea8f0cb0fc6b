"""What must hold of tasks: somebody has each, or nobody; it is done at most once; and the log alone tells which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clearway.db import Row


class TaskBroken(AssertionError):
    """A rule about tasks does not hold."""


@dataclass
class TaskHeld:
    """A task in somebody's hands, as the log tells it."""

    fence: int
    session: str
    agent: str
    started: bool = False


@dataclass
class Tasks:
    """Every task of a room and who has it, from the events alone."""

    states: dict[int, str] = field(default_factory=dict)
    recipients: dict[int, str] = field(default_factory=dict)
    held: dict[int, TaskHeld] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)  # the fence under which each was taken last
    done: set[int] = field(default_factory=set)

    def take(self, event: Row, facts: dict[str, Any]) -> int | None:
        """One event; the fence that it gives, if it gives one."""
        kind, task = event.type, facts.get("task", 0)
        if kind == "message_sent" and facts.get("kind") == "task":
            self.states[event.id] = "pending"
            self.recipients[event.id] = facts["to"]
        elif kind == "session_continued":
            for held in self.held.values():
                if held.session == facts["from_session"]:
                    held.session, held.agent = event.session, event.agent
        elif kind == "task_leased":
            self._must_be(event, task, "pending")
            if task in self.held:
                raise TaskBroken(f"event {event.id} gives task {task} to a second: {self.held[task]}")
            self.held[task] = TaskHeld(facts["fence"], event.session, event.agent)
            self.last[task] = facts["fence"]
            self.states[task] = "leased"
            return facts["fence"]
        elif kind == "task_started":
            self._must_be(event, task, "leased")
            self._of(event, facts).started = True
            self.states[task] = "started"
        elif kind == "task_adopted":
            held = self._of(event, facts)
            held.session, held.agent = event.session, event.agent
        elif kind in ("task_lapsed", "task_ended", "task_cancelled", "task_expired", "task_retried"):
            self._end(event, facts)
        return None

    def _end(self, event: Row, facts: dict[str, Any]) -> None:
        task, kind = facts["task"], event.type
        state = facts.get("state") or {"task_retried": "pending"}.get(kind, kind.removeprefix("task_"))
        if kind in ("task_lapsed", "task_ended"):
            held = self._of(event, facts)
            if held.session != event.session:
                raise TaskBroken(f"event {event.id} ends task {task} for {event.session}, but {held.session} has it")
        if kind in ("task_expired", "task_retried") and task in self.held:
            raise TaskBroken(f"event {event.id} ({kind}) while {self.held[task]} has task {task}")
        if state == "succeeded" and task in self.done:
            raise TaskBroken(f"event {event.id}: task {task} is done a second time")
        self.done |= {task} if state == "succeeded" else set()
        self.held.pop(task, None)
        self.states[task] = str(state)

    def _of(self, event: Row, facts: dict[str, Any]) -> TaskHeld:
        held = self.held.get(facts["task"])
        if held is None or held.fence != facts["fence"]:
            raise TaskBroken(f"event {event.id} ({event.type}) is under fence {facts['fence']}, but {held} has it")
        return held

    def _must_be(self, event: Row, task: int, state: str) -> None:
        if self.states.get(task) != state:
            raise TaskBroken(f"event {event.id} ({event.type}) of task {task}, which is {self.states.get(task)}")

    def compare(self, rows: list[Row]) -> None:
        """rows: id, state, fence and session of what the tables have."""
        stored = {row.id: (row.state, row.fence, row.session) for row in rows}
        told: dict[int, tuple[str, int | None, str | None]] = {}
        for task, state in self.states.items():
            held = self.held.get(task)
            told[task] = (state, None, None) if held is None else (state, held.fence, held.session)
        if stored != told:
            raise TaskBroken(f"tasks: the tables say {stored}, the log says {told}")
        if len(stored) < len(rows):
            raise TaskBroken(f"two have one task: {rows}")

"""Whatever fails below it: nothing acknowledged is lost, nothing has two holders, and the room opens again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import HandClock, HandLiveness
from tests.db import faulty

from clearway import catalog, platforms
from clearway.clock import Clock
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.room import Room, open_room

PROJECT = Clock().new_id()
# Every point takes minutes; by default every so many-th is tried, and all of them when asked for.
STRIDE = 1 if os.environ.get("CLEARWAY_TEST_LONG") else 23
POINTS_MAX = 2_000


class Story:
    """Two agents do twenty things in one room, on a disk that may fail; what each was answered is kept."""

    def __init__(self, home: Path, repo: Path, clock: HandClock) -> None:
        self.home = home
        self.repo = repo
        self.clock = clock
        self.liveness = HandLiveness()
        self.acknowledged: dict[str, Any] = {}
        self.refused: dict[str, Refusal] = {}
        self._room: Room | None = None

    def ask(self, who: str, operation: str, room: Room | None = None, **arguments: Any) -> dict[str, Any]:
        room = room or self.room
        pid = 1 + ("anna", "bert", "cara").index(who)
        caller = Caller(who, f"{who}-1", cwd=str(self.repo), host="test-host", process=self.liveness.identify(pid))
        return room.ask(catalog.OPERATIONS[operation], arguments, caller)

    @property
    def room(self) -> Room:
        if self._room is None:
            self._room = open_room(
                PROJECT, home=str(self.home), clock=self.clock, liveness=self.liveness, lock_wait_ms=0
            )
        return self._room

    def leave(self) -> None:
        """The process ends."""
        if self._room is not None:
            try:
                self._room.close()
            except apsw.Error:
                pass
            self._room = None

    def step(self, name: str, who: str, operation: str, **arguments: Any) -> None:
        try:
            self.acknowledged[name] = self.ask(who, operation, **arguments)
        except Refusal as refusal:
            self.refused[name] = refusal

    def proof(self, claim: str) -> dict[str, Any]:
        answer = self.acknowledged.get(claim)
        if answer is None:
            return {"attempt_id": "01JD0000000000000000000000", "lease_token": "none"}
        return {"attempt_id": answer["attempt_id"], "lease_token": answer["lease_token"]}

    def play(self) -> None:
        for number in range(3):
            self.step(
                f"issue {number}",
                "anna",
                "create_issue",
                title=f"Issue {number}",
                status="ready",
                description="x" * 20_000,
                idempotency_key=f"issue {number}",
            )
        self.step("claim 1", "anna", "claim_issue", next=True, context=False, idempotency_key="claim 1")
        self.step("path a", "anna", "claim_paths", paths=["held.txt"])
        self.step("path b", "bert", "claim_paths", paths=["free.txt", "src"])
        self.step("claim 2", "bert", "claim_issue", next=True, context=False, idempotency_key="claim 2")
        self.step("conflict", "bert", "claim_paths", paths=["held.txt"])
        note = {"kind": "checkpoint", "content": "y" * 9_000}
        self.step("note 1", "anna", "save_attempt_note", **self.proof("claim 1"), **note, idempotency_key="note 1")
        self.shorten_the_log()
        self.step("renew", "anna", "renew_attempt", **self.proof("claim 1"))
        done = {"outcome": "completed", "target_issue_status": "done", "result_summary": "Done."}
        self.step("finish 2", "bert", "finish_attempt", **self.proof("claim 2"), **done)
        self.step("release b", "bert", "release_paths", paths=["free.txt"])
        self.step("path c", "anna", "claim_paths", paths=["deploy"])
        self.step("claim 3", "bert", "claim_issue", next=True, context=False, idempotency_key="claim 3")
        self.shorten_the_log()
        self.step("finish 1", "anna", "finish_attempt", **self.proof("claim 1"), **done)
        self.step("issue 3", "bert", "create_issue", title="Issue 3", idempotency_key="issue 3")

    def shorten_the_log(self) -> None:
        """As if the log were long: what is committed is brought into the file by the next writer."""
        if self._room is not None:
            engine: Any = self._room.engine
            engine._checkpoint_at = 1

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def check(self, *, synced_only: bool) -> None:
        """synced_only: only what promises something to another agent must have reached the disk."""
        self.liveness.dead.clear()
        assert self.room.engine.integrity(full=True) == []
        rows = self.rows
        events = [row[0] for row in rows("SELECT id FROM event ORDER BY id")]
        assert events == list(range(1, len(events) + 1)), "the log has a gap"
        assert rows("SELECT last_event FROM room") == [(len(events),)]
        assert not rows("SELECT issue FROM attempt WHERE status = 'active' GROUP BY issue HAVING count(*) > 1")
        assert not rows("SELECT fence FROM (SELECT fence FROM attempt UNION ALL SELECT fence FROM path_lease)"
                        " GROUP BY fence HAVING count(*) > 1")  # fmt: skip
        for name, answer in self.acknowledged.items():
            self._is_there(name, answer, synced_only=synced_only)
        self._holders_are_who_was_told()

    def _is_there(self, name: str, answer: dict[str, Any], *, synced_only: bool) -> None:
        if name.startswith("issue"):
            assert self.rows("SELECT title FROM issue WHERE id = ?", answer["issue_id"]) == [(f"I{name[1:]}",)]
        elif name.startswith("claim"):
            (status,) = self.rows("SELECT status FROM attempt WHERE id = ?", answer["attempt_id"])[0]
            finish = name.replace("claim", "finish")
            allowed = {"completed"} if finish in self.acknowledged else {"active"}
            assert status in (allowed | ({"completed"} if finish in self.refused else set()))
        elif name.startswith("note"):
            assert self.rows("SELECT kind FROM attempt_note WHERE id = ?", answer["note_id"]) == [("checkpoint",)]
        elif name.startswith("path") and not synced_only:
            for lease in answer["granted"]:
                if lease["path"] == "free.txt" and ("release b" in self.acknowledged or "release b" in self.refused):
                    continue
                ended = {"anna": "finish 1", "bert": "finish 2"}["bert" if name == "path b" else "anna"]
                if ended in self.acknowledged or ended in self.refused:
                    continue  # the paths of an attempt go with it
                assert self.rows("SELECT shown FROM path_lease WHERE fence = ?", lease["fence"]) == [(lease["path"],)]

    def _holders_are_who_was_told(self) -> None:
        """Whoever was granted something and did not give it back is the only one who has it."""
        for path, who in (("held.txt", "anna"), ("src", "bert"), ("deploy", "anna")):
            holders = {row[0] for row in self.rows("SELECT agent FROM path_lease WHERE shown = ?", path)}
            assert holders <= {who}

    def again(self) -> None:
        """What was not answered is asked again with its key, and is done once."""
        first = dict(self.acknowledged)
        self.refused.clear()
        self.play()
        failed = {name: refusal.code for name, refusal in self.refused.items() if refusal.is_of_storage}
        assert not failed
        titles = [row[0] for row in self.rows("SELECT title FROM issue ORDER BY number")]
        assert sorted(titles) == [f"Issue {number}" for number in range(4)]
        for name, answer in first.items():
            if name.startswith("issue"):
                assert self.acknowledged[name]["issue_id"] == answer["issue_id"]

    def rows(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        engine: Any = self.room.engine
        return list(engine._live().execute(text, values))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[faulty.Disk]:
    made = faulty.Disk()
    monkeypatch.setattr(platforms, "sync_data", made.sync_data)
    yield made
    made.disarm()
    apsw.set_default_vfs("unix")
    made.unregister()


@pytest.fixture
def new_story(tmp_path: Path, repo: Path, disk: faulty.Disk) -> Callable[[], Story]:
    """A story in a room that was just made, as often as it is wanted."""
    first = Story(tmp_path / "template", repo, HandClock())
    assert first.room.project == PROJECT
    first.leave()
    (tmp_path / "template" / "secret").write_bytes(b"s" * 32)
    stories: list[Story] = []

    def make() -> Story:
        home = tmp_path / f"home{len(stories)}"
        if stories:
            shutil.rmtree(stories[-1].home)
        shutil.copytree(tmp_path / "template", home)
        clock = HandClock()
        clock.elapsed = first.clock.elapsed
        stories.append(Story(home, repo, clock))
        return stories[-1]

    return make


def test_the_story_goes_well_on_a_sound_disk(new_story: Callable[[], Story]) -> None:
    story = new_story()
    story.play()
    assert {name: refusal.code for name, refusal in story.refused.items()} == {"conflict": "PATH_HELD"}
    story.leave()
    story.check(synced_only=False)
    story.leave()


@pytest.mark.parametrize("kind", faulty.KINDS)
def test_a_disk_that_fails_anywhere_takes_nothing_that_was_acknowledged(
    kind: str, new_story: Callable[[], Story], disk: faulty.Disk
) -> None:
    """Budgets, "Correctness at scale": a full disk, an error, a crash, a torn write and a loss of power, at every
    write, sync and truncation of twenty operations."""
    tried = 0
    for point in range(1, POINTS_MAX, STRIDE):
        story = new_story()
        disk.arm(kind, point)
        story.play()
        failed = disk.has_failed
        for name, refusal in story.refused.items():
            known = refusal.is_of_storage or not failed or name == "conflict" or _follows(refusal)
            assert known, f"{kind} at {point}: {name} said {refusal}"
        if disk.is_dead:
            story.leave()
            disk.disarm()
            if kind == faulty.POWER:
                for shared in story.home.rglob("*-shm"):
                    shared.unlink()
        disk.disarm()
        try:
            story.leave()
            story.check(synced_only=kind == faulty.POWER)
            story.again()
        except Exception as error:
            raise AssertionError(f"{kind} at {point}: {error!r}") from error
        finally:
            story.leave()
        if not failed:
            break
        tried += 1
    else:
        raise AssertionError(f"more than {POINTS_MAX} points")
    assert tried * STRIDE > 100


def _follows(refusal: Refusal) -> bool:
    """What was asked could not be, because something before it had failed."""
    return refusal.code in {"ATTEMPT_NOT_FOUND", "NOTHING_TO_CLAIM", "INVALID_LEASE_TOKEN"}

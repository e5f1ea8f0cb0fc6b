"""What a session did lately is remembered in short, without secrets."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from clearway import wire
from clearway.limits import TRAIL_BYTES_MAX
from clearway.trail import CHANGED, RAN, Trail


@pytest.fixture
def trail(tmp_path: Path) -> Trail:
    return Trail(str(tmp_path / "home"))


def file(tmp_path: Path, session: str = "s") -> Path:
    return tmp_path / "home" / "run" / "trail" / session


def test_steps_are_kept_in_order(trail: Trail, tmp_path: Path) -> None:
    trail.changed("s", 1, ["/repo/a.py", "/repo/b.py"])
    trail.ran("s", 2, "pytest -q", 1)
    trail.ran("s", 3, "make", None)
    assert [(step.kind, step.what, step.status) for step in trail.steps("s")] == [
        (CHANGED, "/repo/a.py", None),
        (CHANGED, "/repo/b.py", None),
        (RAN, "pytest -q", 1),
        (RAN, "make", None),
    ]
    assert stat.S_IMODE(file(tmp_path).stat().st_mode) == 0o600
    assert trail.steps("other") == []


def test_a_trail_is_read_without_the_json_package(
    trail: Trail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs ten milliseconds to load, and says no more than that a line was cut off."""
    trail.ran("s", 1, "make", 0)
    with file(tmp_path).open("a") as opened:
        opened.write('[2,"ran","pytest -')
    monkeypatch.setitem(sys.modules, "json", None)  # importing it raises
    assert [step.what for step in trail.steps("s")] == ["make"]
    with pytest.raises(ValueError, match="empty"):
        wire.loads(" ")


def test_no_secret_reaches_the_disk(trail: Trail, tmp_path: Path) -> None:
    trail.ran("s", 1, "curl -H 'Authorization: Bearer abc123' https://me:hunter2@host; A_TOKEN=xyz789 make", 0)
    trail.ran("s", 1, "clearway attempt finish X --lease-token tok456", 0)
    text = file(tmp_path).read_text()
    assert not any(secret in text for secret in ("abc123", "hunter2", "xyz789", "tok456"))
    assert "Authorization" in text


def test_a_long_or_odd_command_is_one_short_line(trail: Trail) -> None:
    trail.ran("s", 1, "echo x\n\u202e\0 " + "y" * 5_000_000, 0)
    trail.ran("s", 1, "\ud800", 0)
    first, second = trail.steps("s")
    assert len(first.what) <= 240
    assert "\n" not in first.what
    assert first.what.endswith("…")
    assert second.what


def test_the_older_half_goes_when_it_has_grown(trail: Trail, tmp_path: Path) -> None:
    for number in range(2_000):
        trail.changed("s", number, [f"/repo/{number:0100}.py"])
    assert file(tmp_path).stat().st_size <= TRAIL_BYTES_MAX
    steps = trail.steps("s")
    assert steps[-1].wall == 1_999
    assert [step.wall for step in steps] == list(range(2_000 - len(steps), 2_000))


def test_a_line_that_was_cut_off_costs_itself_only(trail: Trail, tmp_path: Path) -> None:
    trail.changed("s", 1, ["/repo/a.py"])
    with file(tmp_path).open("a") as opened:
        opened.write('[1,"ran","ma\n[]\n{}\n7\n["x","ran","y",1]\n')
    trail.changed("s", 2, ["/repo/b.py"])
    assert [step.what for step in trail.steps("s")] == ["/repo/a.py", "/repo/b.py"]


def test_a_trail_goes_on_under_another_id(trail: Trail) -> None:
    trail.changed("old", 1, ["/repo/a.py"])
    trail.hand_over("old", "new")
    trail.changed("new", 2, ["/repo/b.py"])
    assert [step.what for step in trail.steps("new")] == ["/repo/a.py", "/repo/b.py"]
    assert trail.steps("old") == []


def test_what_was_left_long_ago_goes(trail: Trail, tmp_path: Path) -> None:
    trail.changed("old", 1, ["/repo/a.py"])
    trail.changed("new", 1, ["/repo/a.py"])
    now = int(file(tmp_path, "new").stat().st_mtime * 1_000)
    os.utime(file(tmp_path, "old"), (0, 0))
    trail.sweep(now)
    assert os.listdir(file(tmp_path).parent) == ["new"]


def test_where_nothing_can_be_written_nothing_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")
    trail = Trail(str(tmp_path / "home"))
    trail.changed("s", 1, ["/repo/a.py"])
    trail.forget("s")
    assert trail.steps("s") == []
    assert os.listdir(tmp_path) == ["home"]

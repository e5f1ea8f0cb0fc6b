"""Turns of writers, and the descriptors they are taken on."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from clearway import platforms
from clearway.db.turns import Turns

BEYOND = 1_100  # more than `select` has numbers for


def test_turns_that_nobody_closes_leave_no_file_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for number in range(20):
        turns = Turns(str(tmp_path / f"{number}-turn"))
        assert turns.take(0)
        del turns
    assert len(os.listdir("/dev/fd")) == before


def test_whoever_has_a_thousand_files_open_still_hears() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, BEYOND + 200)), hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(BEYOND)]
    try:
        ours, theirs = os.pipe()
        opened += [ours, theirs]
        assert ours > 1_023
        assert platforms.readable([ours], 0) == []
        os.write(theirs, b"x")
        assert platforms.readable([ours], 0) == [ours]
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

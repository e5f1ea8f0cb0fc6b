"""The floor under the claims: SQLite alone writes as many pages as a claim does, and waits for the disk as it does.

No rule is checked and no reply is made; one prepared statement changes nine rows that lie on nine pages. What is
faster than this on the machine at hand is not a matter of this product.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path

from clearway.db.turns import Turns
from clearway.driver import apsw

PAGES = 9  # a claim: its attempt and four indexes, the event and its index, the room; now and then one that is split
ROWS_A_PAGE = 4
ROWS = 2_000
ALONE = 1_000
EACH = 100
PATIENCE_MS = 60_000


def alone() -> float:
    """Transactions a second of one process."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, _made(folder) as file:
        began, ended = _write(file, 0, ALONE)
    return ALONE / (ended - began)


def together(processes: int) -> float:
    """Transactions a second of so many processes, which take turns as writers of a room do."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, _made(folder) as file:
        context = multiprocessing.get_context("spawn")
        ready = context.Barrier(processes)
        with context.Manager() as manager:
            times = manager.list()
            writers = [context.Process(target=_race, args=(file, place, ready, times)) for place in range(processes)]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            took = list(times)
    if len(took) != processes:
        raise AssertionError(f"{len(took)} of {processes} writers came to an end")
    return processes * EACH / (max(ended for _, ended in took) - min(began for began, _ in took))


def _race(file: str, place: int, ready: Barrier, times: list[tuple[float, float]]) -> None:
    _write(file, place, 1)
    ready.wait(PATIENCE_MS / 1_000)
    times.append(_write(file, place, EACH))


@contextmanager
def _made(folder: str) -> Iterator[str]:
    """The file, and a connection that keeps its log where it is."""
    file = str(Path(folder) / "floor.db")
    connection = apsw.Connection(file)
    connection.pragma("journal_mode", "wal")
    connection.execute("CREATE TABLE line (number INTEGER PRIMARY KEY, text TEXT); BEGIN")
    for number in range(ROWS):
        connection.execute("INSERT INTO line VALUES (?, ?)", (number, "x" * (4_096 // ROWS_A_PAGE - 100)))
    connection.execute("COMMIT")
    try:
        yield file
    finally:
        connection.close()


def _write(file: str, place: int, count: int) -> tuple[float, float]:
    """When it began and ended."""
    connection = apsw.Connection(file)
    connection.execute("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 60000")
    connection.execute("SELECT count(*) FROM line").fetchone()
    turns = Turns(file + "-turn")
    log = os.open(file + "-wal", os.O_RDWR)
    began = time.time()
    for at in range(count):
        if not turns.take(PATIENCE_MS):
            raise AssertionError("no turn")
        connection.execute("BEGIN IMMEDIATE")
        for page in range(PAGES):
            number = (place * 97 + (at * PAGES + page) * ROWS_A_PAGE) % ROWS
            connection.execute("UPDATE line SET text = text || '.' WHERE number = ?", (number,))
        connection.execute("COMMIT")
        turns.leave()
        os.fdatasync(log)
    ended = time.time()
    os.close(log)
    connection.close()
    return began, ended

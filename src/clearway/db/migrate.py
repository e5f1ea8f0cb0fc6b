"""Numbered schema changes: what they are, and which of them a room has.

A migration is `NNNN_name.sql`, read by both engines, and where they differ `NNNN_name.sqlite.sql` or `.postgres.sql`.
Once released it is never edited: its checksum is recorded with the room, and a room whose history does not match, or
is newer than this program, is refused and not touched. A file that begins with `-- additive` says that whoever does not
know what it adds can go on without it: a hook, which never brings a room forward, then uses an older one as it is.
"""

from __future__ import annotations

import os

from clearway import platforms
from clearway.db import statements
from clearway.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db import Row, Session

SQL = statements(__file__)
SCHEMA = 1  # the newest migration; a test compares it with the files
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")


class Migration:
    """One schema change in the text of one engine."""

    __slots__ = ("name", "text", "version")

    def __init__(self, version: int, name: str, text: str) -> None:
        self.version = version
        self.name = name
        self.text = text

    @property
    def additive(self) -> bool:
        return self.text.startswith("-- additive")

    @property
    def checksum(self) -> str:
        return platforms.digest(self.text.encode())


def migrations(engine: str) -> list[Migration]:
    """All migrations of `engine` ("sqlite" or "postgres"), the oldest first."""
    files = set(os.listdir(_FOLDER))
    found: list[Migration] = []
    for file in sorted(files):
        stem = file.removesuffix(".sql")
        if stem == file or "." in stem:
            continue
        text = _text(file)
        if engine == "postgres":
            text = _for_postgres(text)
        if f"{stem}.{engine}.sql" in files:
            text += _text(f"{stem}.{engine}.sql")
        version, _, name = stem.partition("_")
        found.append(Migration(int(version), name, text))
    return found


def check_version(version: int, where: str) -> None:
    """Refuse a room that is newer than this program."""
    if version > SCHEMA:
        raise Refusal(
            "STORAGE_MIGRATION",
            f"The room at {where} was written by a newer Clearway (schema {version}, this one knows {SCHEMA}); "
            "upgrade Clearway here.",
        )


def check_usable(version: int, engine: str, where: str) -> None:
    """Refuse an older room that lacks more than additions, to those who may not bring it forward."""
    if not all(migration.additive for migration in migrations(engine) if migration.version > version):
        raise Refusal(
            "STORAGE_MIGRATION",
            f"The room at {where} has an older schema ({version}); run any clearway command to bring it forward.",
        )


def check_history(applied: list[Row], engine: str, where: str) -> None:
    """Refuse a room whose recorded history is not a beginning of ours. A room is made whole, so it has one."""
    if not applied:
        raise _unknown_history(where, 1)
    known = {migration.version: migration for migration in migrations(engine)}
    for place, row in enumerate(applied, start=1):
        migration = known.get(row.version)
        if (
            row.version != place
            or migration is None
            or (row.name, row.checksum) != (migration.name, migration.checksum)
        ):
            raise _unknown_history(where, row.version)


def _unknown_history(where: str, step: int) -> Refusal:
    return Refusal(
        "STORAGE_MIGRATION",
        f"The room at {where} has a schema history that this Clearway does not recognise (step {step}); it was not "
        "touched. Restore a backup or use the Clearway that wrote it.",
    )


def record(session: Session, migration: Migration, wall: int) -> None:
    session.change(
        SQL.record,
        {"version": migration.version, "name": migration.name, "checksum": migration.checksum, "wall": wall},
    )


def _text(file: str) -> str:
    with open(os.path.join(_FOLDER, file), encoding="utf-8") as opened:
        return opened.read()


def _for_postgres(text: str) -> str:
    """The common text as PostgreSQL reads it: 64-bit integers, text in code-point order, no STRICT."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line.startswith("--"):
            line = line.replace(" INTEGER", " BIGINT").replace(" TEXT", ' TEXT COLLATE "C"').replace(") STRICT;", ");")
        lines.append(line)
    return "\n".join(lines) + "\n"

"""A machine with a repository, sessions that tell their hooks, and real writes between a call and the word after it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.surfaces.test_moments import Desk, Session

from clearway import config, repository
from clearway.clock import Clock
from clearway.config import Settings
from clearway.rooms import Rooms

UNREADABLE = "python - <<'EOF'\nimport generate\ngenerate.all_files()\nEOF"


class Yard(Desk):
    """A desk whose room is a file, or stands on a server."""

    def __init__(self, tmp_path: Path, repo: Path, dsn: str | None) -> None:
        super().__init__(tmp_path, repo)
        if dsn is not None:
            rooms = Rooms(Settings(self.environ))
            place = repository.holding(str(repo))
            assert place is not None
            rooms.share(place, Clock().new_id(), dsn)
            rooms.close()

    @property
    def snapshots(self) -> Path:
        project = config.read_pointer(str(self.repo)) or next(p.name for p in (self.home / "rooms").iterdir())
        return self.home / "rooms" / project / "snapshots"

    @property
    def home(self) -> Path:
        return Path(self.environ["CLEARWAY_HOME"])

    def write(self, path: str, text: str) -> None:
        """Something writes a file; the time of its change is another than before, whatever the disk's clock does."""
        file = self.repo / path
        earlier = file.stat().st_mtime_ns if file.exists() else 0
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.touch(path, after=earlier)

    def touch(self, path: str, after: int = 0) -> None:
        file = self.repo / path
        now = file.stat().st_mtime_ns
        later = max(now, (after or now) + 1_000_000)
        os.utime(file, ns=(later, later))

    def text(self, path: str) -> str:
        return (self.repo / path).read_text()

    def edit(self, session: Session, path: str, text: str) -> str:
        """The session edits a file with its client's tool, which really writes it; what is said after that."""
        given: dict[str, Any] = {"file_path": str(self.repo / path), "old_string": "a", "new_string": "b"}
        refusal = session.before("Edit", **given)
        assert refusal == ""
        self.write(path, text)
        return session.after("Edit", **given)

    def during(
        self, session: Session, *writes: tuple[str, str], command: str = UNREADABLE, call: str | None = ""
    ) -> str:
        """The session runs a command that nobody can read, which writes so; what is said after it."""
        assert session.runs(command, call=call) == ""
        for path, text in writes:
            self.write(path, text)
        return session.ran(command, call=call)

    def log(self, *types: str) -> list[Any]:
        rows = self.rows("SELECT id, type, session, agent, data FROM event ORDER BY id")
        return [row for row in rows if row.type in types]

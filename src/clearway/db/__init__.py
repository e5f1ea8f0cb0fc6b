"""Named statements, rows, and what an engine is.

SQL lives in `.sql` files beside the modules that use it: `-- name: start` and the body. The text is one for both
engines, with `:name` parameters; `-- name: find [sqlite]` and `[postgres]` mark the few that truly differ.

An engine opens one room, begins its transactions, and says what rule of the database an error broke. It knows nothing
of what is stored.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, KeysView
    from typing import Any, Protocol

    class Session(Protocol):
        """One transaction on one engine."""

        def rows(self, statement: Statement, values: dict[str, Any]) -> list[Row]: ...
        def change(self, statement: Statement, values: dict[str, Any]) -> int: ...
        def change_each(self, statement: Statement, rows: list[dict[str, Any]]) -> None: ...
        def savepoint(self) -> None: ...
        def undo(self) -> None: ...
        def commit(self) -> None: ...
        def leave(self) -> None: ...
        def rollback(self) -> None: ...

    class Engine(Protocol):
        """One room's storage."""

        name: str
        path: str

        def migrate(self, seed: dict[str, Any] | None, *, upgrade: bool) -> bool: ...
        def begin(self, *, writes: bool, durable: bool = True, wait_ms: int | None = None) -> Session: ...
        def constraint(self, error: Exception) -> str | None: ...
        def close(self) -> None: ...


class Row:
    """One row. Its columns are its attributes, named as the statement names them, and nothing else is: attributes are
    asked dozens of times in every transaction, so no function of ours stands between. `row["column"]` and `**row` are
    for those who copy one."""

    __slots__ = ("__dict__",)

    def __init__(self, **columns: Any) -> None:
        self.__dict__ = columns

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def keys(self) -> KeysView[str]:
        return self.__dict__.keys()

    def __getitem__(self, column: str) -> Any:
        return self.__dict__[column]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # as of whatever can be compared and changed

    def __repr__(self) -> str:
        return f"Row({self.__dict__})"


def as_rows(columns: tuple[str, ...], found: Iterable[tuple[Any, ...]]) -> list[Row]:
    """What an engine found, each as long as `columns`."""
    rows: list[Row] = []
    for values in found:
        row = _new_row(Row)
        row.__dict__ = dict(zip(columns, values))  # noqa: B905  (one length: the database sees to it)
        rows.append(row)
    return rows


_new_row = Row.__new__
_BY_NAME = 8  # times that a statement is asked with its values by name


class Statement:
    """One named statement, in the text of each engine. `columns` is filled by the engine that runs it first."""

    __slots__ = ("_asked", "_common", "_in_order", "_postgres", "columns", "name", "sqlite")

    def __init__(self, name: str, sqlite: str, postgres: str) -> None:
        self.name = name
        self.columns: tuple[str, ...] = ()
        self.sqlite = sqlite
        self._common = postgres
        self._postgres = b""
        self._asked = 0
        self._in_order: Callable[[dict[str, Any]], Any] | None = None

    def bound(self, values: dict[str, Any]) -> Any:
        """Values as SQLite takes them: in their order where the statement is asked again and again. That is quicker
        than by name, but the order takes longer to find out than a hook asks anything."""
        if self._in_order is not None:
            return self._in_order(values)
        self._asked += 1
        if self._asked <= _BY_NAME:
            return values
        from operator import itemgetter

        names = parameters_of(self.sqlite)
        self._in_order = itemgetter(*names) if len(names) > 1 else lambda given: tuple(given[name] for name in names)
        return self._in_order(values)

    @property
    def postgres(self) -> bytes:
        """The text with `%(name)s` parameters."""
        if not self._postgres:
            self._postgres = percent_parameters(self._common).encode()
        return self._postgres


class Statements:
    """The statements of one `.sql` file, by name. The file is read when the first of them is asked for: a hook loads
    many nouns and asks few."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._is_read = False
        _ALL.append(self)

    def __getattr__(self, name: str) -> Statement:
        self.read()
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(f"{self._path} has no statement {name}")

    def read(self) -> None:
        if self._is_read:
            return
        texts = archived(self._path)
        if texts is None:
            with open(self._path, encoding="utf-8") as file:
                texts = split(file.read())
        for name in {heading.partition(" ")[0]: None for heading in texts}:
            common = texts.get(name, "")
            sqlite, postgres = texts.get(f"{name} [sqlite]", common), texts.get(f"{name} [postgres]", common)
            self.__dict__[name] = Statement(name, sqlite, postgres)
        self._is_read = True


_ALL: list[Statements] = []


_NOTHING: dict[str, dict[str, str]] = {}
# What an archive holds of a file, as `split` gives it. A hook that has one (setup/archive.py) puts its own here.
archived = _NOTHING.get


def read_all() -> None:
    """Read the statements of all modules that are loaded. A process that lives long does so at its start: its files may
    be exchanged for those of another version under it."""
    for each in _ALL:
        each.read()


def statements(module_file: str) -> Statements:
    """The statements beside a module: `attempts.py` has `attempts.sql`."""
    return Statements(os.path.splitext(module_file)[0] + ".sql")


def percent_parameters(text: str) -> str:
    """`:name` -> `%(name)s`, outside of quotes; a literal `%` is doubled. `::type` casts are left alone."""
    parts: list[str] = []
    for place, piece in enumerate(text.replace("%", "%%").split("'")):
        parts.append(piece if place % 2 else _parameters(piece))
    return "'".join(parts)


def _parameters(piece: str) -> str:
    parts = piece.split(":")
    done = [parts[0]]
    for before, part in zip(parts, parts[1:], strict=False):
        length = 0
        while length < len(part) and (part[length].isalnum() or part[length] == "_"):
            length += 1
        cast = before == "" and len(done) > 1
        done.append(f":{part}" if cast or not length else f"%({part[:length]})s{part[length:]}")
    return "".join(done)


def parameters_of(text: str) -> list[str]:
    """The names of the `:name` parameters of a text, outside of quotes, each where it comes first."""
    names: dict[str, None] = {}
    for piece in text.split("'")[::2]:
        for part in piece.split(":")[1:]:
            length = next((at for at, letter in enumerate(part) if not (letter.isalnum() or letter == "_")), len(part))
            if length:
                names[part[:length]] = None
    return list(names)


def split(text: str) -> dict[str, str]:
    """The statements of the text of a `.sql` file, by heading."""
    texts: dict[str, str] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("-- name: "):
            heading = line[9:].strip()
            texts[heading] = ""
        elif heading and not line.startswith("--"):
            texts[heading] += line + "\n"
    return {name: body.strip() for name, body in texts.items()}

"""What a process that stays keeps of the parser's words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clearway import children
from clearway.guard import shellparse


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """The texts that the parser was started for, in a process that remembers."""
    started: list[bytes] = []
    run = children.run

    def noted(*words: object, **more: object) -> children.Printed:
        started.append(more["given"])  # type: ignore[arg-type]
        return run(*words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(children, "run", noted)
    shellparse.remember()
    yield started
    shellparse.forget()


COMMANDS = ["for x in a b; do echo $x > $x.txt; done", "cat <<E > out\nhello\nE\n", "echo a > b\nfi\n"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_comes_again_is_not_parsed_again_and_read_in_the_same_way(
    command: str, counted: list[bytes]
) -> None:
    def read() -> list[str]:
        return [repr(statement) for statement in (shellparse.Parser().tree(command) or empty()).statements]

    first = read()
    runs = len(counted)
    assert first and runs
    assert read() == first
    assert len(counted) == runs
    shellparse.forget()
    assert read() == first
    assert len(counted) == 2 * runs


def empty() -> shellparse.Tree:
    return shellparse.Tree({}, whole=True)


def test_what_is_kept_is_bounded(counted: list[bytes]) -> None:
    shellparse.Parser().tree("echo " + "a" * shellparse.REMEMBERED_BYTES_MAX)
    assert not shellparse.REMEMBERED
    printed = children.Printed(b"{}", b"", False)
    for number in range(shellparse.REMEMBERED_MAX + 50):
        shellparse._keep_in_mind(b"%d" % number, printed)  # pyright: ignore[reportPrivateUsage]
    assert len(shellparse.REMEMBERED) == shellparse.REMEMBERED_MAX
    assert counted


def test_a_parser_that_broke_is_not_believed_a_second_time(
    counted: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "run", lambda *_, **__: children.Printed(b"", b"", True))
    assert shellparse.Parser().tree("echo > f") is None
    monkeypatch.undo()
    assert shellparse.can_parse()
    assert not counted

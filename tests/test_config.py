"""The environment and the pointer file: what is read, what is refused, and where state lives."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from clearway import config
from clearway.clock import Clock
from clearway.config import POINTER, Caller, Settings
from clearway.errors import Refusal

ID = "01J8ZQ4X6W1V5T9R3N7M2K0HBC"


def test_a_pointer_is_read_as_it_is_written(tmp_path: Path) -> None:
    assert config.read_pointer(str(tmp_path)) is None
    (tmp_path / POINTER).write_text(config.pointer_text(ID))

    assert config.read_pointer(str(tmp_path)) == ID


@pytest.mark.parametrize(
    "content",
    [
        f'{{"project_id":"{ID}","version":1}}',
        f'\ufeff{{ "version" : 1 ,\n"project_id": "{ID}" }}\n\n',
    ],
)
def test_the_order_and_spaces_of_a_pointer_are_free(tmp_path: Path, content: str) -> None:
    (tmp_path / POINTER).write_text(content, encoding="utf-8")

    assert config.read_pointer(str(tmp_path)) == ID


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"not json",
        b"\xff\xfe",
        f'{{"version": 1, "project_id": "{ID}"}} x'.encode(),
        f'{{"version": 1, "project_id": "{ID}", "name": "x"}}'.encode(),
        f'{{"project_id": "{ID}"}}'.encode(),
        b'{"version": 1}',
        f'{{"version": 2, "project_id": "{ID}"}}'.encode(),
        f'{{"version": 0, "project_id": "{ID}"}}'.encode(),
        f'{{"version": "1", "project_id": "{ID}"}}'.encode(),
        f'{{"version": true, "project_id": "{ID}"}}'.encode(),
        f'{{"version": 1.0, "project_id": "{ID}"}}'.encode(),
        f'{{"version": null, "project_id": "{ID}"}}'.encode(),
        f'{{"version": 1, "version": 1, "project_id": "{ID}"}}'.encode(),
        f'{{"version": 1, "project_id": "{ID}", "project_id": "{ID}"}}'.encode(),
        f'{{"version": 1, "project\\u005fid": "{ID}", "project_id": "{ID}"}}'.encode(),
        f'{{"version": 1, "project_id": "{ID.lower()}"}}'.encode(),
        f'{{"version": 1, "project_id": "{ID[:-1]}"}}'.encode(),
        f'{{"version": 1, "project_id": "{ID}0"}}'.encode(),
        f'{{"version": 1, "project_id": "{ID[:-1]}I"}}'.encode(),
        f'{{"version": 1, "project_id": "8{ID[1:]}"}}'.encode(),
        b'{"version": 1, "project_id": 7}',
        b'{"version": 1, "project_id": "../../../etc"}',
        b" " * 5_000 + f'{{"version": 1, "project_id": "{ID}"}}'.encode(),
        b"[" * 3_000,
    ],
)
def test_a_pointer_that_says_anything_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / POINTER).write_bytes(content)

    with pytest.raises(Refusal) as caught:
        config.read_pointer(str(tmp_path))

    assert caught.value.code == "INVALID_PROJECT_IDENTITY"
    assert str(tmp_path / POINTER) in caught.value.message


def test_a_pointer_is_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(config.pointer_text(ID))
    (tmp_path / POINTER).symlink_to("real")
    with pytest.raises(Refusal) as caught:
        config.read_pointer(str(tmp_path))
    assert caught.value.code == "INVALID_PROJECT_IDENTITY"

    (tmp_path / POINTER).unlink()
    (tmp_path / POINTER).mkdir()
    with pytest.raises(Refusal):
        config.read_pointer(str(tmp_path))


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({"CLEARWAY_HOME": "/state", "HOME": "/home/me"}, "/state"),
        ({"CLEARWAY_HOME": "/state/../other/"}, "/other"),
    ],
)
def test_the_home_is_what_the_environment_says(environ: dict[str, str], home: str) -> None:
    assert config.home(environ) == home


@pytest.mark.skipif(not config.platforms.LINUX, reason="other systems have other places")
@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({"HOME": "/home/me"}, "/home/me/.local/share/clearway"),
        ({"HOME": "/home/me", "XDG_DATA_HOME": "/data"}, "/data/clearway"),
        ({"HOME": "/home/me", "XDG_DATA_HOME": "relative"}, "/home/me/.local/share/clearway"),
        ({"HOME": "/home/me", "CLEARWAY_HOME": ""}, "/home/me/.local/share/clearway"),
        ({"XDG_DATA_HOME": "/data"}, "/data/clearway"),
    ],
)
def test_without_a_choice_the_home_is_where_this_system_keeps_data(environ: dict[str, str], home: str) -> None:
    assert config.home(environ) == home


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"CLEARWAY_HOME": ""}])
def test_without_any_home_there_is_one_clear_line(environ: dict[str, str]) -> None:
    with pytest.raises(Refusal) as caught:
        config.home(environ)

    assert caught.value.code == "STORAGE_CONFIGURATION"
    assert "HOME" in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("value", "on"),
    [
        ("1", True),
        ("true", True),
        (" Yes ", True),
        ("ON", True),
        ("0", False),
        ("", False),
        ("no", False),
        ("2", False),
    ],
)
def test_a_switch_is_on_by_the_usual_words(value: str, *, on: bool) -> None:
    assert config.flag({"CLEARWAY_OFF": value}, "CLEARWAY_OFF") is on
    assert Settings({"HOME": "/h", "CLEARWAY_FAIL_CLOSED": value}).fail_closed is on
    assert Settings({"HOME": "/h", "AGENT_LEASE_FAIL_CLOSED": value}).fail_closed is on


def test_a_secret_is_made_once_and_read_by_all(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    made: list[bytes] = []
    threads = [threading.Thread(target=lambda: made.append(config.secret(home, Clock()))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 16
    assert len(set(made)) == 1
    assert len(made[0]) == 32
    assert [file.name for file in (tmp_path / "home").iterdir()] == ["secret"]
    assert config.secret(home, Clock()) == made[0]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_secret_of_another_length_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret").write_bytes(content)

    with pytest.raises(Refusal) as caught:
        config.secret(str(tmp_path), Clock())

    assert caught.value.code == "STORAGE_CONFIGURATION"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("claude-code", "claude-code"),
        ("Claude Code 2", "Claude-Code-2"),
        ("../../etc", "etc"),
        ("..", "agent"),
        ("é", "agent"),
        ("-x", "x"),
        ("a" * 80, "a" * 64),
        ("", "agent"),
        ("a\nb", "a-b"),
    ],
)
def test_a_name_is_cut_to_what_a_name_may_be(text: str, name: str) -> None:
    assert config.agent_name(text) == name


@pytest.mark.parametrize("name", ["claude-code", "A", "0", "a.b_c-d", "a" * 64])
def test_a_name_that_fits_is_taken(name: str) -> None:
    assert config.check_name(name) == name


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("human", "RESERVED_NAME"),
        ("system", "RESERVED_NAME"),
        ("clearway", "RESERVED_NAME"),
        ("*", "RESERVED_NAME"),
        ("", "INVALID_ARGUMENT"),
        ("-a", "INVALID_ARGUMENT"),
        ("a b", "INVALID_ARGUMENT"),
        ("a" * 65, "INVALID_ARGUMENT"),
        ("é", "INVALID_ARGUMENT"),
        ("a\n", "INVALID_ARGUMENT"),
    ],
)
def test_a_name_that_does_not_fit_or_is_reserved_is_refused(name: str, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        config.check_name(name)

    assert caught.value.code == code


def test_a_session_is_what_the_environment_names_first() -> None:
    assert config.session_from({}) == ""
    assert config.session_from({"CODEX_THREAD_ID": "t", "CLAUDE_CODE_SESSION_ID": "c"}) == "c"
    assert config.session_from({"CLEARWAY_SESSION": "mine", "CLAUDE_CODE_SESSION_ID": "c"}) == "mine"
    assert config.session_from({"CLEARWAY_SESSION": "x" * 300}) == "x" * 256


@pytest.mark.parametrize(
    ("environ", "pid"),
    [
        ({}, None),
        ({"CLAUDE_PID": "42"}, 42),
        ({"CLEARWAY_PID": "7", "CLAUDE_PID": "42"}, 7),
        ({"CLAUDE_PID": "-1"}, None),
        ({"CLAUDE_PID": "x"}, None),
        ({"CLAUDE_PID": "٣"}, None),
        ({"CLAUDE_PID": "²"}, None),
        ({"CLAUDE_PID": "9" * 5_000}, None),
    ],
)
def test_a_process_is_what_the_environment_names(environ: dict[str, str], pid: int | None) -> None:
    assert config.pid_from(environ) == pid


def test_a_name_without_a_session_is_a_holder_of_its_host() -> None:
    assert Caller("release", host="h").key == "=release@h"
    assert Caller("release", host="h").named
    assert Caller("release", "s1", host="h").key == "s1"

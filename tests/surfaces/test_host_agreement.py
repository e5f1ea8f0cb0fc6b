"""What hooks promise, promised again by a host: every test of the hook, answered by a resident process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest
from tests.surfaces import test_hooks
from tests.surfaces.hosted import Hosted, hosted

from clearway import config
from clearway.surfaces import hooks
from clearway.surfaces.faststep import TOLD

_MAY_BE_LEFT_TO_THE_HOOK = 0.25

for _name, _thing in vars(test_hooks).items():
    if _name not in globals():  # its tests, and what they need
        globals()[_name] = _thing

_asked: dict[str, int] = {"answered": 0, "left": 0}


@pytest.fixture(autouse=True)
def a_host_answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand between a test and the hook: the host is asked first, as the fast step does."""
    alone = hooks.answer
    with ExitStack() as stack:
        hosts: dict[str, Hosted] = {}

        def answer(client: str, raw: bytes, environ: Mapping[str, str]) -> tuple[str, str, int]:
            try:
                home = config.home(environ)
                if home not in hosts and os.path.isdir(home):
                    known = {
                        name: value for name, value in environ.items() if name in ("HOME", "PATH", "CLEARWAY_HOME")
                    }
                    hosts[home] = stack.enter_context(hosted(known))
            except Exception:  # no home: no host
                return alone(client, raw, environ)
            told = {name: value for name, value in environ.items() if name.encode().startswith(TOLD)}
            asks = home in hosts and len(raw) < 1_048_576
            said = hosts[home].hook(client, raw, told) if asks else None
            _asked["left" if said is None else "answered"] += 1
            return alone(client, raw, environ) if said is None else (said.out, said.err, said.code)

        monkeypatch.setattr(hooks, "answer", answer)
        yield


def test_the_host_was_there_and_answered() -> None:
    """Run after all of them: an agreement with oneself proves nothing."""
    assert _asked["answered"] > 50
    assert _asked["left"] < _MAY_BE_LEFT_TO_THE_HOOK * _asked["answered"], _asked

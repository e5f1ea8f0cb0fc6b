"""How rooms are made is what is tested here."""

from __future__ import annotations

import pytest
from tests.recycled import AS_EVER, Spares


@pytest.fixture(autouse=True)
def _made_as_ever(spares: Spares, monkeypatch: pytest.MonkeyPatch) -> None:
    for engine, name, makes in AS_EVER:
        monkeypatch.setattr(engine, name, makes)

"""The tokens that let clients in at `clearway serve`.

A token is shown once, when it is made. Kept are its name, the hash of it, what it is good for, since and until when, in
a file that only this user can read; a token that is revoked or over opens nothing from the next request on.
"""

from __future__ import annotations

import hmac
import os
from base64 import urlsafe_b64encode
from typing import Any

from clearway import platforms, wire
from clearway.clock import Clock
from clearway.errors import Refusal
from clearway.limits import HTTP_TOKENS_MAX

SCOPES = ("read", "agent", "human")  # only looks; acts as an agent; also decides as the person does
AGENT = "agent"
_FILE_BYTES_MAX = 262_144


class Tokens:
    """The tokens of one home."""

    def __init__(self, home: str, clock: Clock) -> None:
        self._file = os.path.join(home, "http-tokens")
        self._clock = clock
        self._stamp: tuple[int, int] | None = None
        self._known: dict[str, dict[str, Any]] = {}

    def listed(self) -> dict[str, dict[str, Any]]:
        """By their names: hash, scope, since and until when (wall ms)."""
        try:
            facts = os.stat(self._file)
        except FileNotFoundError:
            return {}
        stamp = facts.st_mtime_ns, facts.st_ino
        if stamp != self._stamp:
            self._known, self._stamp = self._read(), stamp
        return self._known

    def create(self, name: str, scope: str = AGENT, lasts_ms: int | None = None) -> str:
        known = dict(self.listed())
        if name in known:
            raise Refusal("INVALID_ARGUMENT", f"There is a token {name} already; revoke it, or choose another name.")
        if len(known) >= HTTP_TOKENS_MAX:
            raise Refusal("LIMIT_EXCEEDED", f"There are {HTTP_TOKENS_MAX} tokens; revoke those that nobody uses.")
        made = "cw_" + urlsafe_b64encode(self._clock.random(32)).rstrip(b"=").decode()
        now = self._clock.wall()
        token: dict[str, Any] = {"hash": _hash(made), "scope": scope, "since": now}
        self._write(known | {name: token if lasts_ms is None else token | {"until": now + lasts_ms}})
        return made

    def revoke(self, name: str) -> bool:
        known = dict(self.listed())
        if known.pop(name, None) is None:
            return False
        self._write(known)
        return True

    def scope_of(self, token: str) -> str:
        """What this is good for, empty if it opens nothing. Every one is compared, so that time tells nothing."""
        given, now = _hash(token), self._clock.wall()
        fits = [each for each in self.listed().values() if hmac.compare_digest(each["hash"], given)]
        return "".join(each.get("scope", AGENT) for each in fits[:1] if each.get("until", now + 1) > now)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            with open(self._file, "rb") as file:
                told: Any = wire.loads(file.read(_FILE_BYTES_MAX))
        except (OSError, ValueError):
            told = None
        if not wire.is_object(told) or not all(
            wire.is_object(each) and isinstance(each.get("hash"), str) and isinstance(each.get("since"), int)
            for each in told.values()
        ):
            raise Refusal("STORAGE_CORRUPT", f"{self._file} cannot be read; remove it and make the tokens anew.")
        return told

    def _write(self, known: dict[str, dict[str, Any]]) -> None:
        platforms.make_private(os.path.dirname(self._file))
        platforms.write_private(self._file, wire.dumps(known).encode(), lasting=True)


def _hash(token: str) -> str:
    return platforms.digest(token.encode("utf-8", "surrogatepass"))

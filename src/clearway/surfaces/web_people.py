"""Who is logged in at the web room of a host: tickets that a person was given, and the sessions they were changed for.

A ticket is good once and for a few minutes. A session has two halves: a cookie that no script can read, and a key that
the page alone keeps and shows with each question; cookies know no ports, so the cookie alone would also be shown to
whatever else listens on this machine. Only hashes are kept, in a file of this user's, so a session outlives its host.
"""

from __future__ import annotations

import hmac
import threading
from base64 import urlsafe_b64encode
from typing import Any

from clearway import platforms, wire
from clearway.clock import Clock
from clearway.errors import Refusal
from clearway.limits import (
    WEB_LOGINS_REFUSED_MAX,
    WEB_LOGINS_REFUSED_MS,
    WEB_SESSION_IDLE_MS,
    WEB_SESSION_MS,
    WEB_SESSIONS_MAX,
    WEB_TICKET_MS,
    WEB_TICKETS_MAX,
)

_NOTED_EVERY_MS = 10 * 60_000
_OLD_HALVES_MS = 60_000  # so long after a renewal other tabs may still show the halves of before


class Session:
    """One browser: hashes of both halves, since when it is logged in, and when it asked last (wall ms)."""

    __slots__ = ("cookie", "key", "seen", "since", "until")

    def __init__(self, cookie: str, key: str, since: int, seen: int, until: int = 0) -> None:
        self.cookie = cookie
        self.key = key
        self.since = since
        self.seen = seen
        self.until = until  # a session that was renewed is over then; 0: it was not

    def is_over(self, now: int) -> bool:
        if self.until and now >= self.until:
            return True
        return now - self.since >= WEB_SESSION_MS or now - self.seen >= WEB_SESSION_IDLE_MS or self.since > now + 60_000


class People:
    """All who may see the rooms of one home in a browser. For any thread."""

    def __init__(self, file: str, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._tickets: dict[str, int] = {}
        self._refused: list[int] = []
        self._sessions = self._read()
        self._noted = 0

    def ticket(self) -> str:
        """A word that lets one browser in, once and soon."""
        with self._lock:
            now = self._clock.wall()
            self._tickets = {known: until for known, until in self._tickets.items() if until > now}
            while len(self._tickets) >= WEB_TICKETS_MAX:
                self._tickets.pop(next(iter(self._tickets)))
            made = self._secret()
            self._tickets[_hash(made)] = now + WEB_TICKET_MS
            return made

    def log_in(self, ticket: str) -> tuple[str, str]:
        """The two halves of a new session. UNAUTHORIZED for a ticket that is not, or is no longer, good; RATE_LIMITED
        when too many of those were shown lately."""
        with self._lock:
            now = self._clock.wall()
            until = self._tickets.pop(_hash(ticket), 0)
            if until > now:
                return self._begin(now)
            self._refused = [at for at in self._refused if 0 <= now - at < WEB_LOGINS_REFUSED_MS]
            if len(self._refused) >= WEB_LOGINS_REFUSED_MAX:
                raise Refusal("RATE_LIMITED", "Too many wrong tickets were shown; wait a minute.")
            self._refused.append(now)
            raise Refusal(
                "UNAUTHORIZED", "This link was used already, or is too old; clearway web --open makes a new one."
            )

    def knows(self, cookie: str, key: str) -> bool:
        """Whether somebody who shows these halves is logged in."""
        if not cookie or not key:
            return False
        with self._lock:
            now = self._clock.wall()
            session = self._of(cookie)
            if session is None or not hmac.compare_digest(session.key, _hash(key)):
                return False
            if session.is_over(now):
                self._sessions.pop(session.cookie, None)
                self._write()
                return False
            session.seen = now
            if now - self._noted >= _NOTED_EVERY_MS:
                self._write()
            return True

    def renew(self, cookie: str) -> tuple[str, str]:
        """New halves for a session. The old ones are good for a moment: other tabs may just be asking."""
        with self._lock:
            now = self._clock.wall()
            session = self._of(cookie)
            if session is None or session.until:
                raise Refusal("UNAUTHORIZED", "This session was renewed or has ended; clearway web --open logs in.")
            session.until = now + _OLD_HALVES_MS
            return self._begin(now, since=session.since)

    def log_out(self, cookie: str) -> None:
        with self._lock:
            session = self._of(cookie)
            if session is not None:
                del self._sessions[session.cookie]
                self._write()

    def log_out_all(self) -> int:
        """End every session and every ticket. How many sessions there were."""
        with self._lock:
            count = len(self._sessions)
            self._sessions.clear()
            self._tickets.clear()
            self._write()
            return count

    def _begin(self, now: int, since: int | None = None) -> tuple[str, str]:
        cookie, key = self._secret(), self._secret()
        self._sessions = {known: session for known, session in self._sessions.items() if not session.is_over(now)}
        while len(self._sessions) >= WEB_SESSIONS_MAX:
            del self._sessions[min(self._sessions, key=lambda known: self._sessions[known].seen)]
        made = Session(_hash(cookie), _hash(key), now if since is None else since, now)
        self._sessions[made.cookie] = made
        self._write()
        return cookie, key

    def _of(self, cookie: str) -> Session | None:
        return self._sessions.get(_hash(cookie))

    def _secret(self) -> str:
        return urlsafe_b64encode(self._clock.random(32)).rstrip(b"=").decode()

    def _read(self) -> dict[str, Session]:
        try:
            with open(self._file, "rb") as file:
                told: Any = wire.loads(file.read(262_144))
        except (OSError, ValueError):
            return {}
        found: dict[str, Session] = {}
        for each in told if wire.is_list(told) else []:
            if wire.is_list(each) and [type(part) for part in each] == [str, str, int, int, int]:
                found[each[0]] = Session(*each)
        return found

    def _write(self) -> None:
        """Keep what is known for the next host. One that cannot be written is known until this one leaves."""
        self._noted = self._clock.wall()
        told = [[one.cookie, one.key, one.since, one.seen, one.until] for one in self._sessions.values()]
        try:
            platforms.write_private(self._file, wire.dumps(told).encode())
        except OSError:
            pass


def _hash(secret: str) -> str:
    return platforms.digest(secret.encode("utf-8", "surrogatepass"))

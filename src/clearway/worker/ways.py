"""The ways by which a person is told of something outside of the room: Telegram, a webhook, a program of one's own.

What a way needs comes from the environment and is shown nowhere: neither a token nor an address stands in what is said
of a failure. Nothing is sent after a redirect. A way that asks for a rest is given it.
"""

from __future__ import annotations

import http.client
import shlex
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clearway import wire
from clearway.errors import Refusal
from clearway.limits import NOTIFY_REST_SECONDS_MAX, NOTIFY_SECONDS_MAX
from clearway.untrusted import folded, redacted

TELEGRAM = "https://api.telegram.org"
SECRETS = ("TELEGRAM_BOT_TOKEN", "TELEGRAM_CHAT_ID", "CLEARWAY_NOTIFY_URL", "CLEARWAY_NOTIFY_TOKEN")
_ANSWER_BYTES = 65_536
_SAID_CHARS = 200
_LIMITED = 75  # a program's exit status: not now


class NotSent(Exception):
    """A text was not taken. `rest`: for so many seconds nothing more should be sent."""

    def __init__(self, said: str, rest: int = 0) -> None:
        super().__init__(said)
        self.said = said
        self.rest = min(max(0, rest), NOTIFY_REST_SECONDS_MAX)


class Way(Protocol):
    @property
    def name(self) -> str: ...

    def send(self, text: str, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Tell it, or raise NotSent."""
        ...


@dataclass(frozen=True)
class Telegram:
    token: str
    chat: str
    base: str
    name: str = "telegram"

    def send(self, text: str, alerts: Sequence[Mapping[str, Any]]) -> None:
        body = {"chat_id": self.chat, "text": text, "link_preview_options": {"is_disabled": True}}
        status, after, answer = _post(f"{self.base.rstrip('/')}/bot{self.token}/sendMessage", body, {}, self.name)
        said: Any = _loaded(answer)
        if status == 200 and not (wire.is_object(said) and said.get("ok") is False):
            return
        wanted: Any = said.get("parameters") if wire.is_object(said) else None
        rest = wanted.get("retry_after") if wire.is_object(wanted) else None
        why = said.get("description") if wire.is_object(said) else ""
        shown = folded(redacted(str(why or "no reason")).replace(self.token, "***"), _SAID_CHARS)
        raise NotSent(f"telegram answered {status}: {shown}", rest if isinstance(rest, int) else after)


@dataclass(frozen=True)
class Webhook:
    url: str
    token: str = ""
    name: str = "webhook"

    def send(self, text: str, alerts: Sequence[Mapping[str, Any]]) -> None:
        shown = [{**each, "text": redacted(str(each["text"]))} for each in alerts]
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        status, after, _ = _post(self.url, {"text": text, "alerts": shown}, headers, self.name)
        if not 200 <= status < 300:
            raise NotSent(f"the webhook answered {status}", after)


@dataclass(frozen=True)
class Program:
    words: tuple[str, ...]
    environ: Mapping[str, str]
    name: str = "command"

    def send(self, text: str, alerts: Sequence[Mapping[str, Any]]) -> None:
        """The text on stdin; never through a shell, and without the secrets of the other ways."""
        environ = {name: value for name, value in self.environ.items() if name not in SECRETS}
        try:
            done = subprocess.run(
                list(self.words),
                check=False,
                input=text.encode("utf-8", "replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environ,
                timeout=3 * NOTIFY_SECONDS_MAX,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise NotSent(f"the command did not run ({type(error).__name__})") from None
        if done.returncode:
            complaint = done.stderr.decode("utf-8", "replace")
            rest = _seconds(complaint.lower().rpartition("retry-after:")[2].split("\n")[0])
            shown = folded(redacted(complaint), _SAID_CHARS)
            raise NotSent(
                f"the command ended with {done.returncode}: {shown}", rest if done.returncode == _LIMITED else 0
            )


def of(environ: Mapping[str, str]) -> list[Way]:
    """The ways that this environment offers."""
    ways: list[Way] = []
    token, chat = environ.get("TELEGRAM_BOT_TOKEN", ""), environ.get("TELEGRAM_CHAT_ID", "")
    if bool(token) != bool(chat):
        absent = "TELEGRAM_CHAT_ID" if token else "TELEGRAM_BOT_TOKEN"
        raise Refusal("INVALID_ARGUMENT", f"notify: for Telegram {absent} is needed, too.")
    if token:
        ways.append(
            Telegram(token, chat, _checked(environ.get("CLEARWAY_TELEGRAM_URL") or TELEGRAM, "CLEARWAY_TELEGRAM_URL"))
        )
    url = environ.get("CLEARWAY_NOTIFY_URL", "")
    if url:
        ways.append(Webhook(_checked(url, "CLEARWAY_NOTIFY_URL"), environ.get("CLEARWAY_NOTIFY_TOKEN", "")))
    command = environ.get("CLEARWAY_NOTIFY_COMMAND", "")
    if command:
        ways.append(Program(_words(command), environ))
    return ways


def _checked(address: str, variable: str) -> str:
    """Secrets travel over TLS, or to this machine."""
    from clearway import policy

    if "://" not in address or not policy.is_safe_address(address):
        raise Refusal(
            "INVALID_ARGUMENT", f"notify: {variable} must be https://..., or http:// and an address of this machine."
        )
    return address


def _words(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        words = ()
    if not words:
        raise Refusal("INVALID_ARGUMENT", "notify: CLEARWAY_NOTIFY_COMMAND must be a program and its arguments.")
    return words


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _post(url: str, body: Mapping[str, Any], headers: Mapping[str, str], name: str) -> tuple[int, int, bytes]:
    """The status, for how many seconds to rest, and the answer. What went wrong is told without the address."""
    request = urllib.request.Request(
        url, wire.dumps(body).encode(), {"Content-Type": "application/json", "User-Agent": "clearway", **headers}
    )
    proxies = urllib.request.ProxyHandler(
        {} if url.startswith("http://") else None
    )  # in the clear to this machine only
    opener = urllib.request.build_opener(_NoRedirect, proxies)
    try:
        with opener.open(request, timeout=NOTIFY_SECONDS_MAX) as answer:
            return answer.status, _seconds(answer.headers.get("Retry-After")), answer.read(_ANSWER_BYTES)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _seconds(error.headers.get("Retry-After")), error.read(_ANSWER_BYTES)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise NotSent(f"{name} could not be reached ({type(reason).__name__})") from None


def _loaded(answer: bytes) -> Any:
    try:
        return wire.loads(answer.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _seconds(given: str | None) -> int:
    text = (given or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0

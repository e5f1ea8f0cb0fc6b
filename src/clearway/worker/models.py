"""A program that asks one model over HTTP one thing: the prompt on stdin, the answer on stdout, no tools.

It speaks the chat completions that OpenRouter and many others take. The key comes from the environment and goes to that
address only: no other one is followed to, and none is spoken to in the clear but this machine. A limit of the provider
is exit status 75, with `Retry-After: N` on stderr where the provider gave a time.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, NoReturn, cast

from clearway.limits import MODEL_ANSWER_BYTES_MAX

OPENROUTER = "https://openrouter.ai/api/v1"
KEY_VARIABLE = "OPENROUTER_API_KEY"
LIMITED = 75
_LIMITS = frozenset({402, 429})
_SECONDS = 900
_HERE = frozenset({"127.0.0.1", "localhost", "::1"})


def check_address(address: str) -> None:
    """Refuse what a key would travel to in the clear."""
    from clearway.errors import Refusal

    parts = urllib.parse.urlsplit(address)
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _HERE)
    if not safe or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise Refusal("INVALID_ARGUMENT", "--base-url must be https://..., or http:// and an address of this machine.")


class _Stay(urllib.request.HTTPRedirectHandler):
    """A key is not carried elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def main(words: list[str], key: str) -> int:
    """words: the address, the model. The exit status."""
    address, model = words
    asked = {"model": model, "messages": [{"role": "user", "content": sys.stdin.read()}]}
    request = urllib.request.Request(
        f"{address.rstrip('/')}/chat/completions",
        data=json.dumps(asked).encode(),
        headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})},
    )
    # No proxy of the environment either: it would be one more who reads along.
    opener = urllib.request.build_opener(_Stay, urllib.request.ProxyHandler({} if _is_here(address) else None))
    try:
        with opener.open(request, timeout=_SECONDS) as answer:
            said = json.loads(answer.read(MODEL_ANSWER_BYTES_MAX))
    except urllib.error.HTTPError as error:
        return _refused(error)
    except (OSError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return _answered(said, model)


def _refused(error: urllib.error.HTTPError) -> int:
    if error.code in _LIMITS:
        after = error.headers.get("Retry-After", "").strip()
        if after:
            print(f"Retry-After: {after}", file=sys.stderr)
        return LIMITED
    print(f"HTTP {error.code}: {error.read(2_000).decode('utf-8', 'replace')}", file=sys.stderr)
    return 1


def _answered(said: Any, model: str) -> int:
    """Some providers tell of an error in an answer that is otherwise in order."""
    wrong = _object(_object(said).get("error"))
    if wrong:
        print(f"error {wrong.get('code')}: {str(wrong.get('message'))[:2_000]}", file=sys.stderr)
        return LIMITED if wrong.get("code") in _LIMITS else 1
    try:
        text = said["choices"][0]["message"]["content"]
    except (LookupError, TypeError):
        text = None
    if not isinstance(text, str):
        print("the answer holds no text", file=sys.stderr)
        return 1
    usage = _object(said.get("usage"))
    told: dict[str, Any] = {
        "type": "result",
        "result": text,
        "model": said.get("model") or model,
        "usage": {"input_tokens": usage.get("prompt_tokens"), "output_tokens": usage.get("completion_tokens")},
        **({"total_cost_usd": usage["cost"]} if "cost" in usage else {}),
    }
    print(json.dumps(told))
    return 0


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_here(address: str) -> bool:
    return urllib.parse.urlsplit(address).hostname in _HERE


def _start() -> NoReturn:
    *words, variable = sys.argv[1:]
    sys.exit(main(words, dict(os.environ).get(variable, "")))


if __name__ == "__main__":
    _start()

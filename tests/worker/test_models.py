"""A model without tools, over HTTP: asked once, with a key that goes nowhere else; its limits are typed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.worker.conftest import Office

from clearway.errors import Refusal
from clearway.worker import clients
from clearway.worker.work import Orders, Worker

KEY = "sk-or-0123456789abcdef"


class Provider:
    """A server on this machine that answers as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body: dict[str, Any] = {
            "model": "m-1",
            "choices": [{"message": {"role": "assistant", "content": "Looks right."}}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "cost": 0.001},
        }
        provider = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                asked = json.loads(self.rfile.read(length))
                provider.asked.append({"path": self.path, "key": self.headers.get("Authorization"), "body": asked})
                self.send_response(provider.status)
                for name, value in provider.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(json.dumps(provider.body).encode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


def work(here: Office, provider: Provider) -> None:
    here.environ["OPENROUTER_API_KEY"] = KEY
    worker = here.worker("reviewer", template="none")
    client = clients.of_model(provider.address, "m-1", "OPENROUTER_API_KEY")
    orders = Orders("reviewer", client, once=True)
    assert Worker(worker._rooms, orders, str(here.repo), eyes=worker._eyes, mention=here.said.append).work() == 1  # pyright: ignore[reportPrivateUsage]


def test_a_model_answers_a_task(here: Office, provider: Provider) -> None:
    number = here.task("Review this", to="reviewer")
    work(here, provider)
    assert here.result(number) == f"Task #{number} succeeded: Looks right."
    (asked,) = provider.asked
    assert (asked["path"], asked["key"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert asked["body"]["model"] == "m-1"
    (message,) = asked["body"]["messages"]
    assert message["role"] == "user" and "Review this" in message["content"]


@pytest.mark.parametrize(("status", "headers"), [(429, {"Retry-After": "600"}), (402, {})])
def test_a_limit_of_the_provider_gives_the_task_back(
    here: Office, provider: Provider, status: int, headers: dict[str, str]
) -> None:
    provider.status, provider.headers, provider.body = status, headers, {"error": {"message": "no credits"}}
    number = here.task(to="reviewer")
    work(here, provider)
    assert here.state(number) == "pending"


@pytest.mark.parametrize("status", [400, 401, 500])
def test_another_refusal_is_told_and_no_limit(here: Office, provider: Provider, status: int) -> None:
    provider.status, provider.body = status, {"error": {"message": f"no, {KEY}: 429 quota"}}
    number = here.task(to="reviewer")
    work(here, provider)
    assert here.state(number) == "needs_review"
    assert f"HTTP {status}" in here.result(number)
    assert KEY not in here.result(number)


def test_a_key_is_not_carried_elsewhere(here: Office, provider: Provider) -> None:
    other = Provider()
    try:
        provider.status, provider.headers = 307, {"Location": f"{other.address}/chat/completions"}
        number = here.task(to="reviewer")
        work(here, provider)
        assert here.state(number) == "needs_review"
        assert other.asked == []
    finally:
        other.close()


@pytest.mark.parametrize(
    "address",
    ["http://example.org/v1", "ftp://127.0.0.1", "https://", "https://user:pw@example.org", "127.0.0.1", "file:///etc"],
)
def test_a_key_does_not_travel_in_the_clear(address: str) -> None:
    with pytest.raises(Refusal, match="--base-url"):
        clients.of_model(address, "m", "OPENROUTER_API_KEY")

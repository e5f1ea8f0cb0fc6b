"""A classifier of commands for Clearway, over HTTP on this machine: an example to start from.

It answers one POST with one JSON object, as docs/how-to/danger-gate.md describes. What it knows is a list of words that
this machine's owner wants to be asked about; put a model, a rule engine or a service in the place of `judge`. Nothing
but the standard library:

    python server.py --port 8765 --block deploy --block 'npm publish'
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUESTION_BYTES_MAX = 65_536


def judge(command: str, blocked: list[str]) -> dict[str, str]:
    """`allow` or `block`, and why."""
    words = " ".join(command.split())
    for phrase in blocked:
        if phrase in words:
            return {"verdict": "block", "reason": f"{phrase} is done by people here"}
    return {"verdict": "allow"}


class Answers(BaseHTTPRequestHandler):
    """One question a request. It sees redacted commands only, and keeps none."""

    blocked: list[str] = []

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 < size <= QUESTION_BYTES_MAX:
            self.send_error(413)
            return
        try:
            question: Any = json.loads(self.rfile.read(size))
            reply = json.dumps(judge(question["command"], self.blocked)).encode()
        except (ValueError, KeyError, TypeError, AttributeError):
            self.send_error(400)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:  # its name in the standard library
        """Commands are nobody else's business: no log."""


def serve(port: int, blocked: list[str]) -> ThreadingHTTPServer:
    """A server on the loopback interface only; port 0 takes a free one."""
    handler = type("Configured", (Answers,), {"blocked": blocked})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main() -> None:
    parser = argparse.ArgumentParser(description="A classifier of commands for Clearway.")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--block", action="append", default=[], metavar="WORDS")
    asked = parser.parse_args()
    server = serve(asked.port, asked.block)
    print(f'classifier_address = "http://127.0.0.1:{server.server_address[1]}/"', flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()

"""A plain request to `/mcp`, read without the web server: what a client sends all day, whole and without a question.

The web server reads everything that may stand in a request, and costs more than most answers. This recognises the form
that clients use; at anything else, and at any doubt, it says that it is not plain, and the web server reads it anew.
"""

from __future__ import annotations

_BEGIN = b"POST /mcp"
_HEAD_BYTES_MAX = 8_192
_BODY_BYTES_MAX = 262_144
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
# What changes how the rest is read, or how the connection goes on.
_NOT_PLAIN = frozenset({"transfer-encoding", "expect", "upgrade", "te", "trailer", "cookie", "origin"})


class Plain:
    """What was asked. missing: how many bytes of the body are still to come."""

    __slots__ = ("body", "headers", "missing", "query")

    def __init__(self, query: str, headers: dict[str, str], body: bytes, missing: int) -> None:
        self.query = query
        self.headers = headers
        self.body = body
        self.missing = missing

    @property
    def scope(self) -> dict[str, object]:
        """As the web server would have it."""
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        return {"method": "POST", "path": "/mcp", "headers": headers, "query_string": self.query.encode()}


def plain(data: bytes) -> Plain | None:
    """The request that begins here, if it is plain and nothing comes after it."""
    if not data.startswith(_BEGIN):
        return None
    end = data.find(b"\r\n\r\n", 0, _HEAD_BYTES_MAX)
    if end < 0 or not data[:end].isascii():
        return None
    first, *lines = data[:end].decode("ascii").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[2] != "HTTP/1.1" or not first.isprintable():
        return None
    path, _, query = words[1].partition("?")
    headers = _headers(lines)
    if path != "/mcp" or headers is None or headers.get("connection", "keep-alive").lower() != "keep-alive":
        return None
    size = headers.get("content-length", "")
    if not size.isdigit() or len(size) > 9 or int(size) > _BODY_BYTES_MAX:
        return None
    body = data[end + 4 :]
    missing = int(size) - len(body)
    return Plain(query, headers, body, missing) if missing >= 0 else None


def _headers(lines: list[str]) -> dict[str, str] | None:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not name or name in headers or not _NAME.issuperset(name) or not value.isprintable():
            return None
        headers[name] = value.strip(" ")
    return None if not _NOT_PLAIN.isdisjoint(headers) else headers

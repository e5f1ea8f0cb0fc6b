"""The files of the web room as a browser is given them: plain, with a tag that spares asking for what it has.

They hold nobody's data, so whoever reaches this host may have them. The headers let the page load nothing but them,
ask nobody but this host, and be shown inside no other page.
"""

from __future__ import annotations

import gzip
import os

from clearway import platforms

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "web")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types clearway-layout"  # it names one file, the worker that lays out the graph (arrange.mjs)
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
}
Page = tuple[int, str, bytes, dict[str, str]]  # status, content type, body, further headers


class _File:
    __slots__ = ("body", "changed", "kind", "small", "tag")

    def __init__(self, path: str, changed: tuple[int, int]) -> None:
        with open(path, "rb") as file:
            self.body = file.read()
        self.small = gzip.compress(self.body, 9, mtime=0)
        self.kind = _KINDS[os.path.splitext(path)[1]]
        self.tag = f'"{platforms.digest(self.body)[:20]}"'
        self.changed = changed


_files: dict[str, _File] = {}


def page(path: str, known: str, encodings: str) -> Page | None:
    """A file by its address, None where there is none. known: the tag that the browser has."""
    name = "index.html" if path == "/" else path.removeprefix("/web/") if path.startswith("/web/") else ""
    file = _found(name)
    if file is None:
        return None
    stays = "/vendor/" in path  # a version stands in these names
    more = {
        **HEADERS,
        "ETag": file.tag,
        "Vary": "Accept-Encoding",
        "Cache-Control": "public, max-age=31536000, immutable" if stays else "no-cache",
    }
    if file.tag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
        return 304, file.kind, b"", more
    if "gzip" in encodings:
        return 200, file.kind, file.small, {**more, "Content-Encoding": "gzip"}
    return 200, file.kind, file.body, more


def _found(name: str) -> _File | None:
    parts = name.split("/")
    if not name or any(part in ("", ".", "..") or part.startswith(".") or "\\" in part for part in parts):
        return None
    if os.path.splitext(name)[1] not in _KINDS:
        return None
    path = os.path.join(FOLDER, *parts)
    try:
        facts = os.stat(path)
        changed = (facts.st_mtime_ns, facts.st_size)
        known = _files.get(name)
        if known is None or known.changed != changed:
            known = _files[name] = _File(path, changed)
    except (OSError, ValueError):
        return None
    return known

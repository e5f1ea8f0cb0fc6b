"""A report as one document: headings, sentences, tables and a drawing; as plain text, as Markdown, or as one HTML file
that stands alone, without a script and without anything from a network.

Whatever stands in it was written by anybody. Each way of writing folds every text to one line and takes from its signs
what they could mean there, so no title can forge a heading, a link, a mention or a tag.
"""

from __future__ import annotations

import os

from clearway import wire
from clearway.errors import Refusal
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.render import Paper
from clearway.untrusted import escaped, folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

FORMATS = ("text", "markdown", "html", "json")
_BY_ENDING = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json"}
_CHARS = 2_000  # of one text
_MEANS_SOMETHING = frozenset("\\`*_[]#|~$")
# What Markdown, or a forge that shows it, makes a tag, an entity or a mention of.
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#60646c;--line:#d9dce1;--paper:#fff;--band:#f4f5f7}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#9ba1a8;--line:#363b42;--paper:#16181b;--band:#1f2226}}
body{margin:0 auto;max-width:70rem;padding:1.5rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0 0 .25rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.25rem 0}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .75rem .3rem 0;
border-bottom:1px solid var(--line);overflow-wrap:break-word}th{color:var(--soft);font-weight:500;white-space:nowrap}
td:first-child{white-space:nowrap;width:5.5rem}.wide{overflow-x:auto}svg{max-width:100%;height:auto}
.node rect{fill:var(--band);stroke:var(--line)}.node text{fill:var(--ink);font:12px system-ui,sans-serif}
.node .soft{fill:var(--soft);font-size:11px}.edge{fill:none;stroke:var(--soft)}
.in_progress rect{stroke:#0b76d1;stroke-width:2}.review rect{stroke:#8a4bd1;stroke-width:2}
.blocked rect{stroke:#cf3b3b;stroke-width:2}.ready rect{stroke:#2b8a4b;stroke-width:2}
@media print{body{max-width:none;padding:0}}
""".replace("\n", "")


class Html(str):
    """HTML of our own, with nothing of others in it that was not made harmless."""

    __slots__ = ()


class Heading(str):
    """A line that says what follows."""

    __slots__ = ()


class Sentence(str):
    """A line."""

    __slots__ = ()


class Table:
    """Rows below their headings; columns that are empty throughout are left out."""

    def __init__(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        used = [place for place, _ in enumerate(heads) if any(row[place] for row in rows)]
        self.heads = [heads[place] for place in used]
        self.rows = [[row[place] for place in used] for row in rows]


Part = Heading | Sentence | Table | Html


class Document:
    """One report, part by part."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[Part] = []

    def head(self, text: str) -> None:
        self._parts.append(Heading(text))

    def say(self, text: str) -> None:
        self._parts.append(Sentence(text))

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        if rows:
            self._parts.append(Table(heads, rows))

    def picture(self, drawn: Html) -> None:
        """A drawing, for those who can see one; what it shows should be said elsewhere, too."""
        if drawn:
            self._parts.append(drawn)

    def written(self, form: str, paper: Paper) -> str:
        """All of it in one of FORMATS but json."""
        if form == "html":
            return self._as_html()
        return self._as_markdown() if form == "markdown" else self._as_text(paper)

    def _as_text(self, paper: Paper) -> str:
        lines = [paper.flowed(folded(self.title, _CHARS))]
        for part in self._parts:
            match part:
                case Heading():
                    lines += ["", paper.flowed(folded(part, _CHARS))]
                case Sentence():
                    lines.append(paper.flowed(folded(part, _CHARS)))
                case Table():
                    rows = [[folded(cell, _CHARS) for cell in row] for row in part.rows]
                    lines.append(paper.table([head.upper() for head in part.heads], rows))
                case Html():
                    pass
        return "\n".join(lines)

    def _as_markdown(self) -> str:
        lines = [f"# {in_markdown(self.title)}"]
        for part in self._parts:
            match part:
                case Heading():
                    lines += ["", f"## {in_markdown(part)}"]
                case Sentence():
                    lines += ["", in_markdown(part)]
                case Table():
                    rows = [[in_markdown(cell) for cell in row] for row in part.rows]
                    listed = [part.heads, ["---"] * len(part.heads), *rows]
                    lines += ["", *(f"| {' | '.join(line)} |" for line in listed)]
                case Html():
                    pass
        return "\n".join(lines) + "\n"

    def _as_html(self) -> str:
        title = in_html(self.title)
        parts = [f"<h1>{title}</h1>"]
        for part in self._parts:
            match part:
                case Heading():
                    parts.append(f"<h2>{in_html(part)}</h2>")
                case Sentence():
                    parts.append(f"<p>{in_html(part)}</p>")
                case Table():
                    parts.append(_html_table(part))
                case Html():
                    parts.append(f'<div class="wide">{part}</div>')
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        top = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{_STYLE}</style></head><body>"
        )
        return "\n".join([top, *parts, "</body></html>\n"])


def in_html(text: str, chars: int = _CHARS) -> str:
    """A text of others inside an element, or inside quotes of an attribute."""
    from html import escape  # a board in the terminal needs it not, and does not pay for it

    return escape(folded(text, chars))


def in_markdown(text: str, chars: int = _CHARS) -> str:
    """A text of others on one line of Markdown, also in a table: every sign is only itself there."""
    line = folded(text, chars).replace("://", "\0://").replace("www.", "www\0.")
    bare = line.lstrip("0123456789")
    if bare[:1] in ("-", "+", "=") or (bare != line and bare[:1] in (".", ")")):  # it would begin a list or a heading
        line = line[: len(line) - len(bare)] + "\0" + bare
    return "".join(
        _ENTITIES.get(sign) or (f"\\{sign}" if sign in _MEANS_SOMETHING else "\\" if sign == "\0" else sign)
        for sign in line
    )


def publish(run: Run, document: Document, found: Any, how: str, output: str | None) -> None:
    """Show a report, or write it to a file. found: what it was made from, for programs."""
    if output is None or output == "-":
        if how == "json":
            say_json(found)
        else:
            say(document.written(how, run.paper).rstrip("\n"))
        return
    file = os.path.join(run.folder, os.path.expanduser(output))
    paper = Paper(run.paper.now)  # a file is no terminal
    text = escaped(wire.dumps(found)) if how == "json" else document.written(how, paper).rstrip("\n")
    keep(file, text + "\n")
    size = len(f"{text}\n".encode("utf-8", "backslashreplace"))
    if run.as_json:
        say_json({"output": file, "format": how, "bytes": size})
    else:
        say(f"{folded(file, 1_000)} is written ({how}, {size} bytes).")


def form_of(given: str | None, output: str | None, *, as_json: bool) -> str:
    """In which format to write: as it was said, by the name of the file, else text."""
    if given is None:
        ending = os.path.splitext(output or "")[1].lower()
        return "json" if as_json else _BY_ENDING.get(ending, "text")
    if given not in FORMATS:
        raise Refusal("INVALID_ARGUMENT", f"--format must be one of {', '.join(FORMATS)}.")
    return given


def keep(file: str, text: str) -> None:
    """Write a file whole or not at all; what stood there before is replaced. A link is followed, and a device or a pipe
    is written to."""
    import tempfile

    try:
        if os.path.exists(file) and not os.path.isfile(file):
            with open(file, "w", encoding="utf-8", errors="backslashreplace") as opened:
                opened.write(text)
            return
        file = os.path.realpath(file)
        descriptor, aside = tempfile.mkstemp(prefix=".clearway-", dir=os.path.dirname(file))
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as opened:
                opened.write(text)
            os.replace(aside, file)
        except BaseException:
            os.unlink(aside)
            raise
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a file name"
        raise Refusal("INVALID_ARGUMENT", f"--output: {folded(file, 200)} cannot be written ({why}).") from error


def _html_table(table: Table) -> str:
    top = "".join(f"<th>{in_html(head)}</th>" for head in table.heads)
    lines = ["".join(f"<td>{in_html(cell)}</td>" for cell in row) for row in table.rows]
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table></div>'

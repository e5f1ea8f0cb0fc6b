"""Draws docs/images/story.svg: what `clearway simulate` prints, as a picture for the README.

The text is the real output of a rehearsal, colours included, so the picture cannot promise what the product does not
do. It follows the reader's light or dark setting, and its text can be selected and read aloud.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from clearway.setup.rehearse import rehearse

PICTURE = Path(__file__).resolve().parent / "images" / "story.svg"
LABEL = "What clearway simulate prints in a terminal"
COLUMNS = 80
COLUMN, LINE, BASE, EDGE = 7.83, 18, 13, 20  # pixels
SIGN = re.compile(r"\x1b\[(\d+)m")
CLASSES = {"1": "bold", "2": "dim", "31": "fails", "32": "holds", "35": "first", "36": "second"}
STYLE = """\
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
text { fill: #1f2328 }
.paper { fill: #f6f8fa; stroke: #d1d9e0 }
.bold { font-weight: 700 } .dim { fill: #59636e } .holds { fill: #1a7f37 } .fails { fill: #d1242f }
.first { fill: #8250df } .second { fill: #0b6a86 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .paper { fill: #0d1117; stroke: #3d444d }
  .dim { fill: #9198a1 } .holds { fill: #3fb950 } .fails { fill: #f85149 }
  .first { fill: #d2a8ff } .second { fill: #6bd3ee }
}"""


def main(target: Path = PICTURE) -> None:
    lines: list[str] = []
    if not rehearse(lines.append, colour=True):
        sys.exit("\n".join(["the rehearsal failed, nothing is drawn", *lines]))
    target.parent.mkdir(exist_ok=True)
    target.write_text(drawn(story(lines)), encoding="utf-8")


def story(lines: list[str]) -> list[str]:
    """The story itself, from its first chapter to the count of checks."""
    first = next(place for place, line in enumerate(lines) if line.startswith("\x1b[1m"))
    last = next(place for place, line in enumerate(lines) if "all held" in line)
    return ["\x1b[2m$\x1b[0m clearway simulate", "", *lines[first : last + 1]]


def drawn(lines: list[str]) -> str:
    width, height = round(COLUMNS * COLUMN) + 2 * EDGE, len(lines) * LINE + 2 * EDGE
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    texts = (text(line, EDGE + place * LINE + BASE) for place, line in enumerate(lines) if line)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{LABEL}">',
            f"<style>\n{STYLE}\n</style>",
            f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *texts,
            "</svg>\n",
        ]
    )


def text(line: str, y: int) -> str:
    """One line. Its indentation is a place, not spaces: renderers disagree about those."""
    spans = list(coloured(line))
    first, sign = spans[0]
    indent = len(first) - len(first.lstrip(" "))
    spans[0] = (first[indent:], sign)
    shown = "".join(
        f'<tspan class="{CLASSES[sign]}">{escape(part)}</tspan>' if sign else escape(part) for part, sign in spans
    )
    return f'<text x="{EDGE + indent * COLUMN:g}" y="{y}" xml:space="preserve">{shown}</text>'


def coloured(line: str) -> Iterator[tuple[str, str]]:
    """The parts of a line, each with the sign that colours it, empty for none."""
    sign = ""
    for place, part in enumerate(SIGN.split(line)):
        if place % 2:
            sign = "" if part == "0" else part
        elif part:
            yield part, sign


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

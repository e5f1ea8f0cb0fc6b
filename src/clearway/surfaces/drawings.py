"""What waits for what, as a drawing: issues in columns from left to right, each behind all that it waits for.

An arrow over several columns gets a lane of its own in those between, so that it crosses no box. Plain SVG with
classes, whose colours the page gives. Titles are cut and escaped; nothing in a drawing can be clicked.
"""

from __future__ import annotations

from clearway.surfaces.pages import Html, in_html
from clearway.surfaces.tables import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WIDE, _HIGH = 216, 42
_GAP, _STEP = 56, 12
_LANE = 14  # what an arrow takes that only passes by
_TITLE_COLUMNS = 30
_FACTS_COLUMNS = 34

_Spot = tuple[str, int]  # an issue in its column; or where an arrow from it passes another column
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="gray"/></marker></defs>'
)


def waiting(graph: dict[str, Any]) -> Html:
    """The issues of a graph that block others or wait, with the arrows between them; empty if there are none."""
    known = {node["display_id"]: node for node in graph["nodes"]}
    edges = [(edge["source"], edge["target"]) for edge in graph["edges"] if edge["type"] == "blocks"]
    edges = [(source, target) for source, target in edges if source in known and target in known]
    if not edges:
        return Html("")
    linked = {name for edge in edges for name in edge}
    names = [name for name in known if name in linked]
    column = _columns(names, edges)
    middle = _rows(names, column, edges)
    lines = [_arrow(source, target, column, middle) for source, target in edges]
    lines += [_box(known[name], column[name], middle[name, column[name]]) for name in names]
    wide = max(column.values()) * (_WIDE + _GAP) + _WIDE + 2
    high = max(middle.values()) + _HIGH // 2 + 2
    return Html(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img" aria-label="What waits for what">{_TIP}{"".join(lines)}</svg>'
    )


def _columns(names: list[str], edges: list[tuple[str, str]]) -> dict[str, int]:
    """Each stands one behind the last of what it waits for."""
    column = dict.fromkeys(names, 0)
    for _ in names:  # no path is longer than there are issues
        for source, target in edges:
            column[target] = max(column[target], min(column[source] + 1, len(names)))
    return column


def _rows(names: list[str], column: dict[str, int], edges: list[tuple[str, str]]) -> dict[_Spot, int]:
    """The middle of every spot from above: boxes, and lanes for what passes; near to where their arrows come from."""
    before: dict[_Spot, list[_Spot]] = {(name, column[name]): [] for name in names}
    for source, target in edges:
        last = (source, column[source])
        for place in range(column[source] + 1, column[target]):
            before.setdefault((source, place), [last])
            last = (source, place)
        before[target, column[target]].append(last)
    middle: dict[_Spot, int] = {}
    for place in range(max(column.values()) + 1):
        spots = [spot for spot in before if spot[1] == place]
        below = 1
        for spot in sorted(spots, key=lambda spot: _wish(spot, before, middle)):
            high = _HIGH if column[spot[0]] == place else _LANE
            middle[spot] = below + high // 2
            below += high + _STEP
    return middle


def _wish(spot: _Spot, before: dict[_Spot, list[_Spot]], middle: dict[_Spot, int]) -> float:
    """How far down a spot would best stand: between those that its arrows come from."""
    heights = [middle[each] for each in before[spot] if each in middle]
    return sum(heights) / len(heights) if heights else 0.0


def _box(node: dict[str, Any], column: int, middle: int) -> str:
    x, y = 1 + column * (_WIDE + _GAP), middle - _HIGH // 2
    status = node.get("effective_status", node["status"])
    status = "waiting" if status == "ready" and node.get("open_blockers") else status
    facts = " · ".join(filter(None, [node["display_id"], status.replace("_", " "), node.get("held_by", "")]))
    return (
        f'<g class="node {status}"><rect x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="6"/>'
        f'<text class="soft" x="{x + 10}" y="{y + 16}">{in_html(cut(facts, _FACTS_COLUMNS))}</text>'
        f'<text x="{x + 10}" y="{y + 33}">{in_html(cut(node["title"], _TITLE_COLUMNS))}</text></g>'
    )


def _arrow(source: str, target: str, column: dict[str, int], middle: dict[_Spot, int]) -> str:
    """From box to box, level through the lanes between."""
    x, y = 1 + column[source] * (_WIDE + _GAP) + _WIDE, middle[source, column[source]]
    path = f"M{x} {y}"
    for place in range(column[source] + 1, column[target] + 1):
        begins = 1 + place * (_WIDE + _GAP)
        to = middle[target, place] if place == column[target] else middle[source, place]
        path += f"C{begins - _GAP // 2} {y} {begins - _GAP // 2} {to} {begins} {to}"
        path += "" if place == column[target] else f"H{begins + _WIDE}"
        y = to
    return f'<path class="edge" d="{path}" marker-end="url(#tip)"/>'

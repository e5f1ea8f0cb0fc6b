"""What waits for what, as a drawing: issues in columns from left to right, each behind all that it waits for.

Plain SVG with classes, whose colours the page gives. Titles are cut and escaped; nothing in a drawing can be clicked.
"""

from __future__ import annotations

from typing import Any

from clearway.surfaces.pages import Html, in_html
from clearway.surfaces.tables import cut

_WIDE, _HIGH = 216, 42
_GAP, _STEP = 56, 12
_TITLE_COLUMNS = 32


def waiting(graph: dict[str, Any]) -> Html:
    """The issues of a graph that block others or wait, with the arrows between them; empty if there are none."""
    edges = [(edge["source"], edge["target"]) for edge in graph["edges"] if edge["type"] == "blocks"]
    linked = {name for edge in edges for name in edge}
    nodes = {node["display_id"]: node for node in graph["nodes"] if node["display_id"] in linked}
    edges = [(source, target) for source, target in edges if source in nodes and target in nodes]
    if not edges:
        return Html("")
    places = _places(list(nodes), edges)
    lines = [_arrow(places[source], places[target]) for source, target in edges]
    lines += [_box(nodes[name], place) for name, place in places.items()]
    wide = max(x for x, _ in places.values()) + _WIDE + 2
    high = max(y for _, y in places.values()) + _HIGH + 2
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="gray"/></marker></defs>'
    )
    return Html(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img" aria-label="What waits for what">{tip}{"".join(lines)}</svg>'
    )


def _places(names: list[str], edges: list[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Where each box begins: its column is one behind the last of what it waits for."""
    column = dict.fromkeys(names, 0)
    for _ in names:  # no longer path than there are issues
        moved = False
        for source, target in edges:
            if column[target] <= column[source] < len(names):
                column[target] = column[source] + 1
                moved = True
        if not moved:
            break
    filled: dict[int, int] = {}
    places: dict[str, tuple[int, int]] = {}
    for name in names:
        row = filled.get(column[name], 0)
        filled[column[name]] = row + 1
        places[name] = (1 + column[name] * (_WIDE + _GAP), 1 + row * (_HIGH + _STEP))
    return places


def _box(node: dict[str, Any], place: tuple[int, int]) -> str:
    x, y = place
    status = node.get("effective_status", node["status"])
    facts = " · ".join(filter(None, [node["display_id"], status.replace("_", " "), node.get("held_by", "")]))
    return (
        f'<g class="node {status}"><rect x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="6"/>'
        f'<text class="soft" x="{x + 10}" y="{y + 16}">{in_html(cut(facts, 36))}</text>'
        f'<text x="{x + 10}" y="{y + 33}">{in_html(cut(node["title"], _TITLE_COLUMNS))}</text></g>'
    )


def _arrow(source: tuple[int, int], target: tuple[int, int]) -> str:
    x, y = source[0] + _WIDE, source[1] + _HIGH // 2
    to_x, to_y = target[0], target[1] + _HIGH // 2
    middle = (x + to_x) // 2
    return f'<path class="edge" d="M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}" marker-end="url(#tip)"/>'

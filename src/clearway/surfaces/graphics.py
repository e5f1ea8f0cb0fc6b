"""The word `graph`: how issues hang together, as a table, as JSON, or drawn by Mermaid or Graphviz.

Titles were written by anybody: in a drawing they are text inside quotes, and nothing in them can end those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.limits import GRAPH_BYTES_MAX
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.options import this_run
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.surfaces.render import Paper

Graph = dict[str, Any]

_FORMATS = ("table", "json", "mermaid", "dot")
_TITLE_CHARS = 80
_COLOURS = {
    "ready": "#d7f5dd",
    "in_progress": "#cfe8ff",
    "review": "#ead9ff",
    "blocked": "#ffd9d9",
    "open": "#ffffff",
    "done": "#e5e5e5",
    "cancelled": "#e5e5e5",
}
_ARROWS = {"blocks": "-->", "contains": "-.-", "related_to": "---", "duplicates": "-. duplicates .->"}
_LINES = {
    "blocks": "",
    "contains": " [style=dotted, arrowhead=none]",
    "related_to": " [dir=none]",
    "duplicates": ' [style=dashed, label="duplicates"]',
}


@click.command()
@click.argument("issue", required=False)
@click.option("--format", "form", metavar="|".join(_FORMATS), default="table", help="[default: table]")
@click.option("--depth", metavar="N", help="How many steps around the issue.")
@click.option("--max-nodes", metavar="N", help="How many issues at most.")
@click.option("--direction", metavar="outgoing|incoming|both", help="Which way from the issue. [default: both]")
@click.option("--relation-type", "types", metavar="WORD", multiple=True, help="Only these. (repeat for several)")
@click.option("--hierarchy/--no-hierarchy", "hierarchy", default=None, help="With epics. [default: yes]")
@click.option("--terminal/--no-terminal", "terminal", default=None, help="With what is finished. [default: yes]")
def graph(issue: str | None, form: str, types: tuple[str, ...], **given: Any) -> None:
    """Show what waits for what: in the whole project what is unfinished, or all around one issue."""
    run = this_run()
    form = "json" if run.as_json else form
    if form not in _FORMATS:
        raise Refusal("INVALID_ARGUMENT", f"graph: --format must be one of {', '.join(_FORMATS)}.")
    result = _asked(run, issue, types, given)
    if form == "json":
        say_json(result)
    elif form == "table":
        say(run.paper.flowed(table(result, run.paper)))
    else:
        say(mermaid(result) if form == "mermaid" else dot(result))


def _asked(run: Run, issue: str | None, types: tuple[str, ...], given: dict[str, Any]) -> Graph:
    asked: dict[str, Any] = {"max_bytes": GRAPH_BYTES_MAX}
    for name in ("depth", "max_nodes"):
        value = given[name]
        if value is not None:
            asked[name] = int(value) if value.isascii() and value.isdigit() else value
    around = {
        "direction": given["direction"],
        "relation_types": list(types) or None,
        "include_hierarchy": given["hierarchy"],
        "include_terminal": given["terminal"],
    }
    if issue is not None:
        return run.ask(OPERATIONS["get_issue_graph"], root_issue_id=issue, **asked, **around)
    if any(value is not None for value in around.values()):
        raise Refusal("INVALID_ARGUMENT", "graph: --direction and the like are about one issue; name it.")
    return run.ask(OPERATIONS["get_planning_graph"], **asked)


def table(graph: Graph, paper: Paper) -> str:
    """One line for each issue, with what it waits for; then where to begin, and what was left out."""
    if not graph["nodes"]:
        rest = _left_out(graph)
        return f"Nothing is unfinished ({rest} left out)." if rest else "There are no issues yet."
    waits: dict[str, list[str]] = {}
    for edge in graph["edges"]:
        if edge["type"] == "blocks":
            waits.setdefault(edge["target"], []).append(edge["source"])
    rows = [
        [
            node["display_id"],
            node.get("effective_status", node["status"]),
            "" if node["type"] == "task" else node["type"],
            " ".join(waits.get(node["display_id"], [])[:5]),
            node.get("held_by", ""),
            folded(node["title"], 200),
        ]
        for node in graph["nodes"]
    ]
    lines = [paper.table(("ISSUE", "STATUS", "TYPE", "WAITS FOR", "HELD BY", "TITLE"), rows)]
    if graph["entry_points"]:
        lines.append("Begin with: " + ", ".join(graph["entry_points"][:10]) + ".")
    if graph.get("critical_path"):
        lines.append("Critical path: " + " > ".join(graph["critical_path"]) + ".")
    rest = _left_out(graph)
    if rest:
        lines.append(f"Left out: {rest}.")
    return "\n".join(lines)


def _left_out(graph: Graph) -> str:
    return ", ".join(f"{count} {status}" for status, count in graph["summary"].get("left_out", {}).items())


def mermaid(graph: Graph) -> str:
    """A flowchart: what blocks points at what waits for it."""
    lines = ["flowchart LR"]
    used: set[str] = set()
    for node in graph["nodes"]:
        status = node.get("effective_status", node["status"])
        used.add(status)
        lines.append(f'  {_name(node["display_id"])}["{_in_mermaid(_label(node))}"]:::{status}')
    lines += [f"  {_name(edge['source'])} {_ARROWS[edge['type']]} {_name(edge['target'])}" for edge in graph["edges"]]
    lines += [f"  classDef {status} fill:{_COLOURS[status]},color:#000" for status in _COLOURS if status in used]
    return "\n".join(lines + _comments(graph, "%%"))


def dot(graph: Graph) -> str:
    """The same for Graphviz."""
    lines = ["digraph issues {", "  rankdir=LR;", '  node [shape=box, style="rounded,filled"];']
    for node in graph["nodes"]:
        colour = _COLOURS[node.get("effective_status", node["status"])]
        label = _label(node).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  "{node["display_id"]}" [label="{label}", fillcolor="{colour}"];')
    lines += [f'  "{edge["source"]}" -> "{edge["target"]}"{_LINES[edge["type"]]};' for edge in graph["edges"]]
    return "\n".join([*lines, "}", *_comments(graph, "//")])


def _comments(graph: Graph, mark: str) -> list[str]:
    rest = _left_out(graph)
    return [f"{mark} left out: {rest}"] if rest else []


def _name(display_id: str) -> str:
    return display_id.replace("-", "_")


def _label(node: dict[str, Any]) -> str:
    return f"{node['display_id']} {folded(node['title'], _TITLE_CHARS)}"


def _in_mermaid(text: str) -> str:
    """Every sign that could mean something there is written by its number."""
    return "".join(f"#{ord(sign)};" if sign in '"#&<>`;\\[]{}()|' else sign for sign in text)

"""How the issues hang together: what is around one of them, and what the whole project waits for.

A graph is bounded twice, in nodes and in bytes, and says what it left out. It shows the unfinished first: of a project
with a thousand finished issues and one that is ready, the one is in it. Nothing here carries a body.
"""

from __future__ import annotations

from clearway import lapse, wire
from clearway.db import Row, statements
from clearway.lifecycle import RELATIONS, REPEATED_FAILURES, STATUSES, TERMINAL
from clearway.limits import (
    GRAPH_BYTES,
    GRAPH_DEPTH,
    GRAPH_EDGES_READ_MAX,
    GRAPH_NODES,
    GRAPH_NODES_READ_MAX,
    GRAPH_PATH_SHOWN,
    GRAPH_WAITS_READ_MAX,
    ISSUE_KEY,
    PLANNING_DEPTH,
)
from clearway.op import op
from clearway.untrusted import readable, within
from clearway.work import issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clearway.arguments import Direction, GraphBytes, GraphDepth, GraphNodes, IssueRef, RelationTypes, Yes
    from clearway.db.tx import Tx

SQL = statements(__file__)
_UNFINISHED = tuple(status for status in STATUSES if status not in TERMINAL)
_NODE_BYTES = 600  # one node may not take the room of all others: no more than this, or a tenth
_SHORT_TITLE = 160  # of a node that is larger, in bytes
_COUNT = 999_999_999  # room for a number that is still to be counted
_OPTIONAL = ("blocking_nodes", "critical_path", "truncation_reason")


@op(group="plan")
def get_issue_graph(
    tx: Tx,
    root_issue_id: IssueRef,
    depth: GraphDepth = GRAPH_DEPTH,
    direction: Direction = "both",
    relation_types: RelationTypes | None = None,
    include_hierarchy: Yes = True,
    include_terminal: Yes = True,
    max_nodes: GraphNodes = GRAPH_NODES,
    max_bytes: GraphBytes = GRAPH_BYTES,
) -> dict[str, Any]:
    """Show what is around an issue: what blocks it, what it blocks, what belongs with it or is below it."""
    root = issues.find(tx, root_issue_id)
    issues.check_not_archived(root)
    types = tuple(relation_types if relation_types is not None else RELATIONS)
    way = _Way(types, hierarchy=include_hierarchy, direction=direction, terminal=include_terminal)
    order = list(_rows(tx, _reached(tx, root.id, depth, way)).values())
    return _Graph(tx, order[:max_nodes], way).reply(order, max_nodes, max_bytes, there=_by_status(order))


@op(group="plan")
def get_planning_graph(
    tx: Tx,
    root_issue_id: IssueRef | None = None,
    depth: GraphDepth = PLANNING_DEPTH,
    include_review: Yes = True,
    include_related: Yes = False,
    max_nodes: GraphNodes = GRAPH_NODES,
    max_bytes: GraphBytes = GRAPH_BYTES,
) -> dict[str, Any]:
    """Show the unfinished work of the project, or around one issue: where to begin, what blocks, the critical path."""
    types = ("blocks", "related_to") if include_related else ("blocks",)
    way = _Way(types, hierarchy=True, direction="both", terminal=True)
    root = None if root_issue_id is None else issues.find(tx, root_issue_id)
    if root is None:
        waits = [(row.source, row.target) for row in tx.all(SQL.waits, limit=GRAPH_WAITS_READ_MAX)]
        path = critical_path(waits)
        rows = _rows(tx, _candidates(tx, path, waits, max_nodes))
        there = {row.status: row.issues for row in tx.all(SQL.counts)}
    else:
        issues.check_not_archived(root)
        rows = _rows(tx, _reached(tx, root.id, depth, way))
        waits = _waits_among(tx, rows)
        path = critical_path(waits)
        there = _by_status(rows.values())
    wanted = {
        id: row
        for id, row in rows.items()
        if row.status not in TERMINAL and (include_review or row.status != "review" or row.held_by)
    }
    order = _planned(wanted, path, waits, max_nodes)
    if root is not None:
        order.sort(key=lambda row: row.id != root.id)  # whatever is left out, it is there
    graph = _Graph(tx, order[:max_nodes], way, path=[wanted[id] for id in path if id in wanted])
    return graph.reply(order, max_nodes, max_bytes, there=there)


def critical_path(waits: list[tuple[str, str]]) -> list[str]:
    """The longest chain in which each waits for the one before it. waits: (what blocks, what waits)."""
    after: dict[str, list[str]] = {}
    open_blockers: dict[str, int] = {}
    for source, target in waits:
        after.setdefault(source, []).append(target)
        open_blockers[target] = open_blockers.get(target, 0) + 1
    free = [source for source in after if source not in open_blockers]
    length = dict.fromkeys(free, 1)
    before: dict[str, str] = {}
    for source in free:  # grows while it is read: what has no blocker left that was not looked at
        for target in after.get(source, ()):
            if length[source] >= length.get(target, 1):
                length[target] = length[source] + 1
                before[target] = source
            open_blockers[target] -= 1
            if not open_blockers[target]:
                free.append(target)
    if not free:
        return []
    path = [max(free, key=lambda id: length[id])]
    while path[-1] in before:
        path.append(before[path[-1]])
    return path[::-1]


class _Way:
    """Along which lines a graph goes."""

    __slots__ = ("direction", "hierarchy", "terminal", "types")

    def __init__(self, types: tuple[str, ...], *, hierarchy: bool, direction: str, terminal: bool) -> None:
        self.types = "," + ",".join(types) + ","
        self.hierarchy = int(hierarchy)
        self.direction = direction
        self.terminal = int(terminal)


class _Graph:
    """The nodes that may be shown, in the order in which they are, and what is between them."""

    def __init__(self, tx: Tx, order: list[Row], way: _Way, *, path: list[Row] | None = None) -> None:
        edges = tx.all(
            SQL.edges,
            ids=wire.dumps([row.id for row in order]),
            types=way.types,
            hierarchy=way.hierarchy,
            limit=GRAPH_EDGES_READ_MAX,
        )
        self._longer = max(0, len(tx.opening.issue_key) - len(ISSUE_KEY))  # each name, as the door says it
        self._edges: dict[str, list[Row]] = {}
        for edge in edges:
            self._edges.setdefault(edge.source, []).append(edge)
            self._edges.setdefault(edge.target, []).append(edge)
        unfinished = {row.id: row for row in order if row.status not in TERMINAL}
        waits = [
            (edge.source, edge.target)
            for edge in edges
            if edge.type == "blocks" and edge.source in unfinished and edge.target in unfinished
        ]
        self._blocking = {source for source, _ in waits}
        self._path = [unfinished[id] for id in critical_path(waits)] if path is None else path

    def reply(self, order: list[Row], max_nodes: int, max_bytes: int, *, there: dict[str, int]) -> dict[str, Any]:
        """As much as fits. there: how many issues of each status there are to be shown or named as left out."""
        path = [_name(row) for row in self._path[:GRAPH_PATH_SHOWN]]
        reply = _largest_frame(path)
        room = max_bytes - self._size(reply)
        nodes: dict[str, Row] = {}
        full = False
        for row in order[:max_nodes]:
            item, cut = _shortened(_node(row), max(_NODE_BYTES, max_bytes // 10))
            bytes_taken = self._size(item) + 1 + self._bytes_elsewhere(row)
            full = full or cut or bytes_taken > room
            if bytes_taken > room:
                continue
            reply["nodes"].append(item)
            nodes[row.id] = row
            room -= bytes_taken
            for edge in self._edges.get(row.id, ()):
                told = _edge(edge)
                if edge.source in nodes and edge.target in nodes:
                    if self._size(told) + 1 > room:
                        full = True
                        continue
                    room -= self._size(told) + 1
                    reply["edges"].append(told)
        shown = _by_status(nodes.values())
        left = {status: count - shown.get(status, 0) for status, count in there.items()}
        reason = "byte_limit" if full else "node_limit" if len(order) > len(nodes) else ""
        return self._completed(reply, list(nodes.values()), left, reason)

    def _completed(self, reply: dict[str, Any], nodes: list[Row], left: dict[str, int], reason: str) -> dict[str, Any]:
        """The reply with everything that is told of what it shows."""
        reply["entry_points"] = [_name(row) for row in nodes if issues.is_claimable(row)]
        reply["blocking_nodes"] = [_name(row) for row in nodes if row.id in self._blocking]
        left = {status: left[status] for status in STATUSES if left.get(status, 0) > 0}
        reply["summary"] = {
            **{name: len(reply[name]) for name in ("nodes", "edges", "entry_points", "blocking_nodes")},
            **({"critical_path": len(self._path)} if self._path else {}),
            **({"left_out": left} if left else {}),
        }
        reply["truncated"] = bool(reason)
        reply["truncation_reason"] = reason
        return {name: value for name, value in reply.items() if value or name not in _OPTIONAL}

    def _bytes_elsewhere(self, row: Row) -> int:
        """What the name of a node takes in the lists beside the nodes."""
        lists = int(issues.is_claimable(row)) + int(row.id in self._blocking)
        return lists * (self._size(_name(row)) + 1)

    def _size(self, value: Any) -> int:
        text = wire.dumps(value)
        return len(text.encode()) + self._longer * text.count(f'"{ISSUE_KEY}-')


def _largest_frame(path: list[str]) -> dict[str, Any]:
    """A reply without nodes and edges, as large as it can be."""
    counts = ("nodes", "edges", "entry_points", "blocking_nodes", "critical_path")
    return {
        "nodes": [],
        "edges": [],
        "entry_points": [],
        "blocking_nodes": [],
        "critical_path": path,
        "summary": {**dict.fromkeys(counts, _COUNT), "left_out": dict.fromkeys(STATUSES, _COUNT)},
        "truncated": False,
        "truncation_reason": "node_limit",
    }


def _reached(tx: Tx, root: str, depth: int, way: _Way) -> list[str]:
    """The root and what is so many steps from it, in the order of the steps."""
    found = {root: None}
    edge = [root]
    for _ in range(depth):
        rows = tx.all(
            SQL.near,
            ids=wire.dumps(edge),
            types=way.types,
            hierarchy=way.hierarchy,
            outgoing=int(way.direction != "incoming"),
            incoming=int(way.direction != "outgoing"),
            terminal=way.terminal,
            limit=GRAPH_NODES_READ_MAX,
        )
        edge = [row.id for row in rows if row.id not in found][: GRAPH_NODES_READ_MAX - len(found)]
        if not edge:
            break
        found |= dict.fromkeys(edge)
    return list(found)


def _candidates(tx: Tx, path: list[str], waits: list[tuple[str, str]], max_nodes: int) -> list[str]:
    """The issues of the whole project of which some are shown: enough of each kind."""
    limit = max_nodes + 1
    found = [row.id for row in tx.all(SQL.claimable, gone=lapse.gone(tx)[1], limit=limit)]
    found += path[:limit]
    found += [row.id for row in tx.all(SQL.in_work, gone=lapse.gone(tx)[1], limit=limit)]
    found += [end for wait in waits[:limit] for end in wait]
    for status in _UNFINISHED:
        found += [row.id for row in tx.all(SQL.in_status, status=status, limit=limit)]
    return list(dict.fromkeys(found))


def _waits_among(tx: Tx, rows: dict[str, Row]) -> list[tuple[str, str]]:
    """What waits for what among some issues, those first that hold up most."""
    edges = tx.all(SQL.edges, ids=wire.dumps(list(rows)), types=",blocks,", hierarchy=0, limit=GRAPH_EDGES_READ_MAX)
    waits = [
        (edge.source, edge.target)
        for edge in edges
        if rows[edge.source].status not in TERMINAL and rows[edge.target].status not in TERMINAL
    ]
    return sorted(waits, key=lambda wait: -rows[wait[0]].unblocks)


def _planned(rows: dict[str, Row], path: list[str], waits: list[tuple[str, str]], max_nodes: int) -> list[Row]:
    """The order of showing: the best work first, then what everything waits for, then what is being done.

    Not all that is ready comes first: where much is, nothing would be seen of what it leads to.
    """
    ready = sorted((row for row in rows.values() if issues.is_claimable(row)), key=_next_first)
    part = max(1, max_nodes // 8)
    ends = [end for wait in waits if wait[0] in rows and wait[1] in rows for end in wait]
    order = [
        *ready[:part],
        *(rows[id] for id in path[:GRAPH_PATH_SHOWN] if id in rows),
        *(row for row in rows.values() if row.held_by),
        *(rows[end] for end in ends[: 2 * part]),
        *ready[: 2 * part],
        *sorted(rows.values(), key=lambda row: (-row.priority, row.number)),
    ]
    return list({row.id: row for row in order}.values())


def _next_first(row: Row) -> tuple[int, int, int]:
    """How the scheduler chooses."""
    return -row.priority, -row.unblocks, row.number


def _rows(tx: Tx, ids: list[str]) -> dict[str, Row]:
    """The issues with these ids, in this order."""
    rows = tx.all(SQL.nodes, ids=wire.dumps(ids), gone=lapse.gone(tx)[1], streak=REPEATED_FAILURES)
    found = {row.id: row for row in rows}
    return {id: found[id] for id in ids if id in found}


def _by_status(rows: Iterable[Row]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for row in rows:
        counted[row.status] = counted.get(row.status, 0) + 1
    return counted


def _name(row: Row) -> str:
    return f"ISSUE-{row.number}"


def _node(row: Row) -> dict[str, Any]:
    item = readable(issues.item(row))
    del item["updated_at"]
    return item


def _edge(row: Row) -> dict[str, str]:
    return {"source": f"ISSUE-{row.first}", "target": f"ISSUE-{row.second}", "type": row.type}


def _shortened(item: dict[str, Any], most: int) -> tuple[dict[str, Any], bool]:
    """A node as it may be shown: of a large one without its labels, and the beginning of its title. Was it cut?"""
    if _size(item) <= most:
        return item, False
    item.pop("labels", None)
    if _size(item) > most:
        item["title"] = within(item["title"], _SHORT_TITLE)
    return item, True


def _size(value: Any) -> int:
    return len(wire.dumps(value).encode())

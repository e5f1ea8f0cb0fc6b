"""Questions to the nodes of a syntax tree that need no scope: what a chain consists of, what fails, what leaves."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

WRITING = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&", ">!", ">>|", ">>!", "&>|", "&>!", "&>>|", "&>>!"})
NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/full", "/dev/zero"})
_SUCCEEDING = frozenset({":", "cd", "echo", "mkdir", "printf", "pushd", "set", "shift", "true", "unset"})
_LEAVING = frozenset({"exit", "return", "break", "continue"})


def unchained(node: Node, signs: set[str]) -> tuple[Node, list[tuple[str, Node]]]:
    """`a && b || c` -> a, [(&&, b), (||, c)]: long chains lean so far to the left that walking down them would be
    too deep."""
    rest = [(node["Op"], node["Y"])]
    left: Node = node["X"]
    while True:
        inner: Node = left.get("Cmd") or {}
        if inner.get("Type") != "BinaryCmd" or inner["Op"] not in signs or left.get("Redirs") or left.get("Background"):
            return left, rest[::-1]
        rest.append((inner["Op"], inner["Y"]))
        left = inner["X"]


def succeeds(node: Node) -> bool:
    """Whether a statement cannot fail in a way that its `&&` would notice. A `cd` that fails is known otherwise."""
    command: Node = node.get("Cmd") or {}
    redirections: list[Node] = node.get("Redirs") or []
    if not all(each["Op"] not in WRITING or _is_literally(each["Word"], NO_FILES) for each in redirections):
        return False
    if command.get("Type") != "CallExpr" or not command.get("Args"):
        return command.get("Type") in {"CallExpr", "DeclClause", "FuncDecl"}
    return _is_literally(command["Args"][0], _SUCCEEDING)


def _is_literally(word: Node, texts: frozenset[str]) -> bool:
    return len(word["Parts"]) == 1 and word["Parts"][0].get("Value") in texts


def fed_to(node: Node, programs: frozenset[str]) -> Node | None:
    """The word in `bash < FILE`: a script that is read piece by piece while it runs."""
    command: Node = node.get("Cmd") or {}
    words: list[Node] = (command.get("Args") or []) if command.get("Type") == "CallExpr" else []
    if not words or not _is_literally(words[0], programs):
        return None
    options = ["".join(part.get("Value") or "" for part in word["Parts"]) for word in words[1:]]
    if any(option[:1] != "-" or "c" in option for option in options):  # its commands stand elsewhere
        return None
    redirections: list[Node] = node.get("Redirs") or []
    return next((each["Word"] for each in redirections if each["Op"] == "<"), None)


def whole_array(word: Node) -> str:
    """The name in `"${NAME[@]}"`; empty for any other word."""
    parts: list[Node] = word["Parts"]
    if len(parts) == 1 and parts[0]["Type"] == "DblQuoted":
        parts = parts[0].get("Parts") or []
    if len(parts) != 1 or parts[0]["Type"] != "ParamExp" or any(sign in parts[0] for sign in ("Exp", "Slice", "Repl")):
        return ""
    index: Node = parts[0].get("Index") or {"Parts": []}
    is_whole = len(index.get("Parts") or ()) == 1 and index["Parts"][0].get("Value") == "@" and "Length" not in parts[0]
    return parts[0].get("Param", {}).get("Value", "") if is_whole and not parts[0].get("Excl") else ""


def leaves(nodes: list[Node] | None) -> bool:
    """Whether what follows these statements is not reached behind them."""
    command: Node = (nodes[-1].get("Cmd") or {}) if nodes else {}
    if command.get("Type") == "Block":
        return leaves(command.get("Stmts"))
    if command.get("Type") != "CallExpr" or not command.get("Args"):
        return False
    return _is_literally(command["Args"][0], _LEAVING)

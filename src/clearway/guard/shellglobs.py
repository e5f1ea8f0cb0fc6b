"""The names that a glob finds on the disk: `*`, `?`, sets of characters; one folder after the other, within bounds.

A pattern is a text with marks: a character behind `QUOTED` stands for itself.
"""

from __future__ import annotations

import os

# In a text that is still to be split and expanded, this stands before a character that was quoted.
QUOTED = "\0"
# In a path that stands for others: any folders, or none; any characters of one name; a name unknown altogether.
DEEP, ANY, SOME = "\x02", "\x03", "\x04"
NAMES_MAX = 512
ENTRIES_MAX = 10_000


def has_glob(marked: str) -> bool:
    bare = without_quoted(marked)
    return "*" in bare or "?" in bare or 0 <= bare.find("[") < bare.rfind("]")


def globbed(marked: str, cwd: str) -> list[str]:
    """What a pattern finds, spelled as a shell would. Where that is too much, and where two stars may reach across
    folders, the pattern itself, as a path with wildcards."""
    marked = marked.replace(QUOTED + "\1", "")  # the mark of a pair of quotes
    if "**" in without_quoted(marked).split("/"):
        return [*filter(None, [_swept(marked)]), *_globbed(marked, cwd)]
    return _globbed(marked, cwd)


def _globbed(marked: str, cwd: str) -> list[str]:
    found = ["/" if marked[:1] == "/" else ""]
    entries = 0
    for part in filter(None, marked.split("/")):
        if not has_glob(part):
            found = [os.path.join(folder, part.replace(QUOTED, "")) for folder in found]
            continue
        tokens = _tokens(part)
        longer: list[str] = []
        for folder in found:
            names = names_in(os.path.join(cwd, folder))
            entries += len(names)
            hidden = tokens[0] == "."
            longer += [os.path.join(folder, name) for name in names if hidden or name[:1] != "."
                       if matches(name, tokens)]  # fmt: skip
            if len(longer) > NAMES_MAX or entries > ENTRIES_MAX:
                return [*filter(None, [_swept(marked)])]
        found = longer
    return [path for path in found if path and os.path.lexists(os.path.join(cwd, path))]


def _swept(marked: str) -> str:
    """A pattern of stars as a path with wildcards; empty for one with more."""
    parts: list[str] = []
    for part in marked.split("/"):
        tokens = _tokens(part)
        if tokens == [QUOTED + "*"] * 2:
            parts.append(DEEP)
        elif any(token[:2] in {QUOTED + "?", QUOTED + "["} for token in tokens):
            return ""
        else:
            parts.append("".join(ANY if token == QUOTED + "*" else token for token in tokens))
    return "/".join(parts)


def names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder)) if os.path.isabs(folder) else []
    except (OSError, ValueError):
        return []


def _tokens(part: str) -> list[str]:
    """Each a character for itself, `\\0*`, `\\0?`, or the inside of a set behind `\\0[`."""
    tokens: list[str] = []
    at = 0
    while at < len(part):
        sign = part[at]
        end = part.find("]", at + 2) if sign == "[" else -1
        if sign == QUOTED:
            tokens.append(part[at + 1 : at + 2])
            at += 2
        elif end > 0:
            tokens.append(QUOTED + part[at:end].replace(QUOTED, ""))
            at = end + 1
        else:
            tokens.append(QUOTED + sign if sign in "*?" else sign)
            at += 1
    return [token for token in tokens if token not in {"", "\1"}]


def matches(name: str, tokens: list[str]) -> bool:
    """The usual walk with one step back: to the last star, one character further on."""
    at = token = 0
    star = back = -1
    while at < len(name):
        if token < len(tokens) and tokens[token] == QUOTED + "*":
            star, back = token, at
            token += 1
        elif token < len(tokens) and _fits(name[at], tokens[token]):
            at, token = at + 1, token + 1
        elif star >= 0:
            back += 1
            at, token = back, star + 1
        else:
            return False
    return all(rest == QUOTED + "*" for rest in tokens[token:])


def _fits(letter: str, token: str) -> bool:
    if token[:2] != QUOTED + "[":
        return token == letter or token == QUOTED + "?"
    within = token[2:]
    denied = within[:1] in {"!", "^"}
    within = within[denied:]
    found = letter in within.replace("-", "")
    for at in range(1, len(within) - 1):
        if within[at] == "-" and within[at - 1] <= letter <= within[at + 1]:
            found = True
    return found != denied


def without_quoted(marked: str) -> str:
    first, *rest = marked.split(QUOTED)
    return first + "".join(piece[1:] for piece in rest) if rest else first

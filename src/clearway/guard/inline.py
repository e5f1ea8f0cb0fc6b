"""What a program that stands in the command line itself plainly writes: `python3 -c`, `node -e`, a here-document.

Only calls that are known to write are looked for, and only paths that stand there letter for letter, or in a name that
was given one. Text in quotes and comments is no call. Whatever else such a program does is found out after the call.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Token = tuple[str, str]  # what it is (text, name, sign), and how it reads

CHARS_MAX = 32_768  # a longer program is not looked at
NAMES_MAX = 256
PATHS_MAX = 64

_SIGNS_OF_WRITING = (
    "append", "call", "check", "copy", "cp", "delete", "dump", "exec", "link", "move", "mv", "open", "output", "put",
    "remove", "rename", "replace", "rm", "run", "save", "system", "to_", "touch", "trunc", "unlink", "write",
)  # fmt: skip
_SLASHED = frozenset({"bun", "deno", "node", "nodejs", "php", "ts-node", "tsx"})  # `//` begins a comment
_UNHASHED = _SLASHED - {"php"} | {"lua", "luajit"}  # `#` begins none
_PREFIXES = frozenset({"b", "br", "f", "fr", "r", "rb", "rf", "u"})

# By the name of what is called: which of its arguments it writes to.
_FIRST = frozenset(
    """
    appendFile appendFileSync createWriteStream file_put_contents outputFile outputFileSync outputJson outputJsonSync
    removeSync rmSync rmdirSync rmtree savefig savetxt to_csv to_excel to_json to_parquet to_pickle truncateSync unlink
    unlinkSync writeFile writeFileSync writeJson writeJsonSync writeTextFile writeTextFileSync
    """.split()
)
_SECOND = frozenset("copyFile copyFileSync copyfile copytree cpSync linkSync symlinkSync".split())
_BOTH = frozenset({"renameSync"})
# The same names also stand for other things: only behind one of these are they meant.
_OWNERS = frozenset("Bun Deno Dir File FileUtils IO fs fsp os promises shutil".split())
_FIRST_OWNED = frozenset(
    "delete remove removedirs rm rm_f rm_r rm_rf rmdir touch truncate unlink write binwrite".split()
)
_SECOND_OWNED = frozenset("copy copy2 cp cp_r link symlink ln_s".split())
_BOTH_OWNED = frozenset("move mv rename renames replace".split())
_OF_A_PATH = frozenset("rename replace rmdir touch unlink write_bytes write_text".split())
_TREES = frozenset("removeSync rm_r rm_rf rmSync rmdirSync rmtree".split())  # with all that is below
_SPEAKS = frozenset("execSync getoutput popen system".split())  # a text as a command
_RUNS = frozenset("Popen call check_call check_output run".split())  # of `subprocess`
_BINDS = frozenset({"as", "def", "function", "lambda", "sub"})
_OPENS = frozenset({"fopen", "open", "openSync"})
_FOR_WRITING = frozenset("wax+>")


class Program:
    """A program's tokens, the names that were given a path, and what was found."""

    __slots__ = ("commands", "names", "paths", "tokens", "trees")

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.names: dict[str, tuple[list[str], bool]] = {}  # by name: its texts, and whether it is an object of a path
        self.paths: dict[str, None] = {}
        self.commands: dict[str, None] = {}
        self.trees: dict[str, None] = {}

    def at(self, place: int) -> Token:
        return self.tokens[place] if 0 <= place < len(self.tokens) else ("", "")

    def is_sign(self, place: int, sign: str) -> bool:
        return self.at(place) == ("sign", sign)

    def write(self, texts: list[str]) -> None:
        for text in texts[: PATHS_MAX - len(self.paths)]:
            if text and "\n" not in text:
                self.paths[text] = None


def written(text: str, program: str) -> tuple[list[str], list[str]]:
    """The paths that it writes to, and the command lines that it runs."""
    found = _read(text, program)
    return ([], []) if found is None else (list(found.paths), list(found.commands))


def trees(text: str, program: str) -> list[str]:
    """The folders that it deletes with all that is in them."""
    found = _read(text, program)
    return [] if found is None else list(found.trees)


def _read(text: str, program: str) -> Program | None:
    if len(text) > CHARS_MAX or not any(sign in text for sign in _SIGNS_OF_WRITING):
        return None
    found = Program(_joined(_tokens(text, program.rstrip("0123456789."))))
    try:
        for place, (kind, name) in enumerate(found.tokens):
            if kind == "name":
                _look(found, place, name)
    except RecursionError:  # no program that anybody wrote; it is looked at after the call, as any is
        pass
    return found


def _look(found: Program, place: int, name: str) -> None:
    if found.is_sign(place + 1, "=") and not found.is_sign(place + 2, "="):
        _assign(found, place, name)
        return
    if name in _BINDS or (found.is_sign(place + 2, "=") and found.at(place + 1)[1] in {"+", "/", "*", "|", "?", "."}):
        _forget(found, place, name)
    if name == "in" and found.at(place - 1)[0] == "name":
        listed = _list(found, place + 2) if found.at(place + 1)[1] in {"[", "("} else []
        found.names.pop(found.at(place - 1)[1], None)
        if listed and len(found.names) < NAMES_MAX:
            found.names[found.at(place - 1)[1]] = (listed, False)
        return
    owner = found.at(place - 2)[1] if found.is_sign(place - 1, ".") else ""
    begin = place + 2 if found.is_sign(place + 1, "(") else place + 1 if name == "unlink" and not owner else 0
    if not begin:
        return
    if owner and name in _OF_A_PATH | {"open"} and owner not in _OWNERS:
        _of_a_path(found, place, name, begin)
    if name in _OPENS and owner not in {"webbrowser", "Image"}:
        _open(found, begin)
    elif name in _FIRST or (name in _FIRST_OWNED and owner in _OWNERS):
        goals = _argument(found, begin)
        found.write(goals)
        found.trees |= dict.fromkeys(goals[:PATHS_MAX] if name in _TREES else ())
    elif name in _SECOND or (name in _SECOND_OWNED and owner in _OWNERS):
        found.write(_second(found, begin))
    elif name in _BOTH or (name in _BOTH_OWNED and owner in _OWNERS) or (name == "rename" and not owner):
        found.write([*_argument(found, begin), *_second(found, begin)])
    elif name in _SPEAKS or (name in _RUNS and owner == "subprocess"):
        _speak(found, begin)


def _assign(found: Program, place: int, name: str) -> None:
    texts, end, is_path = _path(found, place + 2)
    is_whole = found.at(end)[1] in {"", ";", "\n"}
    found.names.pop(name, None)
    if texts and is_whole and len(found.names) < NAMES_MAX:
        found.names[name] = (texts, is_path)


def _forget(found: Program, place: int, name: str) -> None:
    """A name is given something else: `p += "x"`, `as p`, or a function's own names."""
    if name not in _BINDS:
        found.names.pop(name, None)
        return
    end = place + 2
    while name != "as" and end - place < 64 and found.at(end)[1] not in {")", ":", "{", ""}:
        end += 1
    for kind, text in found.tokens[place + 1 : end]:
        if kind == "name":
            found.names.pop(text, None)


def _argument(found: Program, begin: int) -> list[str]:
    """The path that is the whole of an argument."""
    texts, end, _ = _path(found, begin)
    return texts if found.at(end)[1] in {")", ",", ";", "\n", ""} else []


def _of_a_path(found: Program, place: int, name: str, begin: int) -> None:
    """`Path("f").write_text(...)`, `p.unlink()`, `p.open("w")`."""
    texts, is_path = _before(found, place - 2)
    if not texts or not (is_path or name in {"write_text", "write_bytes"}):
        return
    if name == "open":
        if _is_for_writing(found, begin):
            found.write(texts)
        return
    found.write(texts)
    if name in {"rename", "replace"}:
        found.write(_argument(found, begin))


def _before(found: Program, last: int) -> tuple[list[str], bool]:
    """The path that ends here: a name, or `Path(...)`."""
    kind, text = found.at(last)
    if kind == "name":
        return ([], False) if found.is_sign(last - 1, ".") else found.names.get(text, ([], False))
    if text != ")":
        return [], False
    depth, place = 0, last
    while place >= 0:
        depth += found.is_sign(place, ")") - found.is_sign(place, "(")
        if depth == 0:
            break
        place -= 1
    if found.at(place - 1) == ("name", "Path"):
        texts, end, _ = _path(found, place - 1)
        return (texts, True) if end == last + 1 else ([], False)
    if found.at(place - 1)[0] == "name":  # what another function makes
        return [], False
    texts, end, is_path = _path(found, place + 1)  # `(Path("a") / "b")`
    return (texts, is_path) if end == last else ([], False)


def _open(found: Program, begin: int) -> None:
    texts, end, _ = _path(found, begin)
    if texts and found.is_sign(end, ",") and _is_for_writing(found, end + 1):
        found.write(texts)
        return
    place, depth = begin, 0  # Perl: `open(F, ">f")`, `open(my $f, ">", "f")`
    while place < len(found.tokens) and place - begin < 16 and depth >= 0:
        kind, text = found.at(place)
        depth += (text == "(") - (text == ")") if kind == "sign" else 0
        if kind == "text" and text[:1] == ">":
            named = text.lstrip("> ")
            found.write([named] if named else _second(found, place))
            return
        if kind == "text":
            return
        place += 1


def _is_for_writing(found: Program, place: int) -> bool:
    """Whether the way in which a file is opened stands here."""
    if found.at(place) == ("name", "mode") and found.is_sign(place + 1, "="):
        place += 2
    kind, text = found.at(place)
    return kind == "text" and len(text) < 8 and not _FOR_WRITING.isdisjoint(text)


def _speak(found: Program, begin: int) -> None:
    kind, text = found.at(begin)
    if kind == "text":
        found.commands[text] = None
    elif text == "[" and (words := _list(found, begin + 1)):
        found.commands[" ".join("'" + word.replace("'", "'\\''") + "'" for word in words)] = None


def _list(found: Program, place: int) -> list[str]:
    """The texts of a list that holds nothing else."""
    texts: list[str] = []
    while True:
        kind, text = found.at(place)
        if kind == "text":
            texts.append(text)
        elif text in {"]", ")"}:
            return texts
        elif text not in {",", "\n"}:
            return []
        place += 1


def _second(found: Program, begin: int) -> list[str]:
    _, end, _ = _path(found, begin)
    while end - begin < 32 and not found.is_sign(end, ",") and found.at(end)[1] not in {"", ")"}:
        end += 1
    return _argument(found, end + 1) if found.is_sign(end, ",") else []


def _path(found: Program, place: int) -> tuple[list[str], int, bool]:
    """The path that stands here: its texts (none if it is not known), where it ends, and whether it is an object."""
    texts, end, is_path = _single(found, place)
    while texts and found.is_sign(end, "/"):
        more, end, _ = _single(found, end + 1)
        texts = [os.path.join(text, each) for text in texts for each in more]
    return texts[:PATHS_MAX], end, is_path


def _single(found: Program, place: int) -> tuple[list[str], int, bool]:
    kind, text = found.at(place)
    if kind == "text":
        return [text], place + 1, False
    if kind != "name":
        return [], place, False
    names = [text]
    while found.is_sign(place + 1, ".") and found.at(place + 2)[0] == "name":
        place += 2
        names.append(found.at(place)[1])
    if not found.is_sign(place + 1, "("):
        texts, is_path = found.names.get(text, ([], False)) if len(names) == 1 else ([], False)
        return texts, place + 1, is_path
    if names[-1] not in {"Path", "PosixPath", "join", "resolve", "String", "str"} or names == ["str", "join"]:
        return [], place, False
    texts, end, _ = _path(found, place + 2)
    while texts and found.is_sign(end, ","):
        more, end, _ = _path(found, end + 1)
        texts = [os.path.join(each, part) for each in texts for part in more]
    return (texts, end + 1, "Path" in names[-1]) if found.is_sign(end, ")") else ([], end, False)


# Tokens. Blanks are left out; the end of a line is a sign, unless brackets go on behind it.


def _joined(tokens: Iterator[Token]) -> list[Token]:
    kept: list[Token] = []
    depth = 0
    for token in tokens:
        if token[0] == "sign":
            depth += (token[1] in "([") - (token[1] in ")]")
        if token != ("sign", "\n") or depth <= 0:
            kept.append(token)
    return kept


def _tokens(text: str, program: str) -> Iterator[Token]:
    place, size = 0, len(text)
    while place < size:
        letter = text[place]
        if letter in "'\"`":
            end, said = _quoted(text, place)
            yield ("text", said) if said is not None else ("sign", "?")
            place = end
        elif letter.isalpha() or letter in "_$@":
            end = _while(text, place + 1, lambda each: each.isalnum() or each == "_")
            name = text[place:end].lstrip("$@")
            if name.lower() in _PREFIXES and text[end : end + 1] in {"'", '"'}:
                place, said = _quoted(text, end)
                unknown = said is None or ("f" in name.lower() and "{" in said)
                yield ("sign", "?") if unknown else ("text", said or "")
                continue
            if name and name not in {"const", "let", "my", "our", "var"}:
                yield "name", name
            place = end
        elif (letter == "#" and program not in _UNHASHED) or (text.startswith("//", place) and program in _SLASHED):
            place = _while(text, place, lambda each: each != "\n")
        elif text.startswith("/*", place) and program in _SLASHED:
            end = text.find("*/", place + 2)
            place = end + 2 if end >= 0 else size
        else:
            if letter == "\n" or not letter.isspace():
                yield "sign", letter
            place += 1


def _while(text: str, place: int, holds: Callable[[str], bool]) -> int:
    while place < len(text) and holds(text[place]):
        place += 1
    return place


def _quoted(text: str, place: int) -> tuple[int, str | None]:
    """Where a quoted text ends, and what it says; None if that is computed."""
    sign = text[place]
    ending = sign * 3 if text.startswith(sign * 3, place) and sign != "`" else sign
    at = place + len(ending)
    said: list[str] = []
    while at < len(text) and not text.startswith(ending, at):
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
            said.append(_ESCAPED.get(text[at], text[at]))
        else:
            said.append(text[at])
        at += 1
    whole = "".join(said)
    computed = ("${" in whole and sign == "`") or ("#{" in whole and sign == '"')
    return at + len(ending), None if computed else whole


_ESCAPED = {"n": "\n", "t": "\t", "\n": ""}

"""Other people's text: folded, quoted, cut. Pure.

What another agent wrote is data. Before it stands in a sentence that a model or a person reads it becomes one line,
its control, bidirectional and zero-width characters are shown instead of obeyed, and its quotes cannot end ours.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Controls, what turns or joins letters, blanks that take no room, tags, and variants beyond the two of emoji: a text
# for a model can be hidden in each of them.
_UNSEEN = frozenset(
    [*range(0x00, 0x20), *range(0x7F, 0xA0), 0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810)]
    + [*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE0E), 0xFEFF]
    + [0xFFA0, *range(0xFFF0, 0xFFFC), *range(0xE0000, 0xE0200)]
)
_PLAIN_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./@:,+%")
# In a reply, the texts that may have several lines.
_BODIES = frozenset(
    "acceptance_criteria blocked_reason content description document next_steps reason_details result_summary text "
    "verification".split()
)


def folded(text: str, chars: int) -> str:
    """One line of at most `chars` characters, with what cannot be seen shown as its code."""
    cut = text[: chars * 4]
    shown = "".join(_shown(letter) for letter in cut)
    line = " ".join(shown.split())
    return line if len(line) <= chars and len(cut) == len(text) else line[: max(0, chars - 1)] + "…"


def quoted(text: str, chars: int) -> str:
    """The same in double quotes that the text cannot close."""
    return '"' + folded(text, chars).replace('"', "'") + '"'


def within(text: str, count: int) -> str:
    """At most `count` bytes of UTF-8, cut between characters."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= count else raw[: max(0, count - 3)].decode("utf-8", "ignore") + "…"


def ending(text: str, count: int) -> str:
    """A name letter for letter in at most `count` bytes, with its end: of a path, the file's name says most."""
    raw = exact(text).encode("utf-8", "replace")
    return raw.decode() if len(raw) <= count else "…" + raw[len(raw) - max(0, count - 3) :].decode("utf-8", "ignore")


def legible(text: str) -> str:
    """All its lines, with what cannot be seen shown as its code: for a person who asked to read the whole text."""
    lines = text.expandtabs(4).replace("\r\n", "\n").split("\n")
    return "\n".join("".join(_shown(letter) for letter in line) for line in lines)


def indented(text: str) -> str:
    """The same behind a margin, so that none of its lines is taken for one of ours."""
    return "\n".join(f"  {line}".rstrip() for line in legible(text).split("\n"))


def exact(text: str) -> str:
    """A name letter for letter on one line: what ends a line or only looks like a space is shown as its code, too, and
    so is a space at an end, where it is overlooked."""
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
    body = text.strip(" ")
    before = len(text) - len(text.lstrip(" ")) if body else len(text)
    shown = [f"<U+{ord(letter):04X}>" if letter.isspace() and letter != " " else _code(letter) for letter in body]
    return "".join([_SPACE * before, *shown, _SPACE * (len(text) - before - len(body))])


def typed(name: str) -> str:
    """A name as one word of a shell, whatever is in it."""
    if name and _PLAIN_WORD.issuperset(name) and name[0] != "-":
        return name
    return "'" + exact(name).replace("'", "'\\''") + "'"


def readable(value: Any, name: str = "") -> Any:
    """A reply of a room as a model may read it, whoever wrote the texts in it: what cannot be seen is shown as its
    code, and only bodies keep their lines. name: under which a value stands."""
    if isinstance(value, str):
        if value.isascii() and value.isprintable():
            return value
        keeps = "\n\t" if name in _BODIES else ""
        text = value.replace("\r\n", "\n") if keeps else value
        return "".join([letter if letter in keeps else _code(letter) for letter in text])
    if isinstance(value, dict):
        return {key: readable(item, key) for key, item in value.items()}  # type: ignore[var-annotated]
    if isinstance(value, list):
        return [readable(item, name) for item in value]  # type: ignore[var-annotated]
    return value


def escaped(json: str) -> str:
    """The same JSON, in which what a terminal could obey is written by its number."""
    if json.isascii() and "\x7f" not in json:
        return json
    return "".join([_escape(letter) if ord(letter) in _UNSEEN else letter for letter in json])


_SPACE = "<U+0020>"


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _shown(letter: str) -> str:
    return " " if letter in "\n\r\t" else _code(letter)


def _code(letter: str) -> str:
    code = ord(letter)
    if code in _UNSEEN or 0xD800 <= code <= 0xDFFF:
        return f"<U+{code:04X}>"
    return letter


# --- secrets ------------------------------------------------------------------------------------------------------

HIDDEN = "[redacted]"
_BEGINNINGS = (
    "sk-", "sk_live_", "sk_test_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-",
    "xoxp-", "xoxa-", "xoxr-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "hf_", "npm_", "pypi-", "dop_v1_", "eyJ",
    "SG.", "shpat_", "lin_api_", "tskey-",
)  # fmt: skip
_SECRET_CHARS_MIN = 16  # shorter ones that begin so are words: sk-learn
_NAMES = frozenset(
    "password passwd passphrase pwd secret secrets token credential credentials authorization bearer apikey accesskey "
    "privatekey secretkey cookie".split()
)
_KEYS = frozenset({"api", "access", "private", "secret", "signing", "encryption", "auth"})
_ENDS = frozenset(" \t\r\n'\"`,;()[]{}<>|&")
_SCHEMES = frozenset({"basic", "bearer"})
_KEY_BEGINS, _KEY_ENDS = "-----BEGIN", "-----END"
_HINTS = ("pass", "pwd", "secret", "token", "cred", "auth", "bearer", "key", "cookie")
_LAST_WORDS = ("_password", "_token", "_secret", "_key")
_QUOTES = ("'", '"', "`")
_QUOTED = [[sign] for sign in _QUOTES]


def redacted(text: str) -> str:
    """The text without what looks like a secret: tokens by their beginnings, what follows a telling name, the password
    in an address, private keys. It errs towards taking out; it knows no client's secrets by heart."""
    if _KEY_BEGINS in text:
        text = _without_keys(text)
    pieces = _pieces(text)
    kept: list[str] = []
    at = 0
    hides = False  # what comes next is the value of a telling name
    while at < len(pieces):
        piece = pieces[at]
        at += 1
        if piece in _QUOTES and hides:
            end = pieces.index(piece, at) if piece in pieces[at:] else len(pieces)
            kept += [piece, HIDDEN]
            at, hides = end, False
        elif piece in _ENDS:
            kept.append(piece)
            hides = hides and piece in " \t"
        elif hides and piece[0] != "-":
            hides = piece.lower() in _SCHEMES  # `Authorization: Bearer abc`
            kept.append(piece if hides else HIDDEN)
        else:
            shown, hides = _looked_at(piece)
            kept.append(shown)
            if pieces[at : at + 1] in _QUOTED and pieces[at + 1 : at + 2] == [":"] and _tells(piece):  # JSON
                kept += pieces[at : at + 2]
                at, hides = at + 2, True
    return "".join(kept)


def _pieces(text: str) -> list[str]:
    """The words, and the single signs and blanks between them."""
    found: list[str] = []
    start = 0
    for at, letter in enumerate(text):
        if letter in _ENDS:
            if start < at:
                found.append(text[start:at])
            found.append(letter)
            start = at + 1
    if start < len(text):
        found.append(text[start:])
    return found


def _looked_at(piece: str) -> tuple[str, bool]:
    """One word as it may be shown, and whether the next one is a secret."""
    scheme, address, rest = piece.partition("://")
    if address:
        login, at, host = rest.partition("@")
        user, colon, _ = login.partition(":")
        if at and (colon or _begins_like_a_secret(user)):
            return f"{scheme}://{user + ':' if colon else ''}{HIDDEN}@{host}", False
        return piece, False
    for sign in "=:":
        name, found, value = piece.partition(sign)
        if found and _tells(name):
            return (name + sign + (HIDDEN if value else "")), not value
    if piece.lower() in _SCHEMES or (_tells(piece) and (piece[0] == "-" or piece.lower().endswith(_LAST_WORDS))):
        return piece, True
    name, sign, value = piece.partition("=")
    if value and _begins_like_a_secret(value):
        return name + sign + HIDDEN, False
    return (HIDDEN if _begins_like_a_secret(piece) else piece), False


def _begins_like_a_secret(word: str) -> bool:
    return len(word) >= _SECRET_CHARS_MIN and word.startswith(_BEGINNINGS)


def _tells(name: str) -> bool:
    """Whether what has this name is a secret: `DB_PASSWORD`, `--api-key`, `accessToken`."""
    lower = name.lower()
    if len(name) > 100 or not any(hint in lower for hint in _HINTS):
        return False
    spaced = "".join(
        f" {letter}" if letter.isupper() and at and name[at - 1].islower() else letter if letter.isalnum() else " "
        for at, letter in enumerate(name)
    )
    words = spaced.lower().split()
    if not _NAMES.isdisjoint(words):
        return True
    return any(word == "key" and before in _KEYS for before, word in zip(words, words[1:], strict=False))


def _without_keys(text: str) -> str:
    """Private keys and the like, from their first to their last line."""
    kept: list[str] = []
    while True:
        before, begins, rest = text.partition(_KEY_BEGINS)
        kept.append(before)
        if not begins:
            return "".join(kept)
        kept.append(HIDDEN)
        _, ends, text = rest.partition(_KEY_ENDS)
        text = text.partition("-----")[2] if ends else ""

"""Search: what was written down anywhere in the work, found by its words.

Any text is a valid question. What has all the words in its title comes first, then whatever has them anywhere, the
newest first in both: so a page costs the same in a room of a million issues, and the page after it is exact. Where a
word is unwanted titles do not come first: they do not say what else is in the text. Signs inside a word (`C++`,
`a/b.go`, `x:y`) have to stand in the text, too; capitals and accents do not matter. Triggers of the schema keep the
index; one search looks at a bounded number of places and says so when there are more.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import LIST_DEFAULT, SEARCH_LOOKS_MAX, SNIPPET_CHARS
from clearway.op import op
from clearway.untrusted import folded
from clearway.work import cursors, issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        Cursor,
        IssueRef,
        Labels,
        ListLimit,
        Query,
        SearchTypes,
        SnippetChars,
        Statuses,
        Yes,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)
_TITLES = 2**40  # the place of a title is the number of its entry and this (the schema has it, too)
_END = 2**62
_BEFORE_CHARS = 40  # of a snippet before the word that was found
_BATCH = 400
_SIGNS = {"++": " plusplus ", "#": " sharp "}  # as the schema indexes them


@op(
    core=True,
    cli="search",
    rare=(
        "issue_id",
        "epic_id",
        "statuses",
        "labels",
        "include_archived",
        "snippet_length",
        "entity_types",
        "messages",
    ),
)
def search(
    tx: Tx,
    query: Query,
    entity_types: SearchTypes | None = None,
    issue_id: IssueRef | None = None,
    epic_id: IssueRef | None = None,
    statuses: Statuses | None = None,
    labels: Labels | None = None,
    include_archived: Yes = False,
    snippet_length: SnippetChars = SNIPPET_CHARS,
    messages: Yes = False,
    limit: ListLimit = LIST_DEFAULT,
    cursor: Cursor | None = None,
) -> dict[str, Any]:
    """Find issues, comments, notes, results, decisions by their words: "a phrase", begin*, OR, -without.

    messages: look through your messages instead.
    """
    asked = Question(query)
    if not asked.groups:
        return {"items": [], "has_more": False}
    before = cursors.read(cursor, ("place",)).get("place", _END)
    if messages:
        return _page(*_letters(tx, asked, before, limit, snippet_length))
    conditions = {
        "types": _joined(entity_types),
        "epic": None if epic_id is None else issues.find(tx, epic_id).id,
        "statuses": _joined(statuses),
        "labels": None if labels is None else wire.dumps([label.lower() for label in labels]),
        "archived": int(include_archived),
        "literals": wire.dumps(asked.literals) if asked.literals else None,
    }
    issue = None if issue_id is None else issues.find(tx, issue_id).id
    found, last = _found(tx, asked, before, issue, conditions, limit)
    return _page(_items(tx, found, asked, snippet_length), last)


@op(writes=True, cli="rebuild-search", tool=False)
def rebuild_search(tx: Tx) -> dict[str, Any]:
    """Write the search index anew from what is stored."""
    if not tx.caller.human:
        raise Refusal("FORBIDDEN", "Only a person has the index written anew; it keeps itself.")
    return {"entries": index_anew(tx)}


def index_anew(tx: Tx) -> int:
    """Write the index from what is stored; how many things can be found."""
    tx.change(SQL.forget_words)
    tx.change(SQL.forget_entries)
    tx.change(SQL.enter_all)
    counted = tx.one(SQL.entries)
    assert counted is not None
    return int(counted.entries)


class Term:
    """One word of a question, or several that have to follow each other. begins: more letters may follow."""

    __slots__ = ("begins", "raw")

    def __init__(self, raw: str, *, begins: bool) -> None:
        self.raw = raw
        self.begins = begins

    @property
    def for_sqlite(self) -> str:
        text = self.raw.replace('"', " ")
        for sign, word in _SIGNS.items():
            text = text.replace(sign, word)
        return f'"{text}"{" *" if self.begins else ""}'

    @property
    def for_postgres(self) -> str:
        # The server cuts words as it did for its index: how it reads signs beyond ASCII hangs on its locale.
        words = [word for word in _apart(self.raw).translate(_BLANKS).split(" ") if word]
        return "(" + " <-> ".join(f"'{word}'" for word in words) + (":*)" if self.begins else ")")

    def is_in(self, words: list[str]) -> bool:
        """Whether a text of these words has it."""
        own = _indexed(self.raw)
        for place in range(len(words) - len(own) + 1):
            there = words[place : place + len(own)]
            if there == own or (self.begins and there[:-1] == own[:-1] and there[-1].startswith(own[-1])):
                return True
        return False

    @property
    def literals(self) -> list[str]:
        """What of it has signs in it that no index keeps. Beyond ASCII the engines disagree about capitals."""
        words = [word.strip(_PUNCTUATION) for word in self.raw.lower().split()]
        return [word for word in words if word.isascii() and not word.isalnum() and word]


_PUNCTUATION = ",.;:!?()[]{}<>'`\"*"
_BLANKS = {place: " " for place in range(128) if not chr(place).isalnum()}


class Question:
    """What somebody typed, understood: `groups`, each met by one of its terms, and what is `unwanted`. What
    is no syntax is text."""

    __slots__ = ("groups", "unwanted")

    def __init__(self, text: str) -> None:
        text = _composed(text)
        self.groups: list[list[Term]] = []
        self.unwanted: list[Term] = []
        joined = False
        for raw, quoted, negative in _pieces(text):
            if raw == "OR" and not quoted and not negative and self.groups:
                joined = True
                continue
            begins = raw.endswith("*")
            if not any(letter.isalnum() for letter in raw) and not any(sign in raw for sign in _SIGNS):
                continue
            term = Term(raw.rstrip("*"), begins=begins)
            if negative:
                self.unwanted.append(term)
            elif joined:
                self.groups[-1].append(term)
            else:
                self.groups.append([term])
            joined = False
        if not self.groups:  # nothing but what is not wanted: then it was meant as it stands
            self.groups = [[term] for term in self.unwanted]
            self.unwanted = []

    def is_met_by(self, words: list[str]) -> bool:
        """The same question, answered without an index."""
        met = all(any(term.is_in(words) for term in group) for group in self.groups)
        return met and not any(term.is_in(words) for term in self.unwanted)

    @property
    def for_sqlite(self) -> str:
        wanted = " AND ".join(_any_sqlite(group) for group in self.groups)
        return f"({wanted}) NOT {_any_sqlite(self.unwanted)}" if self.unwanted else wanted

    @property
    def for_postgres(self) -> str:
        wanted = [_any_postgres(group) for group in self.groups]
        return " & ".join([*wanted, *(f"!{term.for_postgres}" for term in self.unwanted)])

    @property
    def literals(self) -> list[str]:
        return [literal for group in self.groups if len(group) == 1 for literal in group[0].literals]

    @property
    def words(self) -> list[str]:
        """What to look for where a text is cut."""
        terms = [term for group in self.groups for term in group]
        words = {word for term in terms for word in (*term.literals, *_words(term.raw)) if word}
        return sorted(words)


def _any_sqlite(terms: list[Term]) -> str:
    return f"({' OR '.join(term.for_sqlite for term in terms)})"


def _any_postgres(terms: list[Term]) -> str:
    return f"({' | '.join(term.for_postgres for term in terms)})"


def _pieces(text: str) -> list[tuple[str, bool, bool]]:
    """The words of a question: each with whether it was in quotes and whether it is not wanted. A quote that nothing
    closes is a letter like any other."""
    pieces: list[tuple[str, bool, bool]] = []
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        negative = text[place] == "-" and not text[place + 1 : place + 2].isspace() and place + 1 < len(text)
        start = place + negative
        closing = text.find('"', start + 1) if text[start] == '"' else -1
        if closing > 0:
            raw, place = text[start + 1 : closing], closing + 1
            if text[place : place + 1] == "*":
                raw, place = raw + "*", place + 1
        else:
            place = start
            while place < len(text) and not text[place].isspace():
                place += 1
            raw = text[start:place]
        pieces.append((raw, closing > 0, negative))
    return pieces


def _words(text: str) -> list[str]:
    """Runs of letters and digits, in small letters."""
    return "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()


def _indexed(text: str) -> list[str]:
    """The same as the indexes have them: without accents, and with names for some signs."""
    return _words(_apart(text))


def _apart(text: str) -> str:
    """As PostgreSQL's index has a text: without accents, and with names for some signs."""
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    if text.isascii():
        return text
    import unicodedata

    apart = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in apart if not "\u0300" <= letter <= "\u036f")


def _composed(text: str) -> str:
    """Letters as nearly everybody writes them; SQLite's index takes them as they are written."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def _found(
    tx: Tx, asked: Question, before: int, issue: str | None, conditions: dict[str, Any], limit: int
) -> tuple[list[int], int | None]:
    """The places of a page, and after which one the next goes on, if there is more to look at."""
    given = {"match": asked.for_sqlite, "tsquery": asked.for_postgres, "issue": issue}
    statement = SQL.places if issue is None else SQL.places_of
    if asked.unwanted:  # a title says nothing of what else is in the text
        before = min(before, _TITLES)
    found: list[int] = []
    batch, looked = limit + 1, 0
    while True:
        places: list[int] = [row.place for row in tx.all(statement, before=before, limit=batch, **given)]
        fitting = _fitting(tx, places, asked, conditions, compare=issue is not None)
        for place in places:
            if place in fitting and len(found) == limit:
                return found, before
            if place in fitting:
                found.append(place)
            before = place
        looked += len(places)
        if len(places) < batch:
            return found, None
        if looked >= SEARCH_LOOKS_MAX:
            return found, before
        batch = _BATCH


def _fitting(tx: Tx, places: list[int], asked: Question, conditions: dict[str, Any], *, compare: bool) -> set[int]:
    """Those of some places that the conditions admit and that were not found by their title before. compare: no index
    has said yet that they have the words."""
    numbers = wire.dumps(sorted({place % _TITLES for place in places}))
    wanted = {row.number for row in tx.all(SQL.wanted, numbers=numbers, **conditions)}
    fitting = {place for place in places if place % _TITLES in wanted}
    numbers = wire.dumps(sorted({place % _TITLES for place in fitting if place < _TITLES or compare}))
    rows = [] if asked.unwanted else tx.all(SQL.titles, numbers=numbers)
    titled = {row.number: _indexed(row.title) for row in rows}
    by_title = {number for number, words in titled.items() if asked.is_met_by(words)}
    whole = _whole(tx, [place for place in fitting if compare and place < _TITLES])

    def fits(place: int) -> bool:
        number = place % _TITLES
        if place < _TITLES:  # what its title speaks for was shown with it
            return number not in by_title and (not compare or asked.is_met_by(whole[number]))
        return not compare or number in by_title

    return {place for place in fitting if fits(place)}


def _whole(tx: Tx, places: list[int]) -> dict[int, list[str]]:
    """All words of some entries."""
    if not places:
        return {}
    numbers = wire.dumps(sorted({place % _TITLES for place in places}))
    rows = tx.all(SQL.texts, numbers=numbers)
    return {row.number: _indexed(f"{row.title} {row.text} {row.labels}") for row in rows}


def _page(items: list[dict[str, Any]], last: int | None) -> dict[str, Any]:
    reply: dict[str, Any] = {"items": items, "has_more": last is not None}
    return reply if last is None else {**reply, "next_cursor": cursors.write({"place": last})}


def _letters(tx: Tx, asked: Question, before: int, limit: int, chars: int) -> tuple[list[dict[str, Any]], int | None]:
    """The newest messages of a page that the caller may read and that have the words. There are few enough of them to
    be read."""
    reader = {"agent": tx.caller.agent, "session": tx.caller.key, "human": int(tx.caller.human)}
    rows = tx.all(SQL.letters, before=before, limit=SEARCH_LOOKS_MAX + 1, **reader)
    items: list[dict[str, Any]] = []
    for place, row in enumerate(rows[:SEARCH_LOOKS_MAX]):
        if len(items) == limit:
            return items, rows[place - 1].id
        if asked.is_met_by(_indexed(row.text)):
            items.append(_letter(row, asked, chars))
    return items, rows[SEARCH_LOOKS_MAX - 1].id if len(rows) > SEARCH_LOOKS_MAX else None


def _letter(row: Row, asked: Question, chars: int) -> dict[str, Any]:
    small = row.text.lower()
    start = min((place for word in asked.words if (place := small.find(word)) >= 0), default=0) - _BEFORE_CHARS
    text = row.text if start <= 0 else f"…{row.text[start:]}"
    return {
        "entity_type": "message",
        "entity_id": f"#{row.id}",
        "title": f"{row.sender} to {'everybody' if row.recipient == '*' else row.recipient}",
        "snippet": folded(text, chars) if chars else "",
        "score": 1,
    }


def _items(tx: Tx, places: list[int], asked: Question, chars: int) -> list[dict[str, Any]]:
    numbers = [place % _TITLES for place in places]
    rows = {
        row.number: row
        for row in tx.all(
            SQL.shown,
            numbers=wire.dumps(numbers),
            words=wire.dumps(asked.words),
            lead=_BEFORE_CHARS,
            chars=chars,
        )
    }
    return [_item(rows[place % _TITLES], place, chars) for place in places]


def _item(row: Row, place: int, chars: int) -> dict[str, Any]:
    shown: dict[str, Any] = {"entity_type": row.type, "entity_id": row.entity}
    if row.issue is not None:
        shown |= {"issue_id": row.issue, "display_id": f"ISSUE-{row.issue_number}"}
    start = max(0, row.place - _BEFORE_CHARS - 1)
    text = f"{'…' if start else ''}{row.snippet}{'…' if start + chars < row.chars else ''}"
    return {
        **shown,
        "title": row.title,
        "snippet": folded(text, chars) if chars else "",
        "score": 2 if place >= _TITLES else 1,
    }


def _joined(words: list[str] | None) -> str | None:
    return None if words is None else "," + ",".join(words) + ","

"""The command lines that leave no question, read without loading the library that answers the questions.

What is spelt exactly as it is declared is understood here and carried out; everything else - a misspelling, a missing
word, a request for help, a word that stands for no operation - is left to the tree of commands in commands.py, which
knows what to say. Both read from the same declarations, and a test compares them line by line.
"""

from __future__ import annotations

from clearway import __version__
from clearway.surfaces import vocabulary
from clearway.surfaces.saying import columns, say
from clearway.surfaces.vocabulary import COMMANDS, Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clearway.surfaces.asking import Run
    from clearway.surfaces.spelling import Slot

_HELP = (["--help"], ["-h"])
# The words that stand for no operation and are read here where nothing stands behind them: where each is answered.
_LOOKS = {
    "": ("looking", "overview"),
    "status": ("looking", "status"),
    "history": ("looking", "history"),
    "board": ("boards", "show"),
}
_MANNERS = {"--as": "agent", "-C": "directory", "--room": "room"}


class Line:
    """A command line that was understood. command: None where only a look around was asked for; looks: at what."""

    def __init__(self) -> None:
        self.command: Command | None = None
        self.looks = ""
        self.given: dict[str, Any] = {}
        self.as_json = False
        self.manners: dict[str, str] = {}


def carried_out(words: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """Do what the words say if they leave no question: the exit status, or None where they do."""
    if "_CLEARWAY_COMPLETE" in environ:
        return None  # a shell asks what could come next
    if list(words) in _HELP:
        from clearway.surfaces import menu

        say(menu.help_page(columns()))
        return 0
    if list(words) == ["--version"]:
        say(f"clearway {__version__}")
        return 0
    line = understood(list(words))
    if line is None:
        return None
    from clearway import config
    from clearway.surfaces.asking import Run

    run = Run()
    try:
        run.as_json = line.as_json
        run.directory = line.manners.get("directory", "")
        run.room = line.manners.get("room", "")
        run.agent = config.check_name(line.manners["agent"]) if "agent" in line.manners else ""
        return _do(line, run)
    finally:
        run.close()


def understood(words: list[str]) -> Line | None:
    """What the words mean, or None where anything about them is a question."""
    line = Line()
    rest = _after_manners(line, words)
    if rest is None:
        return None
    if not rest or (len(rest) == 1 and rest[0] and rest[0] in _LOOKS):
        line.looks = "".join(rest)
        return line
    found = _command(line, rest)
    if found is None:
        return None
    line.command, typed = found
    return line if _reads(line, typed) else None


def _do(line: Line, run: Run) -> int:
    if line.command is not None:
        return run.answer(line.command.operation, run.perform(line.command, line.given), line.command.words)
    module, name = _LOOKS[line.looks]
    getattr(__import__(f"clearway.surfaces.{module}", fromlist=(name,)), name)(run)
    return 0


def _after_manners(line: Line, words: list[str]) -> list[str] | None:
    """The words behind the options that every command takes."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        if not _took_manner(line, rest):
            return None
    return rest


def _took_manner(line: Line, rest: list[str]) -> bool:
    if rest[0] == "--json":
        line.as_json = True
    elif rest[0] in _MANNERS and len(rest) > 1:
        line.manners[_MANNERS[rest[0]]] = rest[1]
        del rest[0]
    else:
        return False
    del rest[0]
    return True


def _command(line: Line, rest: list[str]) -> tuple[Command, list[str]] | None:
    """The command that the first word or two name, and what was typed behind it."""
    if vocabulary.asks_why_of_an_issue(rest):
        return COMMANDS["issue why"], rest[1:]
    if rest[0] in COMMANDS:
        return COMMANDS[rest[0]], rest[1:]
    behind = _after_manners(line, rest[1:])
    if not behind or f"{rest[0]} {behind[0]}" not in COMMANDS:
        return None
    return COMMANDS[f"{rest[0]} {behind[0]}"], behind[1:]


def _reads(line: Line, typed: list[str]) -> bool:
    """Whether all that was typed has its slot; fills them."""
    assert line.command is not None
    slots = line.command.slots
    by_option = {option: slot for slot in slots for option in slot.options}
    off = {slot.no: slot for slot in slots if slot.no}
    alone: list[str] = []
    while typed:
        word = typed[0]
        if not word.startswith("-") or word == "-":
            alone.append(typed.pop(0))
        elif word in off:
            line.given[off[typed.pop(0)].name] = False
        elif word in by_option and by_option[word].is_flag:
            line.given[by_option[typed.pop(0)].name] = True
        elif word in by_option and len(typed) > 1:
            _put(line.given, by_option[word], typed[1])
            del typed[:2]
        elif not _took_manner(line, typed):
            return False
    return _placed(line.given, [slot for slot in slots if slot.placed], alone)


def _put(given: dict[str, Any], slot: Slot, value: str) -> None:
    given[slot.name] = (*given.get(slot.name, ()), value) if slot.several else value


def _placed(given: dict[str, Any], slots: list[Slot], alone: list[str]) -> bool:
    """Whether the words that stand alone are as many as there are places for them; puts them there."""
    if slots and slots[-1].several and len(slots) == 1:
        given[slots[0].name] = tuple(alone)
        return bool(alone) or not slots[0].required
    if not sum(slot.required for slot in slots) <= len(alone) <= len(slots):
        return False
    given.update({slot.name: word for slot, word in zip(slots, alone, strict=False)})
    return True

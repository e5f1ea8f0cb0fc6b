"""The `clearway` command: where it starts, and the one place where a failure becomes a line and an exit status.

A client starts hooks and MCP servers all day, so those two words are answered before the command line is loaded. For
everything else a refusal is one line `CODE: sentence` on stderr (with `--json` the error object), and the exit status
is that of the table. A bug is one line, too: bad input never shows a traceback, and CLEARWAY_LOG=debug shows it.
"""

from __future__ import annotations

import gc
import os
import sys
from io import BufferedIOBase, BufferedWriter, FileIO, TextIOWrapper

from clearway.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn, TextIO

    import click

    from clearway.op import Operation

INTERRUPTED = 130
_SENTENCE_CHARS_MAX = 4_000
_COLUMNS_MIN = 52  # click writes help for no fewer, unless it is told


class Unheard(Exception):
    """The answer could not be written: the disk behind stdout is full, not that of the room."""


class _Out(FileIO):
    """Standard output, whose failures are told apart from those of everything else that is written."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Unheard(error.strerror or type(error).__name__) from error


def main() -> NoReturn:
    """The console script."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and len(words) > 1 and not words[1].startswith("-"):
        from clearway.surfaces import faststep

        faststep.main(words[1])
    if words[:1] == ["mcp"] and not {"-h", "--help"} & set(words):
        from clearway.surfaces import relay

        sys.exit(_funnelled(lambda: relay.main(words[1:], dict(os.environ)), words))
    gc.disable()  # one command makes little garbage, and looking for it costs as much as the command
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    _watch_stdout()
    status = run(words)
    # The interpreter's farewell takes longer than the command, and has nothing left to do: rooms are closed.
    os._exit(status)


def _watch_stdout() -> None:
    out: Any = sys.stdout
    if isinstance(getattr(out, "buffer", None), BufferedIOBase | FileIO):
        raw = BufferedWriter(_Out(out.fileno(), "wb", closefd=False))
        sys.stdout = TextIOWrapper(raw, out.encoding, out.errors, line_buffering=out.line_buffering)


def run(words: Sequence[str]) -> int:
    """Run one command line in this process; its exit status."""
    return _funnelled(lambda: _run(words), words)


def _funnelled(act: Callable[[], int], words: Sequence[str]) -> int:
    try:
        return act()
    except Refusal as refusal:
        return _refused(refusal, words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _hush(sys.stdout)
        return 1
    except Unheard as lost:
        return _done_unheard(lost)
    except OSError as error:
        return _refused(Refusal("STORAGE_FAILURE", _what_the_system_said(error)), words)
    except Exception as error:
        if _debugging(os.environ):
            import traceback

            traceback.print_exc()
        return _refused(Refusal("INTERNAL", _where_it_rose(error)), words)


def _run(words: Sequence[str]) -> int:
    from clearway.surfaces import shortcut

    status = shortcut.carried_out(words, os.environ)
    if status is None:
        return _run_in_full(words)
    _flush()
    return status


def _run_in_full(words: Sequence[str]) -> int:
    import click

    from clearway.surfaces.asking import columns
    from clearway.surfaces.commands import program

    try:
        narrow = columns() if columns() < _COLUMNS_MIN else 0
        status = program.main(
            args=list(words), prog_name="clearway", standalone_mode=False, terminal_width=narrow or None
        )
    except click.UsageError as error:
        raise Refusal("INVALID_ARGUMENT", _what_was_misspelt(error)) from error
    except click.Abort:
        return INTERRUPTED
    _flush()
    return status if isinstance(status, int) else 0


def _flush() -> None:
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] (closed by the caller: `>&-`)
        sys.stdout.flush()


def _refused(refusal: Refusal, words: Sequence[str]) -> int:
    from clearway import wire
    from clearway.untrusted import escaped, folded

    if "--json" in words:
        line = escaped(wire.dumps(refusal.as_dict()))
    else:
        message = refusal.message if "call" in words else _in_words(refusal.message)
        also = "".join(f" Also: {detail['field']} {detail['message']}." for detail in refusal.details[1:])
        line = _on_paper(f"{refusal.code}: {folded(message + also, _SENTENCE_CHARS_MAX)}")
    try:
        print(line, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _hush(sys.stderr)  # nobody listens; the exit status still speaks
    # Whoever is to be woken takes 2 for a message; of that only waking.py decides.
    return 0 if words[:1] == ["wait"] and "--rewake" in words else refusal.exit_status


def _in_words(message: str) -> str:
    """A sentence whose way out is an operation names the words to type instead."""
    if "_" not in message:
        return message
    from clearway.catalog import OPERATIONS

    return " ".join(_word_typed(word, OPERATIONS) for word in message.split(" "))


def _word_typed(word: str, operations: Mapping[str, Operation]) -> str:
    name = word.strip("().,;:")
    operation = operations.get(name) if "_" in name else None
    if operation is None:
        return word
    return word.replace(name, f"clearway {operation.cli}" if operation.cli else f"clearway call {name}")


def _on_paper(line: str) -> str:
    """One line; on a terminal it goes on below, between words."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else None
    except (OSError, ValueError, AttributeError):
        columns = None
    if not columns:
        return line
    from clearway.surfaces import tables

    return tables.flowed(line, columns, 2)


def _what_was_misspelt(error: click.UsageError) -> str:
    where = error.ctx.command_path if error.ctx else "clearway"
    return f"{error.format_message().rstrip('.')}; {where} --help says what it takes."


def _what_the_system_said(error: OSError) -> str:
    what = error.filename if isinstance(error.filename, str) else "the system"
    return f"{what}: {error.strerror or type(error).__name__}."


def _where_it_rose(error: Exception) -> str:
    """The kind of a bug and its place, never its text, which may hold what callers keep secret."""
    if isinstance(error, ImportError) and error.name:
        return f"this installation is not whole ({error.name} cannot be loaded); install Clearway again."
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    at = f" at {place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else ""
    return f"a defect of Clearway, {type(error).__name__}{at}; CLEARWAY_LOG=debug shows the traceback."


def _debugging(environ: Mapping[str, str]) -> bool:
    return environ.get("CLEARWAY_LOG", "") == "debug"


def _done_unheard(lost: Unheard) -> int:
    """The answer is lost and the act is not: no refusal, and nothing to try again."""
    _hush(sys.stdout)
    try:
        print(f"clearway: what was asked is done, but the answer could not be written: {lost}.", file=sys.stderr)
        sys.stderr.flush()
    except (OSError, ValueError):
        _hush(sys.stderr)
    return 1


def _hush(stream: TextIO) -> None:
    """Nobody reads this any more: what is still to be written to it goes nowhere, without a complaint at the end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError, AttributeError):
        pass


if __name__ == "__main__":
    main()

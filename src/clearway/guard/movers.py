"""Programs that copy, move, delete and create files by name, as a table.

What is moved or deleted counts with all that is below it. An empty folder that is made changes no file, and neither
does a file that is only touched: `mkdir`, and `touch` of what is there, are not in the way of anybody.
"""

from __future__ import annotations

from clearway.guard.goals import (
    base_name,
    below,
    deletes,
    edits,
    exists,
    in_folder,
    is_folder,
    is_link,
    landed,
)
from clearway.guard.shellglobs import ANY, DEEP
from clearway.guard.shellwords import Value
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.goals import Goals
    from clearway.guard.toolcall import Action
    from clearway.guard.writers import Run

_INTO = frozenset({"-t", "--target-directory"})
_COPY_VALUED = _INTO | {"-S", "--suffix"}
_INSTALL_VALUED = _COPY_VALUED | {"-m", "--mode", "-o", "--owner", "-g", "--group"}
_RSYNC_VALUED = frozenset(
    "-e --rsh -f --filter --exclude --include --exclude-from --include-from --files-from --backup-dir --suffix -T "
    "--temp-dir --compare-dest --copy-dest --link-dest -B --block-size --rsync-path --timeout --port --max-size "
    "--min-size --bwlimit --log-file --partial-dir --chmod --chown --out-format --password-file -M".split()
)
_SCP_VALUED = frozenset("-c -D -F -i -J -l -o -P -S -X".split())


def _has(options: list[tuple[str, Value | None]], letter: str, *names: str) -> bool:
    """Whether an option is among them: as a letter in any cluster, or by a long name."""
    return any(text in names or (text[:2] != "--" and letter and letter in text[1:]) for text, _ in options)


def _value(options: list[tuple[str, Value | None]], names: frozenset[str]) -> Value | None:
    return next((value for text, value in reversed(options) if text in names and value is not None), None)


def _split(
    run: Run, valued: frozenset[str]
) -> tuple[list[tuple[str, Value | None]], list[Value], Value | None, bool | None]:
    """Options, sources, the goal (None where it does not say one), and whether it must be a folder or none."""
    options, words = split_options(run.arguments, valued, anywhere=True)
    folder = _value(options, _INTO)
    if folder is not None:
        return options, words, folder, True
    into = False if _has(options, "T", "--no-target-directory") else None
    if len(words) == 1 and not words[0].known:  # `cp $files`: the last is the goal
        return options, words, words[0], into
    return (options, words[:-1], words[-1], into) if len(words) > 1 else (options, words, None, into)


def _cp(run: Run) -> Goals:
    _, sources, goal, into = _split(run, _COPY_VALUED)
    return [] if goal is None else edits(landed(run, sources, goal, into=into))


def _mv(run: Run) -> Goals:
    _, sources, goal, into = _split(run, _COPY_VALUED)
    if goal is None:
        return []
    return [*_gone(run, sources), *edits(landed(run, sources, goal, into=into))]


def _install(run: Run) -> Goals:
    options, sources, goal, into = _split(run, _INSTALL_VALUED)
    if goal is None or _has(options, "d", "--directory"):
        return []
    return edits(landed(run, sources, goal, into=into))


def _ln(run: Run) -> Goals:
    options, sources, goal, into = _split(run, _COPY_VALUED)
    if goal is None:
        return edits(source.map(base_name) for source in sources)
    if into is None and _has(options, "n", "--no-dereference") and any(is_link(text, run.scope) for text in goal.texts):
        into = False
    names = [source.map(base_name) for source in sources]
    return edits(landed(run, names, goal, into=into))


def _link(run: Run) -> Goals:
    return edits(split_options(run.arguments)[1][1:2])


def _gone(run: Run, words: list[Value]) -> Goals:
    """A link that goes leaves alone what it leads to."""
    kept = [Value((text for text in word.texts if not is_link(text, run.scope)), word.known) for word in words]
    return deletes(word for word in kept if word.texts or not word.known)


def _rm(run: Run) -> Goals:
    return _gone(run, split_options(run.arguments, anywhere=True)[1])


def _trash(run: Run) -> Goals:
    words = split_options(run.arguments, anywhere=True)[1]
    return _gone(run, words[1:] if words and words[0].text == "trash" else words)


def _dd(run: Run) -> Goals:
    return edits(
        Value((text[3:] for text in word.texts if text.startswith("of=")), word.known)
        for word in run.arguments
        if any(text.startswith("of=") for text in word.texts)
    )


def _named(valued: str = "", *, skipped: int = 0, dry: str = "") -> Callable[[Run], Goals]:
    """A program that changes every file it is given. skipped: operands before them; dry: options that prevent it."""
    options_with_value = frozenset(valued.split())
    prevented = frozenset(dry.split())

    def goals(run: Run) -> Goals:
        options, words = split_options(run.arguments, options_with_value, anywhere=True)
        return [] if any(text in prevented for text, _ in options) else edits(words[skipped:])

    return goals


def _touch(run: Run) -> Goals:
    words = split_options(run.arguments, frozenset({"-d", "--date", "-r", "--reference", "-t"}), anywhere=True)[1]
    new = [Value((text for text in word.texts if not exists(text, run.scope)), word.known) for word in words]
    return [(word, "create") for word in new if word.texts or not word.known]


def _rights(run: Run) -> Goals:
    """Who may do what with a file is a part of it that git keeps, and that can shut its holder out."""
    words = run.arguments
    options = [word.text for word in words if (word.text or "").startswith("-")]
    operands = [word for word in words if not (word.text or "").startswith("-")]
    told = any(option and (option.startswith("--reference") or _is_mode(option)) for option in options)
    operands = operands if told else operands[1:]
    if not any(option and (option == "--recursive" or (option[:2] != "--" and "R" in option)) for option in options):
        return edits(operands)
    return edits(
        word.map(lambda text: below(text) if is_folder(text, run.scope) else text) for word in operands if word.texts
    )


def _is_mode(option: str) -> bool:
    """`chmod -x FILE`: a mode that looks like an option."""
    return len(option) > 1 and not option[1:].strip("rwxXst")


def _rsync(run: Run) -> Goals:
    options, words = split_options(run.arguments, _RSYNC_VALUED, anywhere=True)
    if len(words) < 2 or _has(options, "n", "--dry-run", "--list-only"):
        return []
    sources, goal = words[:-1], words[-1]
    moved: list[tuple[Value, Action]] = []
    if _has(options, "", "--remove-source-files"):
        moved += edits(word.map(lambda text: below(text) if is_folder(text, run.scope) else text) for word in sources)
    if _is_remote(goal):
        return moved
    if any(text.startswith("--del") for text, _ in options):
        return [*moved, *edits([goal.map(below)])]
    ends: list[Value] = []
    for source in sources:  # `src/` means what is in it
        bare = source.map(lambda text: text + "." if text.endswith("/") else text)
        folder = any(is_folder(text, run.scope) for text in (*source.texts, *goal.texts))
        ends += landed(run, [bare], goal, into=True if folder else None)
    return [*moved, *edits(ends)]


def _scp(run: Run) -> Goals:
    words = split_options(run.arguments, _SCP_VALUED, anywhere=True)[1]
    if len(words) < 2 or _is_remote(words[-1]):
        return []
    here = [word.map(lambda text: text.rpartition(":")[2] if _is_far(text) else text) for word in words[:-1]]
    return edits(landed(run, here, words[-1]))


def _is_remote(word: Value) -> bool:
    return any(map(_is_far, word.texts))


def _is_far(text: str) -> bool:
    """`host:path`, as rsync and scp tell it from a file."""
    before, colon, _ = text.partition(":")
    return bool(colon) and "/" not in before


def _rename(run: Run) -> Goals:
    """`rename s/a/b/ FILES`, `rename a b FILES`: the old names go, and the new ones are not known."""
    options, words = split_options(run.arguments, frozenset({"-e", "-E"}), anywhere=True)
    if _has(options, "n", "--no-act", "--nono"):
        return []
    run.walk.unknown = True
    given = any(text in {"-e", "-E"} for text, _ in options)
    pattern = words[0].text or "" if words else ""
    perl = "/" in pattern or pattern[:2] in {"y/", "s|", "s,"} or given
    return deletes(words[0 if given else 1 if perl else 2 :])


def _split_file(run: Run) -> Goals:
    """`split FILE PREFIX`: at least the first piece."""
    valued = frozenset("-a --suffix-length -b --bytes -C --line-bytes -l --lines -n --number -t --separator".split())
    options, words = split_options(run.arguments, valued | {"--additional-suffix", "--filter"}, anywhere=True)
    ending = _value(options, frozenset({"--additional-suffix"}))
    prefix = words[1] if len(words) > 1 else Value(("x",))
    first = "00" if _has(options, "d", "--numeric-suffixes") else "aa"
    return edits([_first_piece(prefix, first, ending)])


def _csplit(run: Run) -> Goals:
    options, _ = split_options(run.arguments, frozenset("-b --suffix-format -f --prefix -n --digits".split()))
    prefix = _value(options, frozenset({"-f", "--prefix"})) or Value(("xx",))
    return edits([_first_piece(prefix, "00", None)])


def _first_piece(prefix: Value, first: str, ending: Value | None) -> Value:
    made = prefix.map(lambda text: text + first)
    return made if ending is None else made.then(ending)


def _second(valued: str = "") -> Callable[[Run], Goals]:
    """`uniq IN OUT`: a program whose second operand is written."""
    options_with_value = frozenset(valued.split())
    return lambda run: edits(split_options(run.arguments, options_with_value, anywhere=True)[1][1:2])


def _xxd(run: Run) -> Goals:
    valued = frozenset("-c -cols -g -groupsize -l -len -n -name -o -s -seek".split())
    return edits(split_options(run.arguments, valued, anywhere=True)[1][1:2])


def _docker_cp(run: Run) -> Goals:
    words = split_options(run.arguments, anywhere=True)[1]
    if not words or words[0].text != "cp" or len(words) < 3 or _is_remote(words[-1]):
        return []
    here = [word.map(lambda text: text.rpartition(":")[2]) for word in words[1:-1]]
    return edits(landed(run, here, words[-1]))


def _rimraf(run: Run) -> Goals:
    """`rimraf` and `del-cli` match patterns by themselves."""
    words = split_options(run.arguments, anywhere=True)[1]
    return _gone(run, [word.map(lambda text: text.replace("**", DEEP).replace("*", ANY)) for word in words])


def _download_folder(run: Run) -> Goals:
    """`aria2c -d DIR -o NAME`."""
    options, _ = split_options(run.arguments, frozenset({"-d", "--dir", "-o", "--out", "-i", "-l", "-x", "-s", "-j"}))
    name = _value(options, frozenset({"-o", "--out"}))
    folder = _value(options, frozenset({"-d", "--dir"}))
    if name is None:
        return []
    return edits([in_folder(folder, name.text or "") if folder is not None else name])


TABLE: dict[str, Callable[[Run], Goals]] = {
    "aria2c": _download_folder,
    "chattr": _rights,
    "chgrp": _rights,
    "chmod": _rights,
    "chown": _rights,
    "cp": _cp,
    "csplit": _csplit,
    "dd": _dd,
    "del-cli": _rimraf,
    "docker": _docker_cp,
    "fallocate": _named("-l --length -o --offset"),
    "gcp": _cp,
    "ginstall": _install,
    "gln": _ln,
    "gmv": _mv,
    "grm": _rm,
    "install": _install,
    "link": _link,
    "ln": _ln,
    "mkfifo": _named("-m --mode"),
    "mknod": lambda run: edits(split_options(run.arguments, frozenset({"-m", "--mode"}))[1][:1]),
    "mv": _mv,
    "podman": _docker_cp,
    "rename": _rename,
    "rimraf": _rimraf,
    "rm": _rm,
    "rmdir": _rm,
    "rsync": _rsync,
    "scp": _scp,
    "setfacl": _named("-m --modify -x --remove -M -X --set"),
    "shred": _named("-s --size -n --iterations --random-source"),
    "split": _split_file,
    "sponge": _named(),
    "srm": _rm,
    "tee": _named(),
    "touch": _touch,
    "trash": _trash,
    "trash-put": _trash,
    "gio": lambda run: _trash(run) if run.arguments and run.arguments[0].text == "trash" else [],
    "truncate": _named("-s --size -r --reference"),
    "uniq": _second("-f --skip-fields -s --skip-chars -w --check-chars"),
    "unlink": _rm,
    "xxd": _xxd,
}

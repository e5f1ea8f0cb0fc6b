"""Programs that change a file where it is: stream editors, line editors, and scripts that name a file to write to.

Of a script in `sed` or `awk`, only a file that stands there letter for letter is read, and since scripts are read
loosely, it is asked about and not claimed.
"""

from __future__ import annotations

from clearway.guard.goals import edits
from clearway.guard.shellwords import Value
from clearway.guard.writers import PATCH_VALUED, split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clearway.guard.goals import Goals
    from clearway.guard.writers import Run

SCRIPT_CHARS_MAX = 8_192

_SED_VALUED = frozenset("-e --expression -f --file -l --line-length".split())
_PERL_VALUED = frozenset("-e -E -I".split())
_RUBY_VALUED = frozenset("-e -I -r -C -E".split())
_AWK_VALUED = frozenset("-f --file -v --assign -F --field-separator -i --include -E -l --load".split())
_EDITOR_VALUED = frozenset("-c --cmd -S -u -U -i -T -w -W -p --prompt -t --eval -f --funcall -l --load".split())


def _sed(run: Run) -> Goals:
    options, words = split_options(run.arguments, _SED_VALUED, anywhere=True)
    scripts = [value for text, value in options if text in {"-e", "--expression"} and value is not None]
    in_place = any(text.startswith("--i") or (text[:2] != "--" and "i" in text) for text, _ in options)
    if in_place and words and words[0].text == "":  # `sed -i '' ...`, as another system spells it
        words = words[1:]
    if not any(text in {"-e", "--expression", "-f", "--file"} for text, _ in options):
        scripts, words = words[:1], words[1:]
    for script in scripts:
        run.walk.suspect(Value(name for text in script.texts for name in _sed_files(text)), run.scope)
    return edits(words) if in_place else []


def _sed_files(script: str) -> Iterator[str]:
    """What stands behind a `w`, whether it is a command or a flag of `s`."""
    for line in script[:SCRIPT_CHARS_MAX].split("\n"):
        at = line.find("w")
        while at >= 0:
            name = line[at + 1 :].strip().rstrip("}").strip()
            if name and (at == 0 or line[at - 1] in "/|,#@!:%~; }{$gpIMme0123456789"):
                yield name
            at = line.find("w", at + 1)


def _perl(run: Run) -> Goals:
    return _scripted(run, _PERL_VALUED, "-e -E")


def _ruby(run: Run) -> Goals:
    return _scripted(run, _RUBY_VALUED, "-e")


def _scripted(run: Run, valued: frozenset[str], inline: str) -> Goals:
    options, words = split_options(run.arguments, valued)
    in_place = any(text[:2] != "--" and "i" in text and text[1] not in "MmxDd" for text, _ in options)
    if not in_place:
        return []
    return edits(words if any(text in inline.split() for text, _ in options) else words[1:])


def _awk(run: Run) -> Goals:
    options, words = split_options(run.arguments, _AWK_VALUED)
    in_file = any(text in {"-f", "--file", "-E"} for text, _ in options)
    program, files = ([], words) if in_file else (words[:1], words[1:])
    for each in program:
        run.walk.suspect(Value(name for text in each.texts for name in _awk_files(text)), run.scope)
    if not any(text in {"-i", "--include"} and value and value.text == "inplace" for text, value in options):
        return []
    return edits(file for file in files if "=" not in (file.text or ""))


def _awk_files(program: str) -> Iterator[str]:
    """What stands in quotes behind the `>` of a `print`."""
    for piece in program[:SCRIPT_CHARS_MAX].split("print")[1:]:
        statement = piece.partition("}")[0]
        at = statement.find(">")
        while at >= 0:
            rest = statement[at:].lstrip("> \t")
            if rest[:1] == '"' and '"' in rest[1:]:
                yield rest[1:].partition('"')[0]
            at = statement.find(">", at + 1)


def _line_editor(run: Run) -> Goals:
    """`ed FILE`, fed with commands; one that waits for a person has none here."""
    words = split_options(run.arguments, frozenset({"-p", "--prompt"}), anywhere=True)[1]
    return edits(words) if run.stdin is not None else []


def _editor(run: Run) -> Goals:
    """`ex -sc x FILE`, `vim -es -c wq FILE`. Without commands it opens a file for a person."""
    options, words = split_options(run.arguments, _EDITOR_VALUED, anywhere=True)
    files = [word for word in words if not (word.text or "").startswith("+")]
    told = run.stdin is not None or len(files) < len(words)
    only_looks = any(text in {"-R", "-M", "--version"} for text, _ in options)
    return [] if only_looks or not (told or options) else edits(files)


def _yq(run: Run) -> Goals:
    valued = frozenset("-o --output-format -p --input-format -I --indent --from-file -s --split-exp".split())
    options, words = split_options(run.arguments, valued, anywhere=True)
    words = words[1:] if words and words[0].text in {"e", "eval", "ea", "eval-all"} else words
    in_place = any(
        text == "--inplace" or text == "--in-place" or (text[:2] != "--" and "i" in text) for text, _ in options
    )
    return edits(words[1:]) if in_place else []


def _patched_file(run: Run) -> Goals:
    """`patch FILE`, whatever names stand in the patch; `patch -o FILE`."""
    options, operands = split_options(run.arguments, PATCH_VALUED, anywhere=True)
    given = dict(options)
    if "--dry-run" in given:
        return []
    other = given.get("-o") or given.get("--output")
    goals = [other] if other else operands[:1]
    folder = given.get("-d") or given.get("--directory")
    return [(folder.then(Value(("/",))).then(goal) if folder else goal, "edit") for goal in goals]


def _replacing(count: int, *, dry: str = "", valued: str = "") -> Callable[[Run], Goals]:
    """`sd OLD NEW FILES`: a program that replaces text in every file behind so many operands."""
    prevented, options_with_value = frozenset(dry.split()), frozenset(valued.split())

    def goals(run: Run) -> Goals:
        options, words = split_options(run.arguments, options_with_value, anywhere=True)
        return [] if any(text in prevented for text, _ in options) else edits(words[count:])

    return goals


def _objcopy(run: Run) -> Goals:
    options, words = split_options(run.arguments, frozenset("-I -O -F -B -j -R -N -K -L -G -W".split()), anywhere=True)
    return edits(words[1:2] or words[:1]) if options or words else []


def _sqlite(run: Run) -> Goals:
    """A database that SQL changes. Text on stdin counts as far as it is known."""
    options, words = split_options(run.arguments, frozenset("-cmd -separator -newline -nullvalue -init".split()))
    if not words or any(text in {"-readonly", "--readonly"} for text, _ in options):
        return []
    commands = words[1:] or ([run.stdin] if run.stdin is not None else [])
    commands += [value for text, value in options if text == "-cmd" and value is not None]
    if any(not command.texts for command in commands):
        run.walk.unknown = True
    for command in commands:
        run.walk.suspect(Value(name for text in command.texts for name in _dumped_to(text)), run.scope)
    spoken = [word.strip("(;") for command in commands for text in command.texts for word in text.lower().split()]
    return edits(words[:1]) if not _CHANGING_SQL.isdisjoint(spoken) else []


def _dumped_to(text: str) -> Iterator[str]:
    """The files behind `.output`, `.once` and `.backup`."""
    for line in text[:SCRIPT_CHARS_MAX].split("\n"):
        words = line.split()
        if len(words) > 1 and words[0] in {".output", ".once", ".backup", ".save"}:
            yield words[-1].strip("'\"")


_CHANGING_SQL = frozenset("alter create delete drop insert reindex replace update vacuum .import .restore".split())


def _strip(run: Run) -> Goals:
    options, words = split_options(run.arguments, frozenset("-K -N -R -o -F".split()), anywhere=True)
    named = [value for text, value in options if text == "-o" and value is not None]
    return edits(named or words)


def _line_ends(run: Run) -> Goals:
    """`dos2unix FILE...`, or `dos2unix -n OLD NEW`."""
    options, words = split_options(run.arguments, frozenset({"-c", "--convmode"}), anywhere=True)
    given = {text for text, _ in options}
    return edits(words[1::2] if given & {"-n", "--newfile"} else [] if given & {"-i", "--info"} else words)


TABLE: dict[str, Callable[[Run], Goals]] = {
    "awk": _awk,
    "dos2unix": _line_ends,
    "ed": _line_editor,
    "emacs": _editor,
    "ex": _editor,
    "gawk": _awk,
    "gsed": _sed,
    "mac2unix": _line_ends,
    "mawk": _awk,
    "nvim": _editor,
    "objcopy": _objcopy,
    "patch": _patched_file,
    "patchelf": _replacing(0, valued="--set-rpath --set-interpreter --add-needed --remove-needed --set-soname"),
    "perl": _perl,
    "red": _line_editor,
    "replace": _replacing(2),
    "rpl": _replacing(2, dry="-s --dry-run"),
    "ruby": _ruby,
    "sd": _replacing(2, dry="-p --preview", valued="-n --max-replacements -f --flags"),
    "sed": _sed,
    "sqlite3": _sqlite,
    "strip": _strip,
    "unix2dos": _line_ends,
    "vi": _editor,
    "vim": _editor,
    "yq": _yq,
}

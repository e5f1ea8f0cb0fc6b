"""Which programs write where, as tables that the walk over a command line looks up.

A new writer is one function and one row: it gets the arguments as they may turn out and names the paths it changes.
Programs that run another command and shells that read a text have tables of their own. What stands in none of them is
taken not to write; whatever it does is found out after the call. Most hooks only ask `cannot_write`, so the walk's own
modules are loaded when it walks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.guard.shellwalk import Walk
    from clearway.guard.shellwords import Scope, Value
    from clearway.guard.toolcall import Action

SCANNED_CHARS_MAX = 65_536  # a longer command goes to the parser without being looked at first
ARGUMENTS_MAX = 4_096  # of a program that writes; so many different files would be refused anyway

_SEPARATORS = str.maketrans(dict.fromkeys(";|&()<=,\n\t!#%:@[]^~*?/", " ") | dict.fromkeys("'\"\\", ""))
_SIGNS = ">$`{"
_TO_NOWHERE = ("2>&1", "2>/dev/null", "2> /dev/null", "&>/dev/null", "&> /dev/null", ">/dev/null", "> /dev/null", ">&2")
_ENDS = frozenset(" \t\n;|&)")


def cannot_write(command: str) -> bool:
    """Whether a command line plainly writes nothing that reading it could show: no redirection to a file, no program of
    these tables in a form that writes, under any quoting, and nothing that could hide one. No parser is needed then."""
    if len(command) > SCANNED_CHARS_MAX:
        return False
    command = without_nowhere(command)
    if any(sign in command for sign in _SIGNS):
        return False
    plain = command.replace("\\\n", "").translate(_SEPARATORS)
    words = plain.lower().split()
    if not SUSPECTS.isdisjoint(words) or ".exe" in plain:
        from clearway.guard.glance import only_looks

        if not only_looks(command):
            return False
    if "git" not in plain and "gh" not in words:
        return True
    from clearway.guard.gitglance import git_is_harmless

    return "--output" not in words and git_is_harmless(command)


def without_nowhere(command: str) -> str:
    """The line without the redirections that are so common and write to no file."""
    if ">" not in command:
        return command
    for sign in _TO_NOWHERE:
        if sign in command:
            first, *rest = command.split(sign)
            pieces = [first]
            for piece in rest:
                pieces += [" " if not piece or piece[0] in _ENDS else sign, piece]
            command = "".join(pieces)
    return command


class Run:
    """One program about to run: its arguments, what it will read from stdin (None: nothing was given to it), and the
    shell around it."""

    __slots__ = ("arguments", "scope", "stdin", "walk")

    def __init__(self, arguments: list[Value], stdin: Value | None, scope: Scope, walk: Walk) -> None:
        self.arguments = arguments
        self.stdin = stdin
        self.scope = scope
        self.walk = walk


def split_options(
    arguments: list[Value], valued: frozenset[str] = frozenset(), *, anywhere: bool = False
) -> tuple[list[tuple[str, Value | None]], list[Value]]:
    """Options, with the values of those in `valued`, and the rest. Options end at the first operand, unless they may
    stand `anywhere`."""
    from clearway.guard.shellwords import Value

    options: list[tuple[str, Value | None]] = []
    operands: list[Value] = []
    waiting = iter(arguments)
    for argument in waiting:
        text = argument.text
        if text == "--":
            break
        if text is None or text in {"", "-"} or text[0] != "-":
            operands.append(argument)
            if not anywhere:
                break
            continue
        flags, option, attached = _option(text, valued)
        if flags:
            options.append((flags, None))
        value = Value((attached,)) if attached else None
        if not attached and option in valued:
            value = next(waiting, None)
        options.append((option, value))
    return options, operands + list(waiting)


def _option(text: str, valued: frozenset[str]) -> tuple[str, str, str]:
    """The option in `-x`, `-xVALUE`, `-abx`, `--long` or `--long=VALUE`, the flags before it in one cluster, and the
    value attached to it."""
    if text.startswith("--"):
        name, _, attached = text.partition("=")
        return "", name, attached
    if text in valued:
        return "", text, ""
    for at in range(1, len(text)):
        if "-" + text[at] in valued:
            return text[:at] if at > 1 else "", "-" + text[at], text[at + 1 :]
    return "", text, ""


# Programs that write to what their arguments name, by the module in which a function for each says where.

_FAMILIES: dict[str, str] = {
    "movers": (
        "aria2c chattr chgrp chmod chown cp csplit dd del-cli docker fallocate gcp ginstall gio gln gmv grm install "
        "link ln mkfifo mknod mv podman rename rimraf rm rmdir rsync scp setfacl shred split sponge srm tee touch "
        "trash trash-put truncate uniq unlink xxd"
    ),
    "inplace": (
        "awk dos2unix ed emacs ex gawk gsed mac2unix mawk nvim objcopy patch patchelf perl red replace rpl ruby sd sed "
        "sqlite3 strip unix2dos vi vim yq"
    ),
    "outputs": (
        "7z 7za 7zz ar as aws babel base64 bsdtar bunzip2 bzip2 c++ cc clang clang++ cmake convert curl dot esbuild "
        "ffmpeg g++ gcc gpg gsutil gtar gunzip gzip iconv inkscape jar json.tool kubectl ld lz4 magick mogrify msgfmt "
        "msgmerge mysqldump openssl pandoc pdftotext pg_dump protoc psql rclone rollup rsvg-convert rustc sass script "
        "shuf sort sox ssh-keygen tar tarfile terser tidy time tree tsc uglifyjs unxz unzip unzstd wget wkhtmltopdf "
        "xmllint xsltproc xz zip zipfile zstd"
    ),
    "formatters": (
        "2to3 add-trailing-comma ast-grep astyle autoflake autopep8 biome black buf cargo-fmt clang-format "
        "cmake-format codespell dart deno djlint docformatter dprint elm-format eslint gofmt gofumpt goimports "
        "golines google-java-format indent isort ktlint markdownlint markdownlint-cli2 mdformat mix nixfmt ormolu "
        "oxlint php-cs-fixer phpcbf prettier pyupgrade rubocop ruff rustfmt scalafmt shfmt sort-package-json sqlfluff "
        "standard standardrb stylelint stylua swiftformat swiftlint taplo terraform tofu uncrustify yapf zig"
    ),
    "packages": ("bun bundle cargo composer dotnet go npm pdm pip pip-compile pip3 pipenv pixi pnpm poetry uv yarn"),
    "gitpaths": ("git"),
    "powershell": (
        "ac add-content clc clear-content copy copy-item cpi del erase expand-archive export-csv invoke-restmethod "
        "invoke-webrequest irm iwr mi move move-item new-item ni "
        "out-file rd remove-item ren rename-item ri rni sc set-content tee-object"
    ),
}

WRITERS: dict[str, str] = {name: family for family, names in _FAMILIES.items() for name in names.split()}


def written_by(program: str, run: Run) -> Iterable[tuple[Value, Action]]:
    """The paths that a program changes, and how."""
    family = WRITERS.get(program)
    if family is None:
        return []
    if len(run.arguments) > ARGUMENTS_MAX:
        run.arguments, run.walk.unknown = run.arguments[:ARGUMENTS_MAX], True
    return _table(family)[program](run)


def _table(family: str) -> dict[str, Callable[[Run], Iterable[tuple[Value, Action]]]]:
    """Only what a line needs is loaded."""
    return __import__(f"clearway.guard.{family}", fromlist=["TABLE"]).TABLE


# Programs that apply a patch: each gives the text of the patch, or None if it applies none.


PATCH_VALUED = frozenset(
    "-i --input -o --output -d --directory -D -F -p -B -r -V -x -Y -z -g".split(),
)


def _marked_patch(run: Run) -> Value | None:
    return run.arguments[0] if run.arguments else run.stdin


def _patch(run: Run) -> Value | None:
    from clearway.guard.shellwords import UNKNOWN

    options, operands = split_options(run.arguments, PATCH_VALUED, anywhere=True)
    given = {option for option, _ in options}
    if "--dry-run" in given or operands or given & {"-o", "--output"}:  # then the file is named
        return None
    if given & {"-d", "--directory"}:
        return UNKNOWN
    named = [value for option, value in options if option in {"-i", "--input"} and value is not None]
    return _in_files(named, run) if named else run.stdin


def _git(run: Run) -> Value | None:
    from clearway.guard.shellwords import UNKNOWN

    valued = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
    options, words = split_options(run.arguments, valued)
    if not words or words[0].text not in {"apply", "am"}:
        return None
    more, files = split_options(words[1:], frozenset({"-p", "-C"}), anywhere=True)
    given = {option for option, _ in more}
    if given & {"--check", "--stat", "--numstat", "--summary"} and "--apply" not in given:
        return None
    if "--cached" in given:  # only in the index
        return None
    elsewhere = any(option in {"-C", "--work-tree"} for option, _ in options) or "--directory" in given
    if words[0].text == "am" or elsewhere:
        return UNKNOWN
    named = [file for file in files if file.text != "-"]
    return _in_files(named, run) if named else run.stdin


def _in_files(files: list[Value], run: Run) -> Value:
    """The patches in these files, as they are now."""
    from clearway.guard.shellbuiltins import read_file
    from clearway.guard.shellwords import Value

    found = Value((), known=False)
    for file in files:
        found = found.either(read_file(file, run.scope))
    return found


PATCHERS: dict[str, Callable[[Run], Value | None]] = {
    "apply_patch": _marked_patch,
    "applypatch": _marked_patch,
    "patch": _patch,
    "git": _git,
}


# Programs that run the command behind them.


class Wrapper:
    """How to find that command: `valued` options take a value, so many operands are `skipped`, NAME=VALUE is allowed
    before it if it `assigns`, and options in `moves` change the directory."""

    __slots__ = ("assigns", "here", "moves", "skipped", "valued")

    def __init__(
        self,
        valued: str = "",
        *,
        skipped: int = 0,
        assigns: bool = False,
        here: bool = False,
        moves: str = "",
    ) -> None:
        self.valued = frozenset(valued.split()) | frozenset(moves.split())
        self.skipped = skipped
        self.assigns = assigns
        self.here = here  # in the shell itself, not in a process of its own
        self.moves = frozenset(moves.split())


WRAPPERS: dict[str, Wrapper] = {
    "builtin": Wrapper(here=True),
    "bunx": Wrapper(),
    "busybox": Wrapper(),
    "caffeinate": Wrapper("-t -w"),
    "chronic": Wrapper(),
    "chroot": Wrapper("--userspec --groups", skipped=1),
    "chrt": Wrapper(skipped=1),
    "command": Wrapper(here=True),
    "doas": Wrapper("-u -C"),
    "env": Wrapper("-u --unset -S --split-string -P", assigns=True, moves="-C --chdir"),
    "exec": Wrapper("-a", here=True),
    "fakeroot": Wrapper("-l -s -i -b"),
    "flock": Wrapper("-w --timeout -E --conflict-exit-code", skipped=1),
    "gtimeout": Wrapper("-s --signal -k --kill-after", skipped=1),
    "ionice": Wrapper("-c --class -n --classdata -p --pid"),
    "nice": Wrapper("-n --adjustment"),
    "nsenter": Wrapper("-t --target"),
    "noglob": Wrapper(here=True),
    "nocorrect": Wrapper(here=True),
    "nohup": Wrapper(),
    "npx": Wrapper("-p --package -w --workspace"),
    "pipx": Wrapper("--spec --python", skipped=1),
    "pnpx": Wrapper(),
    "setarch": Wrapper(skipped=1),
    "setsid": Wrapper(),
    "stdbuf": Wrapper("-i --input -o --output -e --error"),
    "sudo": Wrapper(
        "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout -U "
        "--other-user -R --chroot",
        assigns=True,
        moves="-D --chdir",
    ),
    "strace": Wrapper("-o -e -p -s -u -P"),
    "taskset": Wrapper(skipped=1),
    "time": Wrapper("-f --format -o --output"),
    "timeout": Wrapper("-s --signal -k --kill-after", skipped=1),
    "toybox": Wrapper(),
    "unbuffer": Wrapper(),
    "unshare": Wrapper("-S --setuid -G --setgid -R --root -w --wd"),
    "uvx": Wrapper("--from --with -p --python --with-requirements"),
    "winpty": Wrapper(),
}

XARGS_VALUED = frozenset(
    "-a --arg-file -d --delimiter -E -I -J -L --max-lines -n --max-args -P --max-procs -R -s --max-chars".split()
)

# Programs that run others in ways of their own (shellrunners.RUNNERS), and those that run any text.
RUNS_OTHERS = frozenset("entr fd fdfind find trap watch xargs".split())
RUNS_TEXTS = frozenset("at batch cmd eval parallel powershell pwsh script su".split())

# All in that table: these only print what can be told.
PRINTING = frozenset("basename dirname egrep git grep readlink realpath sort tac uniq".split())
RUNNING = (RUNS_OTHERS | RUNS_TEXTS | PRINTING) - {"eval", "trap", "xargs"}

# Programs that read a text as commands.
SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "mksh", "ash"})

# Programs that write only when they are told to: by one of these letters in an option, or one of these words. They are
# looked at in their own command, without a parser; what is doubtful goes to it.
SOMETIMES: dict[str, tuple[str, frozenset[str]]] = {
    name: (letters, frozenset(words.split()))
    for names, letters, words in (
        ("awk gawk mawk perl ruby", "i", ""),
        ("aws", "", "cp mv sync"),
        ("base64 dot iconv pandoc rsvg-convert sort shuf tree xmllint xsltproc", "o", ""),
        ("bundle", "", "add install lock remove update"),
        ("cargo", "", "add fix fmt --fix generate-lockfile remove rm update"),
        ("curl", "oODc", "--stderr --hsts --etag-save --libcurl --trace"),
        ("cmake", "", "-E"),
        ("docker kubectl podman", "", "cp"),
        ("eslint", "f", "--fix"),
        ("find", "", "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls"),
        ("go", "o", "get mod fmt fix -coverprofile"),
        ("gofmt prettier", "w", ""),
        ("gsutil rclone", "", "copy copyto cp move moveto mv rsync sync"),
        ("gpg openssl psql", "o", ""),
        ("npm", "", "add audit dedupe i install pkg r remove rm shrinkwrap un uninstall up update version exec"),
        ("pip pip3", "t", "--target"),
        ("pnpm yarn bun", "", "add dedupe i install remove rm up update upgrade version dlx exec x"),
        ("poetry", "", "add install lock remove run update version"),
        ("ruff", "", "format --fix --fix-only --add-noqa --unsafe-fixes"),
        ("sqlite3", "", ".backup .once .output .save alter create delete drop insert reindex replace update vacuum"),
        ("terraform tofu", "", "fmt"),
        ("uv", "", "add lock remove run sync version"),
    )
    for name in names.split()
}

SUSPECTS = frozenset({*WRITERS, *PATCHERS, *SHELLS, *RUNS_OTHERS, *RUNS_TEXTS, "apply", "am"}) - {"git"}

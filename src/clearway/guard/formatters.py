"""Programs that put code into shape: which option makes each write, which one prevents it, and which files are its own.

A folder among the operands stands for every file of these endings below it. Such files are asked about and not claimed:
a formatter leaves alone what is in shape already.
"""

from __future__ import annotations

from clearway.guard.goals import below, edits, found_by
from clearway.guard.shellglobs import ANY
from clearway.guard.shellwords import Value
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.goals import Goals
    from clearway.guard.writers import Run


class Formatter:
    """How a program of this kind is called: it writes if one of `asked` is given (always, if there are none) and none
    of `dry`. `verbs`: it does so only behind one of these words. `alone`: without operands, all that is below."""

    __slots__ = ("alone", "asked", "dry", "endings", "valued", "verbs")

    def __init__(
        self, endings: str, *, asked: str = "", dry: str = "", valued: str = "", verbs: str = "", alone: bool = False
    ) -> None:
        self.endings = tuple(endings.split())
        self.asked = frozenset(asked.split())
        self.dry = frozenset(dry.split())
        self.valued = frozenset(valued.split())
        self.verbs = frozenset(verbs.split())
        self.alone = alone


_SCRIPTS = ".js .jsx .ts .tsx .mjs .cjs .mts .cts"
_WEB = f"{_SCRIPTS} .vue .svelte .css .scss .less .html .json .json5 .jsonc .graphql .md .mdx .yaml .yml .hbs"
_C = ".c .h .cc .cpp .cxx .hh .hpp .hxx .m .mm .java .proto .cs"
_BLACK_VALUED = "-l --line-length -t --target-version --config --include --exclude --extend-exclude -W --workers -c"
_RUFF_VALUED = "--config --select --ignore --line-length --target-version --extend-select --output-format --exclude"

FORMATTERS: dict[str, Formatter] = {
    "2to3": Formatter(".py", asked="-w --write", valued="-f --fix -x --nofix -o --output-dir"),
    "add-trailing-comma": Formatter(".py"),
    "ast-grep": Formatter(
        "", asked="-U --update-all", verbs="run scan", valued="-p --pattern -r --rewrite -l --lang -c", alone=True
    ),
    "astyle": Formatter(_C),
    "autoflake": Formatter(".py", asked="-i --in-place", dry="-c --check", valued="--imports --exclude"),
    "autopep8": Formatter(".py", asked="-i --in-place", dry="-d --diff", valued="--select --ignore --max-line-length"),
    "biome": Formatter(_WEB, asked="--write --apply --fix --apply-unsafe", verbs="check format lint", alone=True),
    "black": Formatter(".py .pyi .ipynb", dry="--check --diff --version", valued=_BLACK_VALUED),
    "buf": Formatter(".proto", asked="-w --write", verbs="format", alone=True),
    "clang-format": Formatter(_C, asked="-i", dry="--dry-run -n"),
    "cmake-format": Formatter(".txt .cmake", asked="-i --in-place"),
    "codespell": Formatter("", asked="-w --write-changes", valued="-S --skip -L --ignore-words-list -I"),
    "dart": Formatter(".dart", dry="-o --output --show", verbs="format fix"),
    "deno": Formatter(_WEB, dry="--check", verbs="fmt", alone=True),
    "djlint": Formatter(".html .jinja .j2", asked="--reformat"),
    "docformatter": Formatter(".py", asked="-i --in-place", dry="-c --check"),
    "dprint": Formatter(_WEB, verbs="fmt", alone=True),
    "elm-format": Formatter(".elm", dry="--validate"),
    "eslint": Formatter(
        _SCRIPTS + " .vue .json", asked="--fix", valued="-c --config --ext --rule -f --format", alone=True
    ),
    "gofmt": Formatter(".go", asked="-w", valued="-r"),
    "gofumpt": Formatter(".go", asked="-w"),
    "goimports": Formatter(".go", asked="-w", valued="-local"),
    "golines": Formatter(".go", asked="-w --write-output", valued="-m --max-len", dry="--dry-run"),
    "google-java-format": Formatter(".java", asked="-i -r --replace", dry="-n --dry-run"),
    "indent": Formatter(_C, dry="-o -st"),
    "isort": Formatter(".py .pyi", dry="-c --check --check-only --diff -d", valued="--profile -l --line-length --sp"),
    "ktlint": Formatter(".kt .kts", asked="-F --format", alone=True),
    "markdownlint": Formatter(".md", asked="-f --fix", valued="-c --config"),
    "markdownlint-cli2": Formatter(".md", asked="--fix"),
    "mdformat": Formatter(".md", dry="--check"),
    "mix": Formatter(".ex .exs", dry="--check-formatted --dry-run", verbs="format", alone=True),
    "nixfmt": Formatter(".nix", dry="-c --check"),
    "ormolu": Formatter(".hs", asked="-i --mode"),
    "oxlint": Formatter(_SCRIPTS, asked="--fix", alone=True),
    "php-cs-fixer": Formatter(".php", dry="--dry-run", verbs="fix", alone=True),
    "phpcbf": Formatter(".php", dry="-n"),
    "prettier": Formatter(_WEB, asked="-w --write", valued="--config --parser --plugin --ignore-path"),
    "pyupgrade": Formatter(".py"),
    "rubocop": Formatter(
        ".rb .rake", asked="-a -A -x --autocorrect --auto-correct --autocorrect-all --fix-layout", alone=True
    ),
    "rustfmt": Formatter(".rs", dry="--check --emit", valued="--edition --config --config-path"),
    "scalafmt": Formatter(".scala", dry="--test --check", alone=True),
    "shfmt": Formatter(".sh .bash", asked="-w --write", valued="-i -ln -p"),
    "sort-package-json": Formatter("package.json", dry="-c --check"),
    "sqlfluff": Formatter(".sql", verbs="fix format", valued="--dialect -d"),
    "standard": Formatter(_SCRIPTS, asked="--fix", alone=True),
    "standardrb": Formatter(".rb", asked="--fix", alone=True),
    "stylelint": Formatter(".css .scss .less .vue", asked="--fix", valued="--config"),
    "stylua": Formatter(".lua", dry="--check"),
    "swiftformat": Formatter(".swift", dry="--lint --dryrun"),
    "swiftlint": Formatter(".swift", asked="--fix", alone=True),
    "taplo": Formatter(".toml", dry="--check", verbs="fmt format", alone=True),
    "terraform": Formatter(".tf .tfvars", dry="-check -diff", verbs="fmt", alone=True),
    "tofu": Formatter(".tf .tfvars", dry="-check -diff", verbs="fmt", alone=True),
    "uncrustify": Formatter(_C, asked="--replace --no-backup", valued="-c -l"),
    "yapf": Formatter(".py", asked="-i --in-place", dry="-d --diff", valued="--style -e --exclude"),
    "zig": Formatter(".zig", dry="--check", verbs="fmt"),
}


def formatted(run: Run, formatter: Formatter) -> Goals:
    options, words = split_options(run.arguments, formatter.valued, anywhere=True)
    if formatter.verbs:
        if not words or words[0].text not in formatter.verbs:
            return []
        words = words[1:]
    given = {text for text, _ in options}
    given |= {"-" + letter for text in given if text[:2] != "--" and len(text) <= 4 for letter in text[1:]}
    if not formatter.dry.isdisjoint(given) or (formatter.asked and formatter.asked.isdisjoint(given)):
        return []
    words = [word.map(_without_dots) for word in words]
    if not words and formatter.alone:
        words = [Value((".",))]
    return edits(found_by(word, run.scope, formatter.endings) for word in words)


def _without_dots(text: str) -> str:
    """`./...` as Go's own programs mean it."""
    return text.removesuffix("/...") or "/" if text.endswith("/...") else text


def _ruff(run: Run) -> Goals:
    verb = split_options(run.arguments, frozenset({"--config"}))[1][:1]
    if not verb:
        return []
    if verb[0].text == "format":
        formatter = Formatter(".py .pyi .ipynb", dry="--check --diff", valued=_RUFF_VALUED, verbs="format", alone=True)
    else:
        asked = "--fix --fix-only --add-noqa --unsafe-fixes"
        formatter = Formatter(
            ".py .pyi .ipynb", asked=asked, dry="--diff --no-fix", valued=_RUFF_VALUED, verbs="check", alone=True
        )
    return formatted(run, formatter)


def _cargo(run: Run) -> Goals:
    """What `cargo fmt`, `cargo fix` and `cargo clippy --fix` change; of its files of packages, another table knows."""
    words = [word.text or "" for word in run.arguments if not (word.text or "").startswith("+")]
    verb = next((word for word in words if word[:1] != "-"), "")
    told = set(words)
    fixes = verb == "fix" or (verb == "clippy" and "--fix" in told) or (verb == "fmt" and "--check" not in told)
    return edits([Value((below(".", ANY + ".rs"),))]) if fixes else []


def _go(run: Run) -> Goals:
    words = run.arguments
    if not words or words[0].text not in {"fmt", "fix"}:
        return []
    folders = [word for word in words[1:] if not (word.text or "").startswith("-")] or [Value((".",))]
    return edits(found_by(folder.map(_without_dots), run.scope, (".go",)) for folder in folders)


def _of(formatter: Formatter) -> Callable[[Run], Goals]:
    return lambda run: formatted(run, formatter)


TABLE: dict[str, Callable[[Run], Goals]] = {
    **{name: _of(formatter) for name, formatter in FORMATTERS.items()},
    "cargo-fmt": lambda _: edits([Value((below(".", ANY + ".rs"),))]),
    "ruff": _ruff,
}

# Programs of which only some words put code into shape.
ALSO: dict[str, Callable[[Run], Goals]] = {"cargo": _cargo, "go": _go}

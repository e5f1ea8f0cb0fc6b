"""The texts of the git hooks that are installed: short shell scripts that run what was there before, then Clearway.

What was there comes first, with the same arguments and input, and its exit status is kept: it may still change what is
staged, and ours is the last look at it. A missing interpreter or package keeps nobody from committing: it ends as one
line and exit 0, as for the hooks of clients (registered.py).
"""

from __future__ import annotations

import os
import shlex

from clearway.setup.registered import Binding, Product, installed_product

OURS = ("pre-commit", "pre-merge-commit", "commit-msg", "post-commit", "pre-push")
# A folder that takes another one's place also has these, should somebody put one of them there later. Hooks whose mere
# presence changes what git does, or which it runs at every turn, are handed on only where they are.
HANDED_ON = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "prepare-commit-msg", "pre-rebase", "post-checkout"),
    *("post-merge", "post-rewrite", "pre-auto-gc"),
)
BESIDE = ".before-clearway"
MARK = "# Clearway:"
_WHAT = f"{MARK} looks at what is committed and pushed here. `clearway git-hooks remove` takes this away again."
# No single quote in it; see registered.BOOT, whose promises it shares.
_BOOT = (
    "import sys; sys.path += FOLDERS; "
    "sys.excepthook = lambda *problem: ("
    'print("clearway:", repr(problem[1]) + ", guard open", file=sys.stderr, flush=True), __import__("os")._exit(0)); '
    "import clearway.surfaces.githooks as hook; sys.excepthook = sys.__excepthook__; hook.main(sys.argv[1:])"
)
_FIRST = """\
if test -x "$before" && test -z "${PRE_COMMIT_RUNNING_LEGACY:-}"; then
  "$before" "$@" || exit $?
fi"""
# What git makes of the status of this one is nothing; ours is to run in any case.
_FIRST_OF_POST = """\
if test -x "$before"; then
  "$before" "$@"
fi"""
# Both are told what is pushed. An empty input stays empty.
_FIRST_OF_PUSH = """\
pushed=$(cat)
tell() { test -z "$pushed" || printf '%s\\n' "$pushed"; }
if test -x "$before" && test -z "${PRE_COMMIT_RUNNING_LEGACY:-}"; then
  tell | "$before" "$@" || exit $?
fi"""


def script(name: str, former: str | None, binding: Binding, product: Product | None = None) -> str:
    """The text of one hook of ours. former: the folder of the hook that runs first; None for the one beside it."""
    product = product or installed_product()
    interpreter = shlex.quote(product.interpreter)
    before = f'"${{0%/*}}/{name}{BESIDE}"' if former is None else shlex.quote(os.path.join(former, name))
    first = {"post-commit": _FIRST_OF_POST, "pre-push": _FIRST_OF_PUSH}.get(name, _FIRST)
    closed = "CLEARWAY_FAIL_CLOSED=1 " if binding.fail_closed else ""
    home = shlex.quote(binding.home)
    run = f'{interpreter} -I -S -c {shlex.quote(_boot(product))} {name} "$@"'
    lines = [
        "#!/bin/sh",
        _WHAT,
        f"before={before}",
        first,
        'case "${CLEARWAY_OFF:-}" in 1 | true | yes | on) exit 0 ;; esac',
        f'test -x {interpreter} || {{ echo "clearway: not installed, guard open" >&2; exit 0; }}',
        f'test -n "${{CLEARWAY_HOME:-}}" || CLEARWAY_HOME={home}',
        f"export CLEARWAY_HOME; {closed}{f'tell | {run}' if name == 'pre-push' else f'exec {run}'}",
    ]
    return "\n".join(lines) + "\n"


def handing_on(name: str, former: str) -> str:
    """The text of a hook that only runs the one in the folder whose place was taken."""
    before = shlex.quote(os.path.join(former, name))
    return f'#!/bin/sh\n{_WHAT}\ntest -x {before} || exit 0\nexec {before} "$@"\n'


def interpreter_in(text: str) -> str:
    """The interpreter that a hook of ours runs; empty for a text that names none."""
    for line in text.splitlines():
        words = line.split(" ||", 1)[0] if line.startswith("test -x ") and "not installed" in line else ""
        try:
            return shlex.split(words)[2]
        except (IndexError, ValueError):
            continue
    return ""


def _boot(product: Product) -> str:
    folders = ", ".join(map(_literal, product.folders))
    return _BOOT.replace("FOLDERS", f"[{folders}]")


def _literal(text: str) -> str:
    """A Python string in ASCII, without a single quote."""
    return (
        '"'
        + "".join(
            sign if sign.isascii() and sign.isprintable() and sign not in "\\\"'" else _code(sign) for sign in text
        )
        + '"'
    )


def _code(sign: str) -> str:
    return f"\\U{ord(sign):08x}"

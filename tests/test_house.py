"""The rules of the house, checked on the source: who may import whom, and who alone may touch what.

The tables are the rules; change them with the same care as a promise. Every rule comes with a small source that breaks
it, so that a rule cannot fall silent unnoticed. Style that the linter can check is left to the linter.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import apsw
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "src" / "clearway"

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 700

# A room of the house is a folder of the package, or a module directly in it. Arrows point downwards only.
PURE = {
    "amounts", "annotating", "errors", "clock", "children", "alive", "platforms", "limits", "lifecycle", "leasing",
    "paths", "testruns", "untrusted", "wire",
}  # fmt: skip
GROUND = PURE | {
    "driver",
    "beats",
    "opencalls",
    "tally",
    "trail",
    "proofs",
    "repository",
    "worktrees",
    "config",
    "db",
    "op",
    "arguments",
    "kinds",
}
GROUND |= {"caps", "lapse", "policy"}
NOUNS = {"work", "crew", "guard"}
INSIDE = GROUND | NOUNS | {"catalog", "room", "rooms", "keeping", "retention", "scene", "replay"}

MAY_IMPORT: dict[str, set[str]] = {
    "clearway": set(),
    **dict.fromkeys(PURE, PURE),
    "beats": PURE,
    "driver": set(),
    "opencalls": PURE | {"beats"},
    "tally": PURE | {"beats"},
    "trail": PURE | {"beats"},
    "proofs": PURE,
    "config": PURE,
    "repository": PURE | {"config"},
    "worktrees": {"repository"},
    "db": PURE | {"driver", "beats", "config", "opencalls"},
    "op": PURE,
    "arguments": PURE | {"repository", "config", "kinds", "op"},
    "kinds": PURE | {"repository", "config"},
    "caps": PURE | {"db", "policy"},
    "lapse": PURE | {"caps", "db", "policy", "trail"},
    "policy": PURE | {"arguments", "config", "db", "op"},
    "scene": PURE | {"db"},
    "replay": PURE | {"scene", "arguments", "db", "op"},
    "work": GROUND | {"clearway"},  # the version, which a project's reader is told
    "crew": GROUND,
    "guard": GROUND | {"crew"},
    "catalog": GROUND | NOUNS | {"replay"},
    "room": GROUND | NOUNS | {"catalog"},
    "keeping": GROUND | {"room"},
    "retention": GROUND | {"room", "guard", "scene"},
    "rooms": GROUND | NOUNS | {"catalog", "room", "keeping"},
    "setup": INSIDE | {"clearway"},
    "worker": INSIDE | {"clearway"},
    "surfaces": INSIDE | {"clearway", "setup", "worker"},
}

# Packages of other people, and the one place that may know each. A package that is not here may not be imported.
ONLY_IN: dict[str, tuple[str, ...]] = {
    "apsw": ("driver.py", "db/sqlite.py", "db/copies.py", "db/salvage.py"),  # the fast step asks without the house
    "psycopg": ("db/postgres.py",),
    "psycopg_pool": ("db/postgres.py",),
    "sqlite3": (),  # a second SQLite library in one process drops the locks of the first
    "_sqlite3": (),
    "mcp": ("surfaces/mcp.py",),
    "mcp_types": ("surfaces/mcp.py",),
    "anyio": ("surfaces/mcp.py",),
    "starlette": ("surfaces/http.py", "surfaces/host.py"),
    "uvicorn": ("surfaces/http.py", "surfaces/host.py"),
    "click": ("surfaces/",),
    "tomlkit": ("setup/",),
    "yaml": ("surfaces/planfiles.py",),
}

# Whoever needs the time, an id or chance asks the clock, so that a whole run can be replayed from a seed.
# The fast step compares the age of a beat and may load no more than the time itself.
READS_THE_CLOCK = {"clock.py", "alive.py", "platforms.py", "guard/quiet.py"}
CHANCE_AND_TIME = {"time", "random", "secrets", "uuid"}
READS_THE_ENVIRONMENT = {"config.py"}
MAY_PASS_THE_ENVIRONMENT_ON = ("setup/", "surfaces/", "worker/")

# What a hook loads is paid on every tool call of every agent.
LIGHT_ROOMS = GROUND | {"room", "rooms", "replay", "scene", "crew", "guard"}
LIGHT_FILES = (
    *("surfaces/hooks.py", "surfaces/faststep.py", "surfaces/callers.py", "surfaces/clients/", "surfaces/moments/"),
    *("surfaces/githooks.py", "work/checkpoints.py", "work/commits.py"),
    # A plain command is short, and prompts ask one before every line.
    *("catalog.py", "surfaces/cli.py", "surfaces/shortcut.py", "surfaces/vocabulary.py", "surfaces/index.py"),
    *("surfaces/saying.py", "surfaces/menu.py", "surfaces/spelling.py", "surfaces/asking.py", "surfaces/looking.py"),
    *("surfaces/render.py", "surfaces/tables.py", "surfaces/briefs.py", "surfaces/errands.py", "surfaces/letters.py"),
    *("surfaces/scenes.py", "surfaces/spending.py", "surfaces/stories.py", "surfaces/verdicts.py"),
)
HEAVY_FILES = ("db/postgres.py",)
HEAVY = {
    "asyncio", "base64", "click", "collections.abc", "contextlib", "ctypes", "dataclasses", "datetime", "email", "enum",
    "functools", "hashlib", "hmac", "importlib.metadata", "inspect", "json", "logging", "mcp", "msgspec", "pathlib",
    "psycopg", "re", "shlex", "shutil", "socket", "subprocess", "tempfile", "threading", "tomllib",
    "traceback", "typing", "urllib", "uuid",
}  # fmt: skip

SAYS_NOTHING = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}

SQL_TEXT = re.compile(
    r"\b(SELECT\s.+\sFROM\s|SELECT\s+\w+\(|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s"
    r"|(CREATE|ALTER|DROP)\s+(UNIQUE\s+)?(TABLE|INDEX|TRIGGER|VIEW|SCHEMA)\b|PRAGMA\s|BEGIN\s+IMMEDIATE)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Source:
    """One Python file: `path` is relative to the package (or to the tests), with forward slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @property
    def room(self) -> str:
        first = self.path.partition("/")[0].removesuffix(".py")
        return "clearway" if first == "__init__" else first


Rule = Callable[[Source], Iterator[str]]


# The rules. Each yields one sentence for every place that breaks it.


def imports_point_downwards(source: Source) -> Iterator[str]:
    allowed = MAY_IMPORT.get(source.room, set()) | {source.room}
    for line, name in _imports(source):
        top, _, rest = name.partition(".")
        if top == "clearway":
            room = rest.partition(".")[0]
            room = "clearway" if room in {"", "__version__", "__file__"} else room
            if room not in allowed:
                yield f"{source.path}:{line} {source.room} may not import {room}"


def every_room_has_its_place(source: Source) -> Iterator[str]:
    if source.room not in MAY_IMPORT:
        yield f"{source.path}:1 {source.room} is not in the table of rooms: give it a place"


def packages_are_known_in_one_place(source: Source) -> Iterator[str]:
    for line, name in _imports(source):
        top = name.partition(".")[0]
        if top in ONLY_IN:
            if not source.path.startswith(ONLY_IN[top]):
                yield f"{source.path}:{line} {top} may be imported only in {', '.join(ONLY_IN[top]) or 'no file'}"
        elif top != "clearway" and top not in sys.stdlib_module_names:
            yield f"{source.path}:{line} {top} is not in the table of packages"


def only_the_clock_reads_time_and_chance(source: Source) -> Iterator[str]:
    if source.path in READS_THE_CLOCK:
        return
    for line, name in _imports(source):
        if name.partition(".")[0] in CHANCE_AND_TIME or name in {"os.urandom", "os.getrandom"}:
            yield f"{source.path}:{line} {name} belongs to the clock"
    for node in source.nodes:
        if isinstance(node, ast.Attribute):
            random = node.attr in {"urandom", "getrandom", "times"}
            today = node.attr in {"now", "utcnow", "today"}
            owner = ast.unparse(node.value) if random or today else ""
            if (random and owner == "os") or (today and owner.endswith(("datetime", "date"))):
                yield f"{source.path}:{node.lineno} {owner}.{node.attr} belongs to the clock"


def only_config_reads_the_environment(source: Source) -> Iterator[str]:
    if source.path in READS_THE_ENVIRONMENT:
        return
    passed_on: set[ast.AST] = set()
    if source.path.startswith(MAY_PASS_THE_ENVIRONMENT_ON):
        for node in source.nodes:
            if isinstance(node, ast.Call):
                passed_on.update(node.args, (keyword.value for keyword in node.keywords))
    for line, name in _imports(source):
        if name in {"os.environ", "os.environb", "os.getenv"}:
            yield f"{source.path}:{line} {name} belongs to config"
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node not in passed_on:
            if node.attr in {"environ", "environb", "getenv"} and ast.unparse(node.value) in {"os", "posix"}:
                yield f"{source.path}:{node.lineno} os.{node.attr} belongs to config"


def what_a_hook_loads_is_light(source: Source) -> Iterator[str]:
    light = source.room in LIGHT_ROOMS or source.path.startswith(LIGHT_FILES)
    if not light or source.path in HEAVY_FILES:
        return
    for line, name in _imports_on_loading(source.tree):
        if any(name == heavy or name.startswith(f"{heavy}.") for heavy in HEAVY):
            yield f"{source.path}:{line} {name} is too heavy for a module that a hook loads"


def sql_stands_in_sql_files(source: Source) -> Iterator[str]:
    if source.room == "db":
        return
    prose = _docstrings(source)
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            if SQL_TEXT.search(node.value):
                yield f"{source.path}:{node.lineno} SQL in Python: {node.value.strip()[:40]!r}"


def functions_fit_on_a_page(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{source.path}:{node.lineno} {node.name} has {length} lines, more than {FUNCTION_LINES_MAX}"


def files_stay_readable(source: Source) -> Iterator[str]:
    length = len(source.text.splitlines())
    if length > FILE_LINES_MAX:
        yield f"{source.path}:1 has {length} lines, more than {FILE_LINES_MAX}"


def every_module_says_what_it_is(source: Source) -> Iterator[str]:
    tree = source.tree
    if tree.body and not ast.get_docstring(tree):
        yield f"{source.path}:1 has no docstring"


def names_mean_something(source: Source) -> Iterator[str]:
    for part in source.path.removesuffix(".py").split("/"):
        if part in SAYS_NOTHING:
            yield f"{source.path}:1 {part} says nothing: which idea is missing?"


def time_is_moved_in_tests_never_waited_for(source: Source) -> Iterator[str]:
    for line, name in _imports(source):
        if name in {"time.sleep", "asyncio.sleep", "anyio.sleep"}:
            yield f"{source.path}:{line} a test sleeps"
    for node in source.nodes:
        if isinstance(node, ast.Call) and _dotted(node.func) in {"time.sleep", "asyncio.sleep", "anyio.sleep"}:
            if [ast.unparse(argument) for argument in node.args] != ["0"]:
                yield f"{source.path}:{node.lineno} a test sleeps"


def our_sqlite_is_the_only_one_in_tests(source: Source) -> Iterator[str]:
    for line, name in _imports(source):
        if name.partition(".")[0] in {"sqlite3", "_sqlite3"}:
            yield f"{source.path}:{line} a second SQLite library in one process drops the locks of the first"


HOUSE_RULES: tuple[Rule, ...] = (
    imports_point_downwards,
    every_room_has_its_place,
    packages_are_known_in_one_place,
    only_the_clock_reads_time_and_chance,
    only_config_reads_the_environment,
    what_a_hook_loads_is_light,
    sql_stands_in_sql_files,
    functions_fit_on_a_page,
    files_stay_readable,
    every_module_says_what_it_is,
    names_mean_something,
)
TEST_RULES: tuple[Rule, ...] = (time_is_moved_in_tests_never_waited_for, our_sqlite_is_the_only_one_in_tests)


@pytest.mark.parametrize("rule", HOUSE_RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_its_rule(rule: Rule) -> None:
    broken = _broken(PACKAGE, HOUSE_RULES)[rule]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("rule", TEST_RULES, ids=lambda rule: rule.__name__)
def test_the_tests_keep_their_rule(rule: Rule) -> None:
    broken = _broken(REPOSITORY / "tests", TEST_RULES)[rule]
    assert not broken, "\n".join(broken)


BREAKS: list[tuple[Rule, str, str]] = [
    (imports_point_downwards, "work/attempts.py", "from clearway.crew import leases"),
    (imports_point_downwards, "crew/agents.py", "import clearway.work.issues"),
    (imports_point_downwards, "crew/agents.py", "from clearway import room"),
    (imports_point_downwards, "leasing.py", "def later():\n    from clearway.db import Row"),
    (imports_point_downwards, "db/sqlite.py", "from clearway.lapse import lapse"),
    (imports_point_downwards, "guard/verdict.py", "from clearway.surfaces.clients import claude"),
    (imports_point_downwards, "setup/doctor.py", "from clearway.surfaces import cli"),
    (imports_point_downwards, "crew/agents.py", "import importlib\nimportlib.import_module('clearway.surfaces.cli')"),
    (every_room_has_its_place, "cellar.py", ""),
    (every_room_has_its_place, "attic/box.py", ""),
    (packages_are_known_in_one_place, "room.py", "import apsw"),
    (packages_are_known_in_one_place, "db/sqlite.py", "from psycopg import Connection"),
    (packages_are_known_in_one_place, "db/sqlite.py", "import sqlite3"),
    (packages_are_known_in_one_place, "surfaces/cli.py", "from mcp.server import Server"),
    (packages_are_known_in_one_place, "guard/shell.py", "import bashlex"),
    (only_the_clock_reads_time_and_chance, "lapse.py", "import time"),
    (only_the_clock_reads_time_and_chance, "room.py", "from time import monotonic_ns"),
    (only_the_clock_reads_time_and_chance, "work/issues.py", "import os\nos.urandom(16)"),
    (only_the_clock_reads_time_and_chance, "work/issues.py", "import datetime\ndatetime.datetime.now()"),
    (only_config_reads_the_environment, "room.py", "import os\nos.environ.get('CLEARWAY_HOME')"),
    (only_config_reads_the_environment, "surfaces/cli.py", "import os\nhome = os.environ['HOME']"),
    (only_config_reads_the_environment, "surfaces/cli.py", "from os import getenv"),
    (only_config_reads_the_environment, "guard/shell.py", "import os\nrun(os.environ)"),
    (what_a_hook_loads_is_light, "guard/shell.py", "import subprocess"),
    (what_a_hook_loads_is_light, "crew/leases.py", "try:\n    from typing import Any\nexcept ImportError:\n    pass"),
    (what_a_hook_loads_is_light, "surfaces/clients/claude.py", "import json.decoder"),
    (what_a_hook_loads_is_light, "surfaces/hooks.py", "from collections.abc import Mapping"),
    (sql_stands_in_sql_files, "work/issues.py", "text = 'SELECT id FROM issue WHERE id = :id'"),
    (sql_stands_in_sql_files, "surfaces/cli.py", "text = f'UPDATE issue SET title = {title}'"),
    (sql_stands_in_sql_files, "room.py", "run('BEGIN IMMEDIATE')"),
    (functions_fit_on_a_page, "room.py", "def ask():\n" + "    pass\n" * FUNCTION_LINES_MAX),
    (files_stay_readable, "room.py", "\n" * (FILE_LINES_MAX + 1)),
    (every_module_says_what_it_is, "room.py", "import os"),
    (names_mean_something, "work/utils.py", ""),
    (time_is_moved_in_tests_never_waited_for, "test_lapse.py", "import time\ntime.sleep(0.1)"),
    (time_is_moved_in_tests_never_waited_for, "test_lapse.py", "from time import sleep"),
    (our_sqlite_is_the_only_one_in_tests, "test_room.py", "import sqlite3"),
]

KEEPS: list[tuple[Rule, str, str]] = [
    (imports_point_downwards, "work/attempts.py", "from clearway import lapse\nfrom clearway.work import issues"),
    (imports_point_downwards, "surfaces/cli.py", "from clearway import __version__\nfrom clearway.setup import doctor"),
    (packages_are_known_in_one_place, "db/sqlite.py", "import apsw\nimport os"),
    (only_the_clock_reads_time_and_chance, "clock.py", "import time"),
    (only_config_reads_the_environment, "surfaces/cli.py", "import os\nrun(os.environ, home=os.environ)"),
    (what_a_hook_loads_is_light, "guard/shell.py", "if TYPE_CHECKING:\n    from typing import Any"),
    (what_a_hook_loads_is_light, "clock.py", "def token():\n    import hmac"),
    (what_a_hook_loads_is_light, "surfaces/commands.py", "import json"),
    (
        sql_stands_in_sql_files,
        "room.py",
        "'''Writes begin with BEGIN IMMEDIATE.'''\ntext = 'Select one from the list.'",
    ),
    (time_is_moved_in_tests_never_waited_for, "test_lapse.py", "import asyncio\nasyncio.sleep(0)"),
]


@pytest.mark.parametrize(("rule", "path", "text"), BREAKS)
def test_a_rule_notices_what_breaks_it(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), KEEPS)
def test_a_rule_lets_good_code_be(rule: Rule, path: str, text: str) -> None:
    assert not list(rule(Source(path, text)))


def test_every_rule_has_an_example_that_breaks_it() -> None:
    assert {rule for rule, _, _ in BREAKS} == {*HOUSE_RULES, *TEST_RULES}


def test_the_table_of_rooms_has_no_way_back_up() -> None:
    """Two rooms that may import each other are one room; only the pure modules share a floor."""
    both_ways = {
        frozenset((room, other))
        for room, others in MAY_IMPORT.items()
        for other in others - {room}
        if room in MAY_IMPORT[other] and not {room, other} <= PURE
    }
    assert not both_ways


# Statements and the Python that names them.


def test_every_statement_is_used_and_every_name_exists() -> None:
    found = _statements(PACKAGE)
    assert found.pop("guard/quiet") == {"own_lease"}  # read by the fast step itself, without the house's loader
    broken = _statement_faults(_sources(PACKAGE), found)
    assert not broken, "\n".join(broken)


def test_an_unused_a_misspelt_and_a_missing_statement_are_noticed() -> None:
    sources = [
        Source("work/issues.py", "SQL = statements(__file__)\ntx.one(SQL.find)\ntx.one(SQL.fnid)"),
        Source("work/plans.py", "from clearway.work.issues import SQL as ISSUES\ntx.one(ISSUES.list)"),
        Source("work/context.py", "from clearway.work import issues\ntx.one(issues.SQL.count)"),
        Source("crew/agents.py", "SQL = statements(__file__)"),
    ]
    assert _statement_faults(sources, {"work/issues": {"find", "list", "count", "forgotten"}, "attic": {"old"}}) == [
        "attic.sql: nobody uses old",
        "work/issues.sql has no fnid",
        "work/issues.sql: nobody uses forgotten",
        "there is no crew/agents.sql",
    ]


def test_nothing_stands_there_that_nobody_names() -> None:
    broken = _unnamed(_sources(PACKAGE))
    assert not broken, "\n".join(broken)


def test_what_nobody_names_is_noticed() -> None:
    old = Source("work/old.py", "OLD = 1\n@op\ndef asked(): return _made()\ndef _made(): ...")
    namesake = Source("crew/new.py", "NEW = 2\n_kept = 1\nprint(NEW)")
    assert _unnamed([old, namesake]) == [
        "crew/new.py:2 nobody names _kept",
        "work/old.py:1 nobody names OLD",
    ]


# What a hook loads, in a bare interpreter.

HOOK_MAY_LOAD = {
    "__future__", "_collections_abc", "_json", "_sha2", "_sha256", "_signal", "_stat", "abc", "apsw", "errno", "fcntl",
    "gc", "genericpath", "os", "os.path", "posixpath", "select", "stat",
}  # fmt: skip
HOOK_MAY_NOT_LOAD_OF_OURS = ("clearway.arguments", "clearway.catalog", "clearway.db.postgres", "clearway.setup")

# Stands in for the last thing a hook does, and writes down what was loaded by then.
PROBE = """
import sys
bare = set(sys.modules)
import os
def end(status):
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(out, "\\n".join(sorted(set(sys.modules) - bare)).encode())
    leave(status)
import posix
leave = posix._exit
os._exit = posix._exit = end
sys.path += FOLDERS
"""
BEFORE_EDIT: dict[str, object] = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Edit",
    "tool_input": {"file_path": "app.py"},
}
BEFORE_SHELL: dict[str, object] = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "echo x > app.py"},
}
AFTER_EDIT: dict[str, object] = {
    "hook_event_name": "PostToolUse",
    "tool_name": "Edit",
    "tool_input": {"file_path": "app.py"},
}
AFTER_SHELL: dict[str, object] = {
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "git status"},
    "tool_use_id": "never-marked",
}
AT_PROMPT: dict[str, object] = {"hook_event_name": "UserPromptSubmit", "prompt": "Go on."}
AT_START: dict[str, object] = {"hook_event_name": "SessionStart", "source": "startup"}
AT_STOP: dict[str, object] = {"hook_event_name": "Stop"}


def _loaded(code: str, folder: Path, event: dict[str, object] | None = None) -> set[str]:
    """The modules that `code` loads in an interpreter that has loaded nothing, when it is given a hook's event."""
    folders = [str(PACKAGE.parent), str(Path(apsw.__file__ or "").parent.parent)]
    names = folder / "loaded"
    names.unlink(missing_ok=True)
    text = f"FOLDERS = {folders!r}\n{PROBE}\n{code}\nend(0)\n"
    given = {"session_id": "probe", "cwd": str(folder), **(event or {})}
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", text, str(names)],
        input=json.dumps(given).encode(),
        env={"HOME": str(folder), "CLEARWAY_HOME": str(folder.parent / "state"), "PATH": os.environ.get("PATH", "")},
        capture_output=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    assert names.exists(), ran.stderr.decode()
    assert not ran.stderr, ran.stderr.decode()
    return set(names.read_text().split())


def _too_much(loaded: set[str]) -> list[str]:
    return sorted(
        name
        for name in loaded - HOOK_MAY_LOAD
        if name.partition(".")[0] != "clearway" or name.startswith(HOOK_MAY_NOT_LOAD_OF_OURS)
    )


@pytest.mark.skipif(not (PACKAGE / "surfaces" / "hooks.py").exists(), reason="there is no hook yet")
@pytest.mark.parametrize("event", [BEFORE_EDIT, BEFORE_SHELL, AFTER_EDIT, AFTER_SHELL, AT_PROMPT, AT_STOP, AT_START])
@pytest.mark.parametrize("client", ["claude", "codex", "generic"])
def test_a_hook_loads_only_what_is_on_the_list(client: str, event: dict[str, object], tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    code = f"from clearway.surfaces import faststep\nfaststep.main({client!r})"
    _loaded(code, repository, AT_START)  # makes the room, which only the first hook of a repository does
    loaded = _loaded(code, repository, event)
    assert "clearway.room" in loaded or event is AT_STOP, "the event did not reach the room"
    assert not _too_much(loaded)


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg", "post-commit", "pre-push"])
def test_a_git_hook_loads_only_what_is_on_the_list(name: str, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    _loaded("from clearway.surfaces import faststep\nfaststep.main('claude')", repository, AT_START)  # makes the room
    (repository / "message").write_text("Fix\n")
    author = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", "-C", str(repository), *author, "commit", "-qm", "x", "--allow-empty"], check=True)
    (repository / "new").touch()
    subprocess.run(["git", "-C", str(repository), "add", "new"], check=True)
    code = (
        f"os.chdir({str(repository)!r})\nfrom clearway.surfaces import githooks\ngithooks.main([{name!r}, 'message'])"
    )
    loaded = _loaded(code, repository)
    assert "clearway.guard.fences" in loaded
    assert not _too_much(loaded)


# What apsw itself brings along is in HOOK_MAY_LOAD.
FAST_STEP_MAY_LOAD = HOOK_MAY_LOAD | {
    "clearway", "clearway.driver", "clearway.guard", "clearway.guard.glance", "clearway.guard.quiet",
    "clearway.guard.writers", "clearway.surfaces", "clearway.surfaces.faststep", "clearway.wire",
}  # fmt: skip


def test_the_fast_step_loads_next_to_nothing(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    (repository / "app.py").touch()
    project = "01JD0000000000000000000000"
    (repository / ".clearway.json").write_text(f'{{"version": 1, "project_id": "{project}"}}\n')
    edit = {**BEFORE_EDIT, "tool_input": {"file_path": str(repository / "app.py")}}
    code = "from clearway.surfaces import faststep\nfaststep.main('claude')"
    for event in (edit, {**edit, "hook_event_name": "PostToolUse"}):  # claims the file, and begins the trail
        assert "clearway.room" in _loaded(code, repository, event)
    for event in (
        edit,
        {**BEFORE_SHELL, "tool_input": {"command": "ls -la"}},
        {**edit, "hook_event_name": "PostToolUse"},
    ):
        loaded = _loaded(code, repository, event)
        assert "clearway.guard.quiet" in loaded
        assert loaded <= FAST_STEP_MAY_LOAD, sorted(loaded - FAST_STEP_MAY_LOAD)


def test_a_module_that_is_not_on_the_list_is_noticed(tmp_path: Path) -> None:
    assert "json" in _too_much(_loaded("import json", tmp_path))
    assert "clearway.arguments" in _too_much({"clearway.arguments", "clearway.room"})
    assert not _too_much(_loaded("import clearway.driver, clearway.paths", tmp_path))


# The frame.


def test_the_pins_are_those_of_the_package() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert _requirements("run") == sorted(project["dependencies"])
    assert set(project["optional-dependencies"]["postgres"]) <= set(_requirements("test"))


@pytest.mark.parametrize("layer", ["build", "run", "test", "dev"])
def test_pins_are_hashed_and_name_no_address(layer: str) -> None:
    text = (REPOSITORY / "requirements" / f"{layer}.txt").read_text()
    pins = [line for line in text.splitlines() if "==" in line]
    assert pins
    assert "--hash=sha256:" in text
    assert not re.search(r"://|--(extra-)?index|--find-links|#", text)


# How the rules read a source.


@cache
def _broken(folder: Path, rules: tuple[Rule, ...]) -> dict[Rule, list[str]]:
    """What breaks each rule. A source is parsed once for them all, and forgotten before the next."""
    broken: dict[Rule, list[str]] = {rule: [] for rule in rules}
    for each in _sources(folder):
        source = Source(each.path, each.text)
        for rule in rules:
            broken[rule] += rule(source)
    return broken


def _sources(folder: Path) -> list[Source]:
    paths = (path for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts)
    return [Source(path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def _imports(source: Source) -> Iterator[tuple[int, str]]:
    """Every module that a source names, as (line, dotted name); `from a import b` counts as `a.b`."""
    for node in source.nodes:
        yield from _imported_by(node)


def _imports_on_loading(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What is imported when the module is: not inside functions, not for the type checker only."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting.extend(node.orelse)
            continue
        yield from _imported_by(node)
        waiting.extend(ast.iter_child_nodes(node))


def _imported_by(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
    elif isinstance(node, ast.Call) and _dotted(node.func).endswith(("import_module", "__import__")):
        if node.args and isinstance(node.args[0], ast.Constant):
            yield node.lineno, str(node.args[0].value)


def _dotted(node: ast.AST) -> str:
    """`a.b.c` as it is written; empty for what is more than a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def _docstrings(source: Source) -> set[ast.AST]:
    return {node.value for node in source.nodes if isinstance(node, ast.Expr)}


def _statements(folder: Path) -> dict[str, set[str]]:
    """The names in every file of statements: `work/issues` -> its statements. A migration has no names."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): set(
            re.findall(r"^-- name: (\w+)", path.read_text(), re.MULTILINE)
        )
        for path in sorted(folder.rglob("*.sql"))
        if "migrations" not in path.parts
    }


def _statement_faults(sources: list[Source], known: dict[str, set[str]]) -> list[str]:
    used: dict[str, set[str]] = {}
    for source in sources:
        bound = _bound_statements(source)
        if "SQL" in bound:
            used.setdefault(bound["SQL"], set())
        for node in source.nodes:
            if isinstance(node, ast.Attribute) and (file := bound.get(_dotted(node.value))):
                used.setdefault(file, set()).add(node.attr)
    faults = [f"there is no {file}.sql" for file in used.keys() - known.keys()]
    for file in used.keys() | known.keys():
        here, asked = known.get(file, set()), used.get(file, set())
        faults += [f"{file}.sql has no {name}" for name in asked - here if file in known]
        faults += [f"{file}.sql: nobody uses {name}" for name in here - asked]
    return sorted(faults, key=lambda fault: (fault.startswith("there"), fault))


def _unnamed(sources: list[Source]) -> list[str]:
    """Functions and values of modules that stand nowhere else in the package; private ones, nowhere else in the module.
    What is decorated is called by who decorates it."""
    words = Counter(word for source in sources for word in re.findall(r"\w+", source.text))
    faults: list[str] = []
    for source in sources:
        here = Counter(re.findall(r"\w+", source.text))
        for node in source.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = [] if node.decorator_list else [node.name]
            else:
                targets = getattr(node, "targets", [getattr(node, "target", None)])
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            once = (name for name in names if (here if name.startswith("_") else words)[name] == 1)
            faults += (f"{source.path}:{node.lineno} nobody names {name}" for name in once if name[:2] != "__")
    return sorted(faults)


def _bound_statements(source: Source) -> dict[str, str]:
    """What expressions name a file of statements here: `SQL` -> `work/issues`, `issues.SQL` -> `work/issues`."""
    own = source.path.removesuffix(".py")
    bound = {
        ast.unparse(target): own
        for node in source.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if ast.unparse(node.value) == "statements(__file__)"
        for target in node.targets
    }
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clearway"):
            folder = (node.module or "").partition(".")[2].replace(".", "/")
            for alias in node.names:
                name = alias.asname or alias.name
                if alias.name == "SQL":
                    bound[name] = folder
                else:
                    bound[f"{name}.SQL"] = f"{folder}/{alias.name}".removeprefix("/")
    return bound


def _requirements(layer: str) -> list[str]:
    lines = (REPOSITORY / "requirements" / f"{layer}.in").read_text().splitlines()
    return sorted(line for line in lines if line and not line.startswith(("#", "-")))

"""The shapes that hook payloads share across clients, read without trust.

Every client spells keys in its own case and moves them about between versions, so a value is looked for under each
name it has been seen with, and tools are told by their names first and by the shape of their arguments second. The
first thing that cannot be read and is needed to know what a call does becomes the payload's `problem`.
"""

from __future__ import annotations

from clearway import wire
from clearway.guard.toolcall import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any, TypeGuard

    from clearway.guard.toolcall import Action, Kind, Moment, ToolCall

# Event names, in lower case and without separators.
MOMENTS: dict[str, Moment] = {
    "before": "before",
    "pretooluse": "before",
    "beforetool": "before",
    "after": "after",
    "posttooluse": "after",
    "aftertool": "after",
    "failed": "failed",
    "posttoolusefailure": "failed",
    "start": "start",
    "sessionstart": "start",
    "prompt": "prompt",
    "userpromptsubmit": "prompt",
    "userpromptsubmitted": "prompt",
    "beforeagent": "prompt",
    "stop": "stop",
    "stopfailure": "stop",
    "agentstop": "stop",
    "afteragent": "stop",
    "end": "end",
    "sessionend": "end",
    "interrupt": "interrupt",
    "compact": "compact",
    "precompact": "compact",
    "precompress": "compact",
    "childstart": "child_start",
    "subagentstart": "child_start",
    "childstop": "child_stop",
    "subagentstop": "child_stop",
    "idle": "idle",
}
_MCP = "mcp__"  # before the server's name and the tool's, in most clients
_OF_A_TOOL = frozenset({"before", "after", "failed"})
_TOOL_NAMES = frozenset({"tool", "tool_name", "toolName"})
_OUTPUTS = frozenset({"tool_response", "tool_result", "toolResult", "output"})

PATHS = (
    "file_path", "filePath", "path", "notebook_path", "notebookPath", "target_file", "targetFile", "file", "filename",
    "file_name", "fileName", "relative_path", "relativePath", "absolute_path", "absolutePath", "uri", "dirPath",
)  # fmt: skip
_LISTS = ("files", "paths", "file_paths", "filePaths", "edits", "changes", "replacements", "operations")
_FROM = ("old_path", "oldPath", "source", "source_path", "sourcePath", "from")
_TO = ("new_path", "newPath", "destination", "destination_path", "destinationPath", "to")
_ENDS: dict[str, Action] = {**dict.fromkeys(_FROM, "move"), **dict.fromkeys(_TO, "create")}
_PATCHES = ("command", "input", "patch", "patchText", "patch_text", "diff", "content", "text")
COMMANDS = ("command", "cmd", "command_line", "commandLine", "script", "commands")
_FOLDERS = (
    "workdir", "work_dir", "working_dir", "workingDir", "working_directory", "workingDirectory", "cwd", "directory",
    "dir_path", "dirPath",
)  # fmt: skip
CONTENTS = frozenset(
    {"content", "contents", "new_string", "newString", "old_string", "oldString", "new_source", "edits", "file_text",
     "fileText", "new_str", "newText", "new_text", "replacement", "code_edit", "replacements"}
)  # fmt: skip

# Every name above, as it is said in any case and with any joints, and what others say for them.
_MEANT = {
    name.replace("_", "").lower(): name
    for name in reversed((*PATHS, *_LISTS, *_FROM, *_TO, *COMMANDS, *_FOLDERS, *sorted(CONTENTS)))
} | {
    **dict.fromkeys(("pathinproject", "targetfilepath"), "path"),
    "src": "source",
    "dst": "destination",
    "dest": "destination",
    **dict.fromkeys(("program", "executable"), "command"),
}
_MEANT_AS_IT_IS = frozenset(_MEANT.values())
_VERBS = ("command", "action", "operation")  # of an editor that is one tool for all that it does

# Words in the names of tools that no table knows: `runTerminalCommand`, `replace_string_in_file`.
_READS = frozenset("cat fetch find get glob grep list ls open read search show view".split())
_EDITS = frozenset(
    "append create delete edit insert modify move multiedit remove rename replace save update write".split(),
)
PATCHING = frozenset({"patch", "applypatch"})
_MOVING = frozenset({"copy", "move", "rename"})
RUNS = frozenset("bash cmd command commands exec powershell pwsh run shell terminal".split())
_STARTS_AGENTS = frozenset("agent agents delegate subagent task".split())
_ACTIONS: tuple[tuple[str, Action], ...] = (
    ("delete", "delete"), ("remove", "delete"), ("create", "create"), ("rename", "move"), ("move", "move"),
)  # fmt: skip


class Payload:
    """One payload, and the first thing in it that could not be read."""

    __slots__ = ("problem", "raw")

    def __init__(self, raw: Any) -> None:
        self.raw: dict[str, Any] = raw if is_object(raw) else {}
        self.problem = "" if is_object(raw) else f"the payload is {_a(raw)}, not an object"

    def complain(self, problem: str) -> None:
        self.problem = self.problem or problem

    def text(self, *names: str) -> str | None:
        """A text under the first of these names that is given. One of another type counts as not given."""
        for name in names:
            if isinstance(self.raw.get(name), str) and self.raw[name]:
                return self.raw[name]
        return None

    def number(self, *names: str) -> int | None:
        for name in names:
            found = whole_number(self.raw.get(name))
            if found is not None:
                return found
        return None

    def needed(self, *names: str) -> str:
        """A text without which the call means nothing."""
        found = self.text(*names)
        if found is None:
            given = next((name for name in names if self.raw.get(name) is not None), None)
            self.complain(f"{given} is {_a(self.raw[given])}, not a text" if given else f"{names[0]} is missing")
        return found or ""


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def whole_number(value: Any) -> int | None:
    """A process id, as a number or as digits."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 11:
        return whole_number(int(value))
    return None


def exit_status(text: str) -> int | None:
    """The exit status at the beginning of a text, or None."""
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    return int(digits) if 0 < len(digits) < 6 else None


def process(environ: Mapping[str, str], name: str) -> int | None:
    return whole_number(environ.get(name))


def read_moment(payload: Payload, *names: str) -> Moment:
    """Which moment an event is. One that cannot be told is taken for the question before a call: only there can a
    guard that is set to fail closed refuse."""
    event = payload.text(*names)
    if event is not None:
        return MOMENTS.get(event.replace("_", "").replace("-", "").lower(), "other")
    if all(payload.raw.get(name) is None for name in names) and not payload.raw.keys().isdisjoint(_TOOL_NAMES):
        return "before" if payload.raw.keys().isdisjoint(_OUTPUTS) else "after"
    payload.needed(*names)
    return "before"


def read_tool(
    call: ToolCall, payload: Payload, known: Mapping[str, Kind], *, names: tuple[str, ...], inputs: tuple[str, ...]
) -> None:
    """What the call does: its tool, kind, targets and command."""
    if call.moment not in _OF_A_TOOL:
        return
    given = given_in(payload, inputs)
    call.tool = payload.text(*names) or ""
    server, _, tool = call.tool[len(_MCP) :].partition("__")
    if call.tool.startswith(_MCP) and call.tool not in known:
        read_server_tool(call, server, tool, given)
        return
    call.kind = known.get(call.tool) or _kind(call.tool, given)
    if call.kind == "edit" and only_looks(given):
        call.kind = "read"
    if call.kind == "other" and not call.tool:
        payload.needed(*names)
    call.is_strange = call.kind == "other" and call.tool not in known and bool(words_of(call.tool) & _EDITS)
    read_what_it_does(call, payload, given)


def read_what_it_does(call: ToolCall, payload: Payload, given: Any) -> None:
    """The command or the targets of a call whose kind is known."""
    if call.kind == "shell":
        read_command(call, payload, given)
    elif call.kind == "edit":
        _read_targets(call, payload, given)


def read_server_tool(call: ToolCall, server: str, tool: str, given: Any) -> None:
    """What a call of an MCP server's tool does. server: its name, empty where the client does not tell it."""
    from clearway.surfaces.clients import mcptools

    mcptools.read(call, server, tool, given)


def given_in(payload: Payload, names: tuple[str, ...]) -> Any:
    """The arguments of a call, under the first of these names that is given."""
    given = next((payload.raw[name] for name in names if payload.raw.get(name) is not None), None)
    if isinstance(given, str) and given.lstrip()[:1] == "{":  # some clients send the arguments as text
        try:
            given = wire.loads(given)
        except ValueError:
            return given
    return respelt(given)


def respelt(given: Any) -> Any:
    """The arguments, also under the names that are looked for: `TargetFile`, `pathInProject`, `CommandLine`."""
    if not is_object(given):
        return given
    meant = [
        (_MEANT.get(name.replace("_", "").replace("-", "").lower()), name)
        for name in given
        if name not in _MEANT_AS_IT_IS
    ]
    more = {name: given[spelt] for name, spelt in meant if name is not None and name not in given}
    return {**given, **more} if more else given


# Kinds, by name and by shape.


def only_looks(given: Any) -> bool:
    """Whether the arguments say that an editor is to show a file: `{"command": "view", "path": ...}`."""
    return is_object(given) and any(isinstance(given.get(name), str) and given[name] in _READS for name in _VERBS)


def _kind(tool: str, given: Any) -> Kind:
    words = words_of(tool)
    if words & PATCHING:
        return "edit"
    if words & RUNS and _has_any(given, COMMANDS):
        return "shell"
    if words & _EDITS:
        return "edit" if _has_any(given, path_names(words)) else "other"
    if words & _READS:
        return "read"
    if words & _STARTS_AGENTS:
        return "agent"
    return _kind_by_shape(given)


def _kind_by_shape(given: Any) -> Kind:
    """What a tool with a name nobody knows does: arguments that carry a path and a new content write it."""
    if not is_object(given):
        return "other"
    if _has_any(given, CONTENTS) and _has_any(given, (*PATHS, *_LISTS)):
        return "edit"
    if isinstance(given.get("command"), str) and _has_any(given, PATHS):
        command = given["command"]
        if command.isidentifier() and words_of(command) & (_EDITS | _READS):
            return "edit"
    return "shell" if isinstance(given.get("command"), str) else "other"


def _has_any(given: Any, names: Collection[str]) -> bool:
    return not given.keys().isdisjoint(names) if is_object(given) else bool(given)


def path_names(words: set[str]) -> tuple[str, ...]:
    return (*PATHS, *_LISTS, *_FROM, *_TO) if words & _MOVING else (*PATHS, *_LISTS)


def words_of(name: str) -> set[str]:
    """The words of a name in any case: `createFile`, `create_file`, `create-file`."""
    return {*_in_words(name), name.lower()}


def first_word(name: str) -> str:
    return next(iter(_in_words(name)), "")


def _in_words(name: str) -> list[str]:
    spaced = "".join(f" {letter}" if letter.isupper() else letter if letter.isalnum() else " " for letter in name[:200])
    return [word.lower() for word in spaced.split()]


# Commands.


def read_command(call: ToolCall, payload: Payload, given: Any) -> None:
    """The command line that the arguments of a call hold, and the folder in which it runs."""
    value = given
    if is_object(given):
        value = next((given[name] for name in COMMANDS if given.get(name) is not None), None)
        call.folder = next((given[name] for name in _FOLDERS if isinstance(given.get(name), str)), "")
    if isinstance(value, str):
        call.command = value
    elif is_list(value) and all(isinstance(word, str) for word in value):
        _read_words(call, value, separate=is_object(given) and given.get("commands") is value)
    else:
        payload.complain(
            f"{call.tool or 'the tool'} names no command" if value is None else f"its command is {_a(value)}"
        )


def _read_words(call: ToolCall, words: list[str], *, separate: bool) -> None:
    """An argument vector as a command line, or several commands. A patch in it is applied without any shell."""
    from clearway.guard import patches

    patch = patches.in_array(words)
    if patch is not None:
        call.kind = "edit"
        call.targets = patches.targets(patch)
    elif separate:
        call.command = "\n".join(words)
    elif len(words) > 2 and _reads_text(words[0], words[1:-1]):
        call.command = words[-1]
    else:
        call.command = " ".join(_in_quotes(word) for word in words)


def _reads_text(program: str, options: list[str]) -> bool:
    """Whether the last word of this vector is itself a command line: `bash -lc TEXT`, `pwsh -Command TEXT`."""
    from clearway.guard.writers import SHELLS

    name = program.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    last = options[-1].lower()
    if name in SHELLS:
        return last.startswith("-") and not last.startswith("--") and last.endswith("c")
    return (name in {"pwsh", "powershell"} and last in {"-command", "-c"}) or (name == "cmd" and last == "/c")


def _in_quotes(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


# Targets.


def _read_targets(call: ToolCall, payload: Payload, given: Any) -> None:
    words = words_of(call.tool)
    found: list[Target] = []
    if words & PATCHING or isinstance(given, str):
        found = patched(given)
    if not found:
        found = list(paths_in(given, path_names(words), action_of(words)))
    if not found:
        payload.complain(_without_path(call.tool or "the tool", given))
    call.targets = list(dict.fromkeys(found))


def action_of(words: set[str]) -> Action:
    for word, action in _ACTIONS:
        if word in words:
            return action
    return "edit"


def patched(given: Any) -> list[Target]:
    from clearway.guard import patches

    if isinstance(given, str):
        return patches.targets(given)
    if is_list(given):
        words = [word for word in given if isinstance(word, str)]
        return patches.targets(patches.in_array(words) or "".join(words[:1]))
    for name in _PATCHES:
        found = patched(given.get(name)) if is_object(given) else []
        if found:
            return found
    return []


def paths_in(given: Any, names: tuple[str, ...], action: Action) -> Iterator[Target]:
    """Every path that the arguments name, on their first level and in the objects of their lists."""
    if is_list(given):
        yield from _paths_listed(given, names, action)
    if not is_object(given):
        return
    for name in names:
        value = given.get(name)
        if name not in _LISTS:
            yield from _path(value, _ENDS.get(name, action))
        elif is_list(value):
            yield from _paths_listed(value, names, action)
        elif is_object(value) and value.keys().isdisjoint(names):  # what becomes of each file, by its path
            yield from _paths_listed([path for path in value if looks_like_path(path)], names, action)
        elif value:
            yield from _paths_listed([value], names, action)


def _paths_listed(listed: list[Any], names: tuple[str, ...], action: Action) -> Iterator[Target]:
    wanted = frozenset(names).difference(_LISTS)
    for entry in listed:
        if isinstance(entry, str):
            yield from _path(entry, action)
        elif is_object(entry):
            given = entry if not wanted.isdisjoint(entry) else respelt(entry)
            for name, value in given.items():
                if name in wanted:
                    yield from _path(value, _ENDS.get(name, action))


def _path(value: Any, action: Action) -> Iterator[Target]:
    if is_object(value):  # an editor's URI object
        value = value.get("path") or value.get("fsPath")
    if isinstance(value, str) and value:
        yield Target(value, action)


def looks_like_path(text: Any) -> bool:
    """Whether a text that need not be a path is probably one."""
    return isinstance(text, str) and 0 < len(text) < 1_024 and ("/" in text or "." in text) and "\n" not in text


def is_of_this_disk(path: str) -> bool:
    """Whether a text can be a path here: `file:` is, another address is not, nor is a text of several lines."""
    return "\n" not in path and ("://" not in path or path[:5].lower() == "file:")


def _without_path(tool: str, given: Any) -> str:
    """Why no file was found in the arguments of a tool that writes one."""
    if not is_object(given):
        return f"the arguments of {tool} are {_a(given)}, not an object"
    for name in (*PATHS, *_LISTS):
        if given.get(name) is not None:
            return f"{name} of {tool} is {_a(given[name])} that names no file"
    return f"{tool} names no file"


def _a(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, str):
        return "a text" if value else "an empty text"
    return "an object" if is_object(value) else "a list" if is_list(value) else "a number"

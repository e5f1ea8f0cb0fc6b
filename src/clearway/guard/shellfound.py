"""What a walk over a command line has found so far: what it writes, which patches it applies, what it runs."""

from __future__ import annotations

from clearway.guard import patches
from clearway.guard.gitglance import GitRun, is_git
from clearway.guard.shelltree import NO_FILES
from clearway.guard.shellwords import is_swept
from clearway.guard.toolcall import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.guard.shellwords import Scope, Value
    from clearway.guard.toolcall import Action

COMMANDS_MAX = 64
COMMAND_WORDS_MAX = 16
SWEEPS_MAX = 256

_NO_FILE_FOLDERS = ("/dev/fd/", "/dev/tcp/", "/dev/udp/", "/dev/pts/", "/proc/self/fd/")
_HERE = "/proc/self/cwd/"
SYSTEM_FOLDERS = ("/bin/", "/lib/", "/nix/store/", "/opt/homebrew/", "/sbin/", "/usr/")  # nobody edits what is there


class Found:
    """`targets` and `patch_targets`, and `unknown` if that may not be all. `sweeps` are paths with wildcards, and names
    that are only suspected: they are asked about and not claimed. What runs: `runs`, the scripts, `commands`, the
    beginnings of the simple commands, and `gits`, the git commands in full."""

    __slots__ = ("commands", "gits", "patch_targets", "ran_programs", "runs", "sweeps", "targets", "unknown")

    def __init__(self) -> None:
        self.targets: dict[Target, None] = {}
        self.patch_targets: dict[Target, None] = {}
        self.sweeps: dict[Target, None] = {}
        self.runs: dict[Target, None] = {}
        self.commands: dict[str, None] = {}
        self.gits: list[GitRun] = []
        self.unknown = False
        self.ran_programs = False  # and so there may be directories that are not there now

    def touch(self, goal: Value, action: Action, scope: Scope) -> None:
        """The line does this to these paths."""
        self.unknown = self.unknown or not goal.known
        for text in goal.texts:
            if is_swept(text):
                self._keep_sweep(text, scope)
                continue
            text = text.removeprefix(_HERE)
            if text in NO_FILES or text.startswith(_NO_FILE_FOLDERS) or not text:
                continue
            place = scope.locate(text)
            self.unknown = self.unknown or not place.known
            self.targets.update((Target(path, action), None) for path in place.texts)

    def suspect(self, goal: Value, scope: Scope) -> None:
        """The line may write to these paths: whoever holds one is protected, and nobody else notices."""
        for text in goal.texts:
            if text and text not in NO_FILES:
                self._keep_sweep(text, scope)

    def _keep_sweep(self, text: str, scope: Scope) -> None:
        if len(self.sweeps) < SWEEPS_MAX:
            self.sweeps.update((Target(path, "edit"), None) for path in scope.locate(text).texts)
        else:
            self.unknown = True

    def start(self, script: Value, scope: Scope) -> None:
        """The line runs a script from a file."""
        for text in script.texts:
            if text and not text.startswith(SYSTEM_FOLDERS):
                self.runs.update((Target(path, "run"), None) for path in scope.locate(text).texts)

    def note(self, name: str, arguments: list[Value], scope: Scope) -> None:
        """The line runs this command."""
        words = [name]
        for argument in arguments[:COMMAND_WORDS_MAX]:
            if argument.text is None:
                break
            words.append(argument.text)
        if len(self.commands) < COMMANDS_MAX:
            self.commands[" ".join(words)] = None
        program = name.rpartition("/")[2]
        if is_git(program) and len(self.gits) < COMMANDS_MAX:
            about = {name: value for name, value in scope.names.items() if name.startswith("GIT_")}
            self.gits.append(GitRun(program, arguments, scope.cwd, about))

    def apply(self, text: Value | None, scope: Scope) -> None:
        """The line applies this patch."""
        if text is None:
            return
        self.unknown = self.unknown or not text.known
        for each in text.texts:
            self.keep_patch(patches.targets(each), scope)

    def keep_patch(self, found: list[Target], scope: Scope) -> None:
        for target in found:
            place = scope.locate(target.path)
            self.unknown = self.unknown or not place.known
            self.patch_targets.update((Target(path, target.action), None) for path in place.texts)

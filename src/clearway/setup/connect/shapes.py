"""What the modules of `connect` hand to each other: what was asked, a settings file of a client, a planned change."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clearway.errors import Refusal
from clearway.setup.registered import Binding

BACKUP_SUFFIX = ".clearway-backup"
_DIFF_CONTEXT_LINES = 1  # fewer neighbours shown: client settings hold keys, and this output is read by agents too


@dataclass(frozen=True)
class Asked:
    """What the person asked for, with everything that differs from machine to machine."""

    scope: str
    project: str
    binding: Binding
    environ: Mapping[str, str]
    rewake: bool = False  # a message is to wake an idle session

    def personal(self, *parts: str) -> str:
        """A path below the person's home folder."""
        home = self.environ.get("HOME") or self.environ.get("USERPROFILE")
        if not home:
            raise Refusal("STORAGE_CONFIGURATION", "HOME is not set; say where your home folder is and try again.")
        return os.path.join(home, *parts)


@dataclass(frozen=True)
class SettingsFile:
    """One settings file of a client, and how our entries get into its text and out of it again.

    join(text): the text with our entries, equal to `text` when they are there already.
    part(text, original): the text without them; what stood empty in `original` may stay empty.
    Both raise ValueError, with a sentence, for a text they cannot read or cannot edit faithfully.
    """

    client: str
    path: str
    blank: str  # the text to start from where there is no file, and the text of a file that holds nothing
    join: Callable[[str], str]
    part: Callable[[str, str | None], str]
    notes: tuple[str, ...] = ()
    mode: int = 0o600
    remark: Callable[[str, str], tuple[str, ...]] | None = None  # notes that depend on what changes
    commands: Callable[[str], list[str]] | None = None  # our hook commands in a text; None: hooks stand elsewhere
    serves: Callable[[str], bool] | None = None  # has a text with hooks our server, too; None: that stands elsewhere


@dataclass(frozen=True)
class Change:
    """One file as it is and as it will be; None stands for "no file". `notes` tell the person what is left to do."""

    client: str
    file: str
    before: str | None
    after: str | None
    notes: tuple[str, ...] = ()
    mode: int = 0o600
    backup: bool = False  # is this the first time we touch a file that somebody else wrote
    obsolete_backup: bool = False  # is the file, after this, what its backup holds

    @property
    def diff(self) -> str:
        """The exact change, as a unified diff; for the pseudo client `json`, the text to paste."""
        if not self.file:
            return self.after or ""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            "/dev/null" if self.before is None else self.file,
            "/dev/null" if self.after is None else self.file,
            n=_DIFF_CONTEXT_LINES,
        )
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)

"""Reading and writing the settings files of other programs, all of them or none.

A write goes to a file beside the target, is synced and renamed over it; a symbolic link is followed to what it names,
the mode stays. The first backup is kept and never written again. Whatever fails before the first rename leaves no
trace; a rename that fails takes back those before it. It does not lock: a file that another program changed since it
was read is refused, not overwritten.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Sequence

from clearway.errors import Refusal
from clearway.setup.connect.shapes import BACKUP_SUFFIX, Change

_CLIENTS_FOLDERS = frozenset(
    """
    .claude .cline .codeium .codex .copilot .cursor .gemini .kiro .opencode .qwen .vscode .windsurf clearway hooks
    opencode plugins settings windsurf
    """.split()
)
_FILE_BYTES_MAX = 64 * 1024 * 1024


def read(path: str) -> str | None:
    """The text of a file, None where there is none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Refusal("INVALID_ARGUMENT", f"{path} is not a regular file; move it away and try again.", file=path)
        with open(path, "rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _unusable(path, problem) from problem
    if len(content) > _FILE_BYTES_MAX:
        raise Refusal("LIMIT_EXCEEDED", f"{path} is larger than {_FILE_BYTES_MAX} bytes.", file=path)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Refusal("INVALID_ARGUMENT", f"{path} is not UTF-8 text; nothing was written.", file=path) from None


def write_all(changes: Sequence[Change]) -> None:
    """Write every change, or none."""
    with contextlib.ExitStack() as staged:
        targets = [(change, os.path.realpath(change.file)) for change in changes]
        for change, target in targets:
            _look_ahead(staged, change, target)
        fresh = [(change, target, _stage(staged, change, target)) for change, target in targets]
        backups = [_stage_backup(staged, change, target) for change, target in targets if change.backup]
        for change in changes:
            if read(change.file) != change.before:
                raise Refusal(
                    "STORAGE_BUSY",
                    f"{change.file} was changed by another program just now; try again.",
                    file=change.file,
                )
        _rename_all(backups, fresh)
    for change in changes:
        _verify(change)
    for folder in {os.path.dirname(change.file) for change in changes if change.after is None}:
        while os.path.basename(folder) in _CLIENTS_FOLDERS:
            _rmdir_if_empty(folder)  # it was made for the file that is gone now; a link is left alone
            folder = os.path.dirname(folder)


def _rename_all(backups: Sequence[tuple[str, str]], fresh: Sequence[tuple[Change, str, str | None]]) -> None:
    target = ""
    with contextlib.ExitStack() as undo:
        try:
            for temporary, target in backups:
                os.replace(temporary, target)
                undo.callback(_unlink_if_there, target)
            for change, target, temporary in fresh:
                if temporary is None:
                    os.unlink(target)
                else:
                    os.replace(temporary, target)
                undo.callback(_take_back, change, target)
                _sync_folder(target)
        except OSError as problem:
            raise _unusable(target, problem) from problem
        undo.pop_all()


def _take_back(change: Change, target: str) -> None:
    """Undo one rename. If this fails too, the backup beside the file is what is left to the person."""
    with contextlib.suppress(OSError):
        if change.before is None:
            os.unlink(target)
            return
        with contextlib.ExitStack() as staged:
            os.replace(_temporary(staged, target, change.before, change.mode), target)


def _look_ahead(staged: contextlib.ExitStack, change: Change, target: str) -> None:
    """Make the folder, and refuse what a rename would get past: a file that its owner has made read-only."""
    folder = os.path.dirname(target)
    missing = folder
    try:
        while not os.path.exists(missing):
            staged.callback(_rmdir_if_empty, missing)
            missing = os.path.dirname(missing)
        os.makedirs(folder, mode=0o700 if change.mode == 0o600 else 0o755, exist_ok=True)
    except OSError as problem:
        raise _unusable(change.file, problem) from problem
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise _unusable(change.file, PermissionError(errno.EACCES, "it is read-only"))


def _stage(staged: contextlib.ExitStack, change: Change, target: str) -> str | None:
    if change.after is None:
        return None
    try:
        return _temporary(staged, target, change.after, change.mode)
    except OSError as problem:
        raise _unusable(change.file, problem) from problem


def _stage_backup(staged: contextlib.ExitStack, change: Change, target: str) -> tuple[str, str]:
    """The backup stands beside the name the person knows, also where that is a link into another folder."""
    backup = change.file + BACKUP_SUFFIX
    try:
        mode = stat.S_IMODE(os.stat(target).st_mode)
        return _temporary(staged, backup, change.before or "", mode), backup
    except OSError as problem:
        raise _unusable(backup, problem) from problem


def _temporary(staged: contextlib.ExitStack, target: str, text: str, mode: int) -> str:
    """A synced file beside `target`, with its mode and owner; gone at the end of `staged` if nobody renamed it."""
    folder, name = os.path.split(target)
    descriptor, path = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    staged.callback(_unlink_if_there, path)
    with open(descriptor, "wb") as file:
        file.write(text.encode())
        with contextlib.suppress(FileNotFoundError):
            now = os.stat(target)
            mode = stat.S_IMODE(now.st_mode)
            with contextlib.suppress(OSError):
                os.chown(path, now.st_uid, now.st_gid)  # run by root, it stays the person's file
        os.chmod(path, mode)
        file.flush()
        os.fsync(file.fileno())
    return path


def _verify(change: Change) -> None:
    if read(change.file) != change.after:
        raise Refusal(
            "STORAGE_FAILURE",
            f"{change.file} does not hold what was written: another program wrote it too. Close it and try again.",
            file=change.file,
        )
    if change.obsolete_backup:
        _unlink_if_there(change.file + BACKUP_SUFFIX)


def _sync_folder(path: str) -> None:
    """Make a rename last, where the file system can: the text itself is safe already."""
    with contextlib.suppress(OSError):
        descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _unlink_if_there(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _rmdir_if_empty(path: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(path)


def _unusable(path: str, problem: OSError) -> Refusal:
    reason = problem.strerror or type(problem).__name__
    return Refusal("STORAGE_CONFIGURATION", f"{path} cannot be used ({reason}); nothing was written.", file=path)

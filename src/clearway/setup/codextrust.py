"""Does Codex run our hooks? It skips those that the person has not trusted, without a word, so Codex itself is asked.

Trust stands in Codex's own settings, by each hook's place and the hash of its definition; only Codex can compute that
hash. Where nothing at all is trusted it need not be started. Nothing is written here: trust is the person's decision.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import tomllib
from collections.abc import Mapping
from typing import IO, Any, cast

from clearway import __version__

ASK_SECONDS_MAX = 8.0
_LINES_MAX = 200


def untrusted(hooks_file: str, folder: str, environ: Mapping[str, str]) -> list[str] | None:
    """The events of our hooks in that file that Codex skips; None where nobody can tell, because Codex is not on the
    path or does not answer. folder: in which Codex would work."""
    program = shutil.which("codex", path=environ.get("PATH", ""))
    if program is None:
        return None
    if not _trusts_anything(hooks_file, environ):
        return ["all"]
    listed = _hooks(program, folder, environ)
    if listed is None:
        return None
    ours = [hook for hook in listed if _is(hook, "sourcePath", hooks_file) and "clearway" in str(hook.get("command"))]
    return [str(hook.get("eventName")) for hook in ours if hook.get("trustStatus") not in ("trusted", "managed")]


def _trusts_anything(hooks_file: str, environ: Mapping[str, str]) -> bool:
    """Whether Codex's settings trust any hook of that file, the current definition or an earlier one. That stands in
    the person's own settings for a project's hooks, too."""
    own = environ.get("CODEX_HOME") or os.path.join(environ.get("HOME", ""), ".codex")
    for settings in {os.path.join(folder, "config.toml") for folder in (os.path.dirname(hooks_file), own)}:
        try:
            with open(settings, "rb") as opened:
                document: dict[str, Any] = tomllib.load(opened)
        except (OSError, ValueError):
            continue
        state: Any = cast("dict[str, Any]", document.get("hooks") or {}).get("state")
        if isinstance(state, dict) and any(key.startswith(f"{hooks_file}:") for key in cast("dict[str, Any]", state)):
            return True
    return False


def _hooks(program: str, folder: str, environ: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """What Codex lists, None without an answer in time."""
    return _listed(asked(program, folder, environ, "hooks/list", {"cwds": [folder]}))


def asked(program: str, folder: str, environ: Mapping[str, str], method: str, params: dict[str, Any]) -> Any:
    """What Codex's app server answers to one question; None without an answer in time."""
    said = answered(program, folder, environ, method, params)
    return None if said is None else said.get("result")


def answered(
    program: str, folder: str, environ: Mapping[str, str], method: str, params: dict[str, Any]
) -> dict[str, Any] | None:
    """The whole answer, which has a `result` or an `error`; None without one in time."""
    lines = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "clearway", "version": __version__}}},
        {"method": "initialized"},
        {"id": 2, "method": method, "params": params},
    ]
    try:
        server = subprocess.Popen(
            [program, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            cwd=folder,
        )
    except OSError:
        return None
    late = threading.Timer(ASK_SECONDS_MAX, server.kill)
    late.start()
    try:
        assert server.stdin and server.stdout
        server.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in lines).encode())
        server.stdin.flush()
        return _answer(server.stdout)
    except OSError:
        return None
    finally:
        late.cancel()
        server.kill()
        server.communicate()


def _answer(lines: IO[bytes]) -> dict[str, Any] | None:
    for _ in range(_LINES_MAX):
        line = lines.readline()
        if not line:
            return None
        try:
            said: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and cast("dict[str, Any]", said).get("id") == 2:
            return cast("dict[str, Any]", said)
    return None


def _listed(result: Any) -> list[dict[str, Any]] | None:
    """Every hook of every folder that was asked for; None for an answer of another shape."""
    try:
        return [hook for place in result["data"] for hook in place["hooks"] if isinstance(hook, dict)]
    except (TypeError, KeyError):
        return None


def _is(hook: dict[str, Any], name: str, path: str) -> bool:
    found = hook.get(name)
    return isinstance(found, str) and os.path.realpath(found) == os.path.realpath(path)

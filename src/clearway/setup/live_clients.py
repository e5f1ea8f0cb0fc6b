"""How each client is driven by a script, without an account: what it is started with, and how its tools are called.

What leads a client to the model that plays the script stands in its environment and its flags, or in settings that a
person chooses before: how to sign in. Files that `connect` owns are never written here. All of it was tried with the
real clients (tests/clients); a client that is not here cannot be kept on this machine, or runs in no terminal.
"""

from __future__ import annotations

import json
import os
from typing import Any

from clearway.setup.live_model import Call, Step, call

KEY = "dummy"
MODEL = "scripted"
LONG_MS = 600_000


class Driver:
    """One client. `managed`: the files of this machine that could overrule what it is started with."""

    client: str
    agent: str
    """The name it has in a room without configuration."""
    program: str
    managed: tuple[str, ...] = ()

    def prepare(self, home: str) -> None:
        """What a person has done in that home before the first start."""

    def first(self, program: str, address: str) -> list[list[str]]:
        """The commands that were typed before the first start."""
        return []

    def command(self, program: str, address: str) -> list[str]:
        """What starts a session that asks nobody anything; the prompt comes last."""
        raise NotImplementedError

    def environment(self, home: str, address: str) -> dict[str, str]:
        """What it needs besides a home. address: that of the model."""
        raise NotImplementedError

    def edits(self, root: str, path: str, old: str, new: str) -> list[Step]:
        """The steps of an ordinary edit of a file in the repository `root`; the last one is the edit."""
        raise NotImplementedError

    def shell(self, command: str, **more: Any) -> Step:
        raise NotImplementedError


class ClaudeCode(Driver):
    """Claude Code, with hooks from `~/.claude/settings.json` and servers from `~/.claude.json`."""

    client, agent, program = "claude", "claude-code", "claude"
    managed = (
        "/etc/claude-code/managed-settings.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
    )

    def command(self, program: str, address: str) -> list[str]:
        permissions = ["--permission-mode=acceptEdits", "--allowedTools=Bash,mcp__clearway"]
        return [program, "--output-format=json", *permissions, "--print"]

    def environment(self, home: str, address: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
        }

    def edits(self, root: str, path: str, old: str, new: str) -> list[Step]:
        # The client itself refuses to edit what was not read.
        edit = {"file_path": path, "old_string": old, "new_string": new}
        return [call(Call("Read", {"file_path": path})), call(Call("Edit", edit))]

    def shell(self, command: str, **more: Any) -> Step:
        given = {"command": command, "description": "a scripted command", "timeout": LONG_MS}
        return call(Call("Bash", given | more))


class Codex(Driver):
    """Codex CLI, with hooks from `~/.codex/hooks.json` and servers from `~/.codex/config.toml`."""

    client, agent, program = "codex", "codex", "codex"
    managed = ("/etc/codex/managed_config.toml", "/etc/codex/config.toml", "/etc/codex/requirements.toml")

    def __init__(self, model: str = "gpt-5.5") -> None:
        """model: one that the client knows and gives its tools directly; to an unknown one it offers no apply_patch."""
        self.model = model

    def prepare(self, home: str) -> None:
        os.makedirs(self._folder(home), exist_ok=True)  # named by CODEX_HOME it has to exist

    def command(self, program: str, address: str) -> list[str]:
        settings: dict[str, str | int | bool] = {
            "model": self.model,
            "model_provider": MODEL,
            "approval_policy": "never",
            "sandbox_mode": "danger-full-access",
            f"model_providers.{MODEL}.name": MODEL,
            f"model_providers.{MODEL}.base_url": f"{address}/v1",
            f"model_providers.{MODEL}.wire_api": "responses",
            f"model_providers.{MODEL}.env_key": "SCRIPTED_KEY",
            f"model_providers.{MODEL}.request_max_retries": 0,
            f"model_providers.{MODEL}.stream_max_retries": 0,
            f"model_providers.{MODEL}.supports_websockets": False,
        }
        flags = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
        # In a home of its own nobody has trusted its hooks.
        return [program, "exec", "--json", "--dangerously-bypass-hook-trust", *flags]

    def environment(self, home: str, address: str) -> dict[str, str]:
        return {"CODEX_HOME": self._folder(home), "SCRIPTED_KEY": KEY}

    def edits(self, root: str, path: str, old: str, new: str) -> list[Step]:
        return [call(Call("apply_patch", self.patch(root, path, old, new)))]

    def shell(self, command: str, **more: Any) -> Step:
        return call(Call("exec_command", {"cmd": command, **more}))

    def patch(self, root: str, path: str, old: str, new: str) -> str:
        update = f"*** Update File: {os.path.relpath(path, root)}\n@@\n-{old}\n+{new}\n"
        return f"*** Begin Patch\n{update}*** End Patch\n"

    def _folder(self, home: str) -> str:
        return os.path.join(home, ".codex")


class Gemini(Driver):
    """Gemini CLI, with hooks and servers from `~/.gemini/settings.json`."""

    client, agent, program = "gemini", "gemini", "gemini"
    managed = (
        "/etc/gemini-cli/settings.json",
        "/etc/gemini-cli/system-defaults.json",
        "/Library/Application Support/GeminiCli/settings.json",
        "/Library/Application Support/GeminiCli/system-defaults.json",
    )

    def prepare(self, home: str) -> None:
        settings = os.path.join(home, f".{self.program}", "settings.json")
        os.makedirs(os.path.dirname(settings), exist_ok=True)
        there: dict[str, Any] = {}
        if os.path.exists(settings):
            with open(settings, encoding="utf-8") as opened:
                there = json.load(opened)
        with open(settings, "w", encoding="utf-8") as opened:
            opened.write(json.dumps(there | self._settings(), indent=2) + "\n")

    def command(self, program: str, address: str) -> list[str]:
        return [program, "--yolo", "--output-format=json", "--prompt"]

    def environment(self, home: str, address: str) -> dict[str, str]:
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": address, "SHLVL": "1"}

    def edits(self, root: str, path: str, old: str, new: str) -> list[Step]:
        given = {"file_path": path, "instruction": "do it", "old_string": old, "new_string": new}
        return [call(Call("replace", given))]

    def shell(self, command: str, **more: Any) -> Step:
        return call(Call("run_shell_command", {"command": command, "description": "a scripted command", **more}))

    def _settings(self) -> dict[str, Any]:
        return {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
        }


class Qwen(Gemini):
    """Qwen Code, which was made from Gemini CLI, with hooks and servers from `~/.qwen/settings.json`."""

    client, agent, program = "qwen", "qwen", "qwen"
    managed = (
        "/etc/qwen-code/settings.json",
        "/etc/qwen-code/system-defaults.json",
        "/Library/Application Support/QwenCode/settings.json",
        "/Library/Application Support/QwenCode/system-defaults.json",
    )

    def command(self, program: str, address: str) -> list[str]:
        return [program, "--yolo", "--prompt"]

    def environment(self, home: str, address: str) -> dict[str, str]:
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_MODEL": MODEL, "SHLVL": "1"}

    def edits(self, root: str, path: str, old: str, new: str) -> list[Step]:
        # The client itself refuses to edit what was not read.
        given = {"file_path": path, "old_string": old, "new_string": new}
        return [call(Call("read_file", {"file_path": path})), call(Call("edit", given))]

    def shell(self, command: str, **more: Any) -> Step:
        return super().shell(command, is_background=False, **more)

    def _settings(self) -> dict[str, Any]:
        return {
            **super()._settings(),
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            # It would ask the model of its own accord, with tools, what to remember.
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        }


class Copilot(Driver):
    """GitHub Copilot CLI: its own offline mode and a model of one's own are documented."""

    client, agent, program = "copilot", "copilot", "copilot"

    def command(self, program: str, address: str) -> list[str]:
        return [program, "--allow-all-tools", "--allow-all-paths", "--trust-folder", "-p"]

    def environment(self, home: str, address: str) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": MODEL,
        }

    def edits(self, root: str, path: str, old: str, new: str) -> list[Step]:
        given = {"path": path, "old_str": old, "new_str": new}
        return [call(Call("view", {"path": path})), call(Call("edit", given))]

    def shell(self, command: str, **more: Any) -> Step:
        given = {"command": command, "description": "a scripted command", "mode": "sync", "initial_wait": 300}
        return call(Call("bash", given | more))


class OpenCode(Driver):
    """OpenCode, with the plugin and the server in `~/.config/opencode`: a provider of one's own is a setting."""

    client, agent, program = "opencode", "opencode", "opencode"
    managed = ("/etc/opencode/opencode.json", "/etc/opencode/opencode.jsonc", "/Library/Application Support/opencode")

    def command(self, program: str, address: str) -> list[str]:
        return [program, "run", "--format", "json"]

    def environment(self, home: str, address: str) -> dict[str, str]:
        limit = {"context": 100_000, "output": 4_000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": MODEL,
            "options": {"baseURL": f"{address}/v1", "apiKey": KEY},
            "models": {MODEL: {"name": MODEL, "tool_call": True, "limit": limit}},
        }
        # Merged over the settings file, which is `connect`'s to write.
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": f"{MODEL}/{MODEL}",
            "small_model": f"{MODEL}/{MODEL}",
            "permission": "allow",
            "provider": {MODEL: provider},
        }
        return {
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def edits(self, root: str, path: str, old: str, new: str) -> list[Step]:
        given = {"filePath": path, "oldString": old, "newString": new}
        return [call(Call("read", {"filePath": path})), call(Call("edit", given))]

    def shell(self, command: str, **more: Any) -> Step:
        given = {"command": command, "description": "a scripted command", "timeout": LONG_MS}
        return call(Call("bash", given | more))


class Cline(Driver):
    """Cline's command line, with hooks from `~/.cline/hooks`: a provider of one's own is named once, by a command."""

    client, agent, program = "cline", "cline", "cline"

    def first(self, program: str, address: str) -> list[list[str]]:
        return [[program, "auth", "-p", "openai-compatible", "-k", KEY, "-m", MODEL, "-b", f"{address}/v1"]]

    def command(self, program: str, address: str) -> list[str]:
        return [program, "--json", "-P", "openai-compatible", "-m", MODEL]

    def environment(self, home: str, address: str) -> dict[str, str]:
        return {}

    def edits(self, root: str, path: str, old: str, new: str) -> list[Step]:
        return [call(Call("editor", {"path": path, "old_text": old, "new_text": new}))]

    def shell(self, command: str, **more: Any) -> Step:
        return call(Call("run_commands", {"commands": [command], **more}))


DRIVERS: dict[str, Driver] = {
    driver.client: driver for driver in (ClaudeCode(), Codex(), Gemini(), Copilot(), Qwen(), OpenCode(), Cline())
}

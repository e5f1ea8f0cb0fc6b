"""Qwen Code, made from Gemini CLI: one `settings.json` with hooks under Claude's events, and the MCP server."""

from __future__ import annotations

from clearway.setup.connect import gemini
from clearway.setup.connect.shapes import Asked, SettingsFile

CLIENT = "qwen"
_AFTER = "edit|write_file|run_shell_command|monitor|agent|mcp__.*"
EVENTS: tuple[tuple[str, str | None], ...] = (
    ("PreToolUse", "*"),
    ("PostToolUse", _AFTER),
    ("PostToolUseFailure", _AFTER),
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("Stop", None),
    ("SubagentStop", None),
    ("PreCompact", None),
    ("SessionEnd", None),
)


def installed(asked: Asked) -> bool:
    return gemini.is_here(asked, CLIENT)


def files(asked: Asked) -> list[SettingsFile]:
    return [gemini.settings_file(asked, CLIENT, EVENTS)]

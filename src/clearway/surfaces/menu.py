"""Every first word of the command line, by what it is about, and the first page of help.

Plain data and text, so that help costs no more than a command. What a word does is told by its operation, or in
words.py for those that stand for none.
"""

from __future__ import annotations

from clearway.surfaces.vocabulary import COMMANDS

SUMMARY = "Coordinate coding agents that work in one repository: nothing is owned, everything is leased."
EPILOGUE = "Without a command, in a repository: where it stands, and the next two commands."
USAGE = "Usage: clearway [OPTIONS] [COMMAND] [ARGS]..."
HELP_COLUMNS = 100

SETTING_UP = {
    "init": "Make the room of this repository, and the file that names it.",
    "connect": "Register hooks and MCP server with the agents installed here.",
    "disconnect": "Take our hooks and MCP server out of the agents' settings again.",
    "git-hooks": "Put our git hooks into this repository, or take them out: install, remove.",
    "doctor": "Look whether everything is in order; exit status 1 when something is not.",
    "simulate": "Play one story with two agents, each step checked, in a place of its own.",
    "backup": "Write a backup of this room, which proves itself, while others work on.",
    "prune": "Part with events of crew and guard and with handled messages that are older than retention_days.",
    "restore-backup": "Put a backup in the place of a room that is missing, or older.",
    "import": "Bring the issues of another tracker into this project: rhizome, beads, markdown, github.",
    "uninstall": "Disconnect everything on this machine, and with --data remove what is kept.",
}
# Further words below those that lead to others.
BELOW = {
    "project": {
        "export": "Write all issues and what belongs to them to one file, for another room or for git.",
        "import": "Bring the issues of an exported file into this project; of two versions of one the newer counts.",
    }
}
LOOKING = {
    "web": "Print a link to the room in a browser, which lets one browser in once.",
    "top": "Watch the room: what needs you, who is here, what is held and how long still, tasks, limits.",
    "status": "Say in one line where things stand, for prompts and status bars.",
    "history": "Tell what happened to the paths of this repository, or to one of them.",
    "restore": "Bring a held file back as its holder left it; exit status 3 when nothing is kept of it.",
    "worker": "Work on tasks and issues without a person: run, activate, status.",
    "notify": "Tell you by Telegram, a webhook or a command what waits for you, each once: once, run, test.",
    "provider": "Ask Codex itself whether its limit is reached, or say that limits are over: sync, clear.",
    "codex-wake": "Queue a line for a thread of Codex whenever a message waits for it.",
    "report": "Tell what came of the night: landed, parked and why, tests, cost, and what waits for you.",
    "incident": "Report what happened in a span, with the room before and after; without secrets and anybody's texts.",
    "forecast": "Say which worktrees will not merge, and in which files; exit status 1 when there are any.",
    "gc": "Remove worktrees that nobody needs any more, and say why each other one stays.",
    "wait": "Wait for a message, until a path is free, or for an issue; exit status 124 when the time is over.",
}
PLANNING = {
    "board": "Show the project as it is now: what is in work, in review, blocked, ready, open and finished lately.",
    "graph": "Show what waits for what: in the whole project what is unfinished, or all around one issue.",
    "plan": "Look at a file of issues, or make them, all at once: validate, apply.",
}
MORE = {
    "call": "Ask any operation by its name, with a JSON object of arguments; the answer is JSON.",
    "completion": "Print what makes a shell complete these commands.",
    "service": "Let host, workers, notifier or codex-wake run by themselves: install, remove, status.",
    "host": "Run, start, stop or show the one process that answers for all clients of this home.",
    "mcp": "Serve the operations as MCP tools on stdin and stdout.",
    "serve": "Serve MCP over HTTP in the foreground; a token lets clients in.",
    "token": "Make, list or revoke the tokens that let clients in at serve.",
    "hook": "Answer one hook event of a client: its JSON on stdin, its dialect on stdout.",
}
# The words of the predecessors, and what they are here. Not listed anywhere, so that nobody learns them anew.
ALIASES = {
    "maintenance release-attempt": "attempt release",
    "maintenance rebuild-search-index": "rebuild-search",
    "broker": "host run",
    "ack": "task update",
    "bridge": "worker run",
    "worker-activate": "worker activate",
    "cancel": "task cancel",
    "jobs": "task list",
    "retry": "task retry",
    "failover-activate": "failover activate",
    "provider-sync": "provider sync",
    "provider-clear": "provider clear",
    "init claude-code": "connect claude",
    "init codex": "connect codex",
    "project info": "",
    "info": "",
    "overview": "top",
    "version": "--version",
}
OPTIONS = (
    ("--json", "Answer (and refuse) in JSON."),
    ("--as NAME", "Act as this agent."),
    ("-C DIR", "Act in this folder."),
    ("--room DSN|PATH", "Ask this room instead of the one found."),
    ("--version", "Show the version and exit."),
    ("-h, --help", "Show this message and exit."),
)
_TITLES = {"work": "Work", "plan": "Plan", "crew": "Crew", "admin": "Project"}


def families() -> dict[str, list[str]]:
    """First words that lead to others, with those."""
    found: dict[str, list[str]] = {}
    for words in COMMANDS:
        first, _, second = words.partition(" ")
        if second:
            found.setdefault(first, []).append(second)
    for first, below in BELOW.items():
        found.setdefault(first, []).extend(below)
    return found


def sections() -> list[tuple[str, dict[str, str]]]:
    """Every first word with what it is good for. One that leads to several stands in the group of the first."""
    groups: dict[str, dict[str, str]] = {}
    several = families()
    for words, command in COMMANDS.items():
        first = words.partition(" ")[0]
        if not any(first in entries for entries in groups.values()):
            entries = groups.setdefault(command.group, {})
            entries[first] = ", ".join(several[first]) if first in several else command.summary
    groups.setdefault("crew", {}).update(LOOKING)
    groups.setdefault("plan", {}).update(PLANNING)
    listed = [(title, groups.pop(group)) for group, title in _TITLES.items() if group in groups]
    listed += [(group.capitalize(), entries) for group, entries in groups.items()]
    return [("Set-up", SETTING_UP), *listed, ("More", MORE)]


def help_page(columns: int) -> str:
    """What `clearway --help` says, for a terminal of so many columns."""
    width = min(columns or HELP_COLUMNS, HELP_COLUMNS)
    parts = [*_wrapped(USAGE, width, ""), "", *_wrapped(SUMMARY, width, "  ")]
    parts += ["", "Options:", *_entries(dict(OPTIONS), width)]
    for title, entries in sections():
        parts += ["", f"{title}:", *_entries(entries, width)]
    return "\n".join([*parts, "", *_wrapped(EPILOGUE, width, "  ")])


def _entries(entries: dict[str, str], width: int) -> list[str]:
    """Words with what they are for, beside or, where there is little room, below them."""
    first = max(len(word) for word in entries)
    lines: list[str] = []
    for word, about in entries.items():
        if width - first >= first + 20:
            head, *rest = _wrapped(about, width, " " * (first + 4))
            lines += [f"  {word:<{first}}  {head.strip()}", *rest]
        else:
            lines += [f"  {word}", *_wrapped(about, width, "      ")]
    return lines


def _wrapped(text: str, width: int, margin: str) -> list[str]:
    """The words of a text on as few lines as there must be, each behind the margin."""
    lines: list[str] = []
    line = margin
    for word in text.split():
        if len(line) > len(margin) and len(line) + len(word) >= width:
            lines.append(line.rstrip())
            line = margin
        line += word + " "
    return [*lines, line.rstrip()]

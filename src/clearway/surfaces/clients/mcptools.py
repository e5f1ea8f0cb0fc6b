"""Tools of other MCP servers: which of them write files here, told by their names and the shape of their arguments.

Nobody knows all servers, so a tool is judged like a stranger: servers that work elsewhere and tools that read are left
alone, a tool that writes is asked for the files that its arguments name, and one that cannot be told is allowed and
looked at after the call. The tables say what is known by name; whatever is missing in them is decided by shape.
"""

from __future__ import annotations

from clearway.guard.toolcall import Target
from clearway.surfaces.clients import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.guard.toolcall import ToolCall

OWN_SERVER = "clearway"
_OWN_SERVERS = frozenset({OWN_SERVER, f"plugin_{OWN_SERVER}_{OWN_SERVER}"})  # the second comes with our plugin
# Tools of ours that sound as if they wrote files, for clients that do not say whose a tool is.
_OWN_TOOLS = frozenset({"create_issue", "create_review_request", "save_attempt_note", "update_issue", "update_project",
                        "update_task"})  # fmt: skip

# Servers that work elsewhere: a path in their arguments is no path of this disk. Words of a server's name.
REMOTE_SERVERS = frozenset(
    """
    airtable algolia apify asana atlassian auth0 aws azure bigquery bitbucket box brave browser browserbase browsermcp
    calendar chrome clickup cloudflare confluence contentful context7 contentsquare databricks datadog deepwiki
    devtools discord docusign dropbox elastic elasticsearch exa fetch figma firebase firecrawl gcp gdrive gitea github
    gitlab gmail grafana heroku honeycomb hubspot huggingface intercom jira kagi kibana kubernetes linear mail
    mailchimp mapbox maps memory miro monday mongo mongodb mysql neo4j neon netlify newrelic notion openai opensearch
    outlook pagerduty paypal perplexity pinecone plaid playwright posthog postgres postgresql postman pubmed puppeteer
    qdrant quickbooks railway redis reddit replicate salesforce selenium sentry sequential serper shopify shortcut
    slack snowflake spotify sqlite square stackoverflow stripe supabase tavily teams telegram terraform thinking time
    todoist trello twilio twitter vercel weather webflow wikipedia wolfram wordpress xero youtube zapier zendesk zoom
    """.split()
)
# Arguments that name something which stands elsewhere: a repository of a forge, a bucket, a page.
_REMOTE_ARGUMENTS: tuple[frozenset[str], ...] = (
    frozenset({"owner", "repo"}),
    frozenset({"project_id", "branch"}),
    frozenset({"project_id", "ref"}),
    frozenset({"bucket"}),
    frozenset({"page_id"}),
    frozenset({"channel"}),
    frozenset({"channel_id"}),
)
# What a tool does, by the words of its name.
WRITES = frozenset(
    """
    append apply apply_patch autofix change convert copy create cut delete download edit erase export extract fix
    format generate insert modify move multiedit overwrite patch prepend put reformat remove rename replace restore
    rewrite save scaffold set sort store touch trash truncate undo unlink unzip update upsert write
    """.split()
)
READS = frozenset(
    """
    analyse analyze browse cat check compare count describe diagnose diff exists explain fetch find get
    glob grep info inspect lint list load log lookup ls open outline preview query read resolve scan search select
    show stat status summarize test tree validate view watch
    """.split()
)
RUNS = shapes.RUNS | {"execute", "process"}
# Whose commands run elsewhere: words of a name, and arguments that say where.
_RUN_ELSEWHERE = frozenset(
    "adb container device docker e2b emulator k8s kubectl lambda pod remote sandbox ssh vm".split()
)
_PLACES_ELSEWHERE = frozenset(
    "connection connectionId connection_id container containerId container_id device deviceId device_id host hostname "
    "machine namespace pod sandboxId sandbox_id server".split()
)
_FOLDERS = frozenset({"dir", "directory", "folder", "mkdir"})
_MAKES = frozenset({"create", "make", "mkdir"})
# Where what is written goes; the plain names of a path stand in shapes.PATHS.
_OUTPUTS = (
    "output_path", "outputPath", "output_file", "outputFile", "dest", "dest_path", "destPath", "target_path",
    "targetPath", "save_path", "savePath", "destination", "destination_path", "destinationPath", "new_path", "newPath",
)  # fmt: skip
# What may as well be no path: only what looks like one is taken for it.
_PERHAPS = ("target", "output", "notebook")
_PERHAPS_MOVED = ("old", "new", "old_name", "oldName", "new_name", "newName")
_INNER_MAX = 64  # objects among the arguments that are looked into
_PAIRS = (("source", "destination"), ("source_path", "destination_path"), ("sourcePath", "destinationPath"))


def read(call: ToolCall, server: str, tool: str, given: Any) -> None:
    """What a call of another server's tool does. server: its name, as far as the client tells it."""
    call.kind = "mcp"
    if server.lower() in _OWN_SERVERS or (not server and tool in _OWN_TOOLS):
        call.tool = f"mcp__{OWN_SERVER}__{tool}"  # moments.OWN_TOOLS, however this client spells it
        return
    if is_remote(server, given):
        return
    words = shapes.words_of(tool)
    if _runs_here(shapes.words_of(server) | words, words, given):
        call.kind = "shell"
        given = _with_arguments(given)
        shapes.read_command(call, shapes.Payload(given), given)
        return
    if not _writes(tool, words, given):
        return
    named = _named(words, given)
    call.targets = list(dict.fromkeys(target for target in named if shapes.is_of_this_disk(target.path)))
    call.is_strange = not named and not words & _FOLDERS


def is_remote(server: str, given: Any) -> bool:
    """Whether the server works elsewhere, by its name or by what it is asked for."""
    if shapes.words_of(server) & REMOTE_SERVERS:
        return True
    return shapes.is_object(given) and any(names <= given.keys() for names in _REMOTE_ARGUMENTS)


def _runs_here(about: set[str], words: set[str], given: Any) -> bool:
    """Whether the tool runs a command line on this machine. about: all that its name and its server's say."""
    if not shapes.is_object(given) or not words & RUNS or about & _RUN_ELSEWHERE or given.keys() & _PLACES_ELSEWHERE:
        return False
    return any(isinstance(given.get(name), str | list) for name in shapes.COMMANDS)


def _with_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """`{"command": "rm", "args": ["held.txt"]}`, whose command is one word, as an argument vector."""
    program, arguments = given.get("command"), given.get("args", given.get("arguments"))
    if isinstance(program, str) and program and not set(program) & set(" \t\n") and shapes.is_list(arguments):
        return {**given, "command": [program, *(str(argument) for argument in arguments)]}
    return given


def _writes(tool: str, words: set[str], given: Any) -> bool:
    """A name that begins with reading reads, unless it is given new content: `get_edit_history`, `search_replace`."""
    brings_content = shapes.is_object(given) and not given.keys().isdisjoint(shapes.CONTENTS)
    if (shapes.first_word(tool) in READS or shapes.only_looks(given)) and not brings_content:
        return False
    if words & WRITES:
        return True
    return brings_content and not words & READS


def _named(words: set[str], given: Any) -> list[Target]:
    if words & _FOLDERS and words & _MAKES:
        return []  # a new folder overwrites nothing, and holding it would hold all that comes into it
    if words & shapes.PATCHING and (patched := shapes.patched(given)):
        return patched
    action = shapes.action_of(words)
    names = shapes.path_names(words)
    if shapes.is_object(given):
        names = (*names, *_OUTPUTS, *(name for pair in _PAIRS if set(pair) <= given.keys() for name in pair))
        likely = (*_PERHAPS, *_PERHAPS_MOVED) if words & {"move", "rename"} else _PERHAPS
        names += tuple(name for name in likely if shapes.looks_like_path(given.get(name)))
    names = tuple(dict.fromkeys(names))
    found = list(shapes.paths_in(given, names, action))
    if not found and shapes.is_object(given):  # a level lower: `{"args": {"path": ...}}`
        held = [value for _, value in zip(range(_INNER_MAX), given.values(), strict=False)]
        inner = [shapes.respelt(value) for value in held if shapes.is_object(value)]
        found = [target for each in inner for target in shapes.paths_in(each, names, action)]
    if "copy" in words and not words & {"move", "rename"}:
        found = [target for target in found if target.action != "move"]  # what is copied from is only read
    return found

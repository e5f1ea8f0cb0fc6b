"""Writes docs/reference/ from the declarations the product runs on, the list of decisions, and the index of the command
line: `make docs`.

What a person could look up in the code and would otherwise have to be told twice: operations, refusals, limits, and
the life of an issue. Nothing here is written by hand, and a test compares the files with what this program says.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from clearway import arguments, errors, lifecycle, limits
from clearway.arguments import Choice, Flag, FreeObject, Kind, Many, Parameter, PathText, Record, Text, Whole
from clearway.catalog import OPERATIONS
from clearway.op import Operation
from clearway.surfaces import (
    briefs,
    errands,
    letters,
    mcp_prompts,
    mcp_resources,
    mcp_tools,
    render,
    scenes,
    spending,
    stories,
    verdicts,
)
from clearway.work import transfer_records
from clearway.work.planshapes import Drafts

DOCS = Path(__file__).resolve().parent
INDEX = DOCS.parent / "src" / "clearway" / "surfaces" / "index.py"
# Whose WRITERS know how to say an answer to a person.
WRITTEN_IN = (render, scenes, stories, letters, errands, verdicts, briefs, spending)


def main(folder: Path = DOCS) -> None:
    for old in (folder / "reference").glob("*.md"):
        old.unlink()
    for name, page in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(page(), encoding="utf-8")
    if folder == DOCS:
        INDEX.write_text(index(), encoding="utf-8")


def index() -> str:
    """The module that says without loading an operation how each is spelt, and who writes down its answer."""
    spelt = {each.name: (each.cli, each.group, arguments.summary(each)) for each in OPERATIONS.values()}
    writers = {key: module.__name__.rpartition(".")[2] for module in WRITTEN_IN for key in module.WRITERS}
    return "\n".join(
        [
            '"""How each operation is spelt, for whom none is loaded: written by `make docs` from the declarations."""',
            "",
            "# ruff: noqa: E501",
            "# fmt: off",
            "from __future__ import annotations",
            "",
            "# operation -> the words of its command, its group, and what it is good for",
            "SPELT: dict[str, tuple[str, str, str]] = {",
            *(f"    {quoted(name)}: ({', '.join(map(quoted, told))})," for name, told in spelt.items()),
            "}",
            "",
            "# operation, or words of a command -> the module that tells a person the answer",
            "WRITERS: dict[str, str] = {",
            *(f"    {quoted(name)}: {quoted(module)}," for name, module in writers.items()),
            "}",
            "",
        ]
    )


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def decisions() -> str:
    """The first page of docs/why: every other page there, by its title."""
    pages = sorted(path for path in (DOCS / "why").glob("*.md") if path.name != "README.md")
    titles = {path.name: path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for path in pages}
    return page(
        "Decisions",
        "A decision that someone might want to undo has a page here: the question, the choice, and what was given up.",
        "\n".join(f"- [{title}]({name})" for name, title in titles.items()),
    )


def first_page() -> str:
    return page(
        "Reference",
        "Written by `make docs` from the declarations in the code; edit those, not these pages.",
        "- [Operations](operations.md): everything that can be asked of a room\n"
        "- [Refusals](refusals.md): every code, with its exit and HTTP status\n"
        "- [Limits](limits.md): every bound, with its unit\n"
        "- [What an MCP client is offered](mcp.md): tools by group, resources, prompts\n"
        "- [The life of an issue](lifecycle.md): statuses, and what an attempt can end as\n"
        "- [The format of an exported project](interchange.md): every record and its fields",
    )


def operations() -> str:
    groups: dict[str, list[Operation]] = {}
    for operation in OPERATIONS.values():
        groups.setdefault(operation.group, []).append(operation)
    parts = [
        "\n\n".join([f"## {group.capitalize()}", *(told(operation) for operation in listed)])
        for group, listed in groups.items()
    ]
    return page(
        "Operations",
        "The same names, arguments, replies and refusals on every surface: as an MCP tool, as a subcommand, and "
        "through `clearway call OPERATION '{json}'`. Unknown arguments are refused; `null` means not given.",
        *parts,
    )


def told(operation: Operation) -> str:
    """One operation: what the caller gets, how it is reached, and its arguments."""
    reached = [
        f"`clearway {operation.cli}`" if operation.cli else f"`clearway call {operation.name}`",
        among(operation),
        writes(operation),
    ]
    if operation.keyed:
        takes = "needs" if operation.key_required else "takes"
        reached.append(f"{takes} an `idempotency_key`, kept for the {operation.keyed}")
    listed = arguments.parameters(operation)
    rows = [(f"`{each.name}`", shape(each.kind), need(each), each.about) for each in listed]
    parts = [f"### {operation.name}", arguments.description(operation), "; ".join(reached) + "."]
    return "\n\n".join([*parts, table(("argument", "value", "when absent", ""), rows)] if rows else parts)


def among(operation: Operation) -> str:
    """Which tools of an MCP server have it."""
    if not operation.tool:
        return "no tool"
    return "in the `core` tools" if operation.core else "in the `full` tools"


def writes(operation: Operation) -> str:
    if isinstance(operation.writes, tuple):
        return f"writes when {' or '.join(f'`{name}`' for name in operation.writes)} is given"
    return "writes" if operation.writes else "reads"


def shape(kind: Kind) -> str:
    """What a value may be, with its bounds."""
    match kind:
        case Choice():
            return words(kind.words)
        case Text():
            return f"text, at most {kind.chars:,} characters"
        case Whole():
            return f"number, {kind.low:,} to {kind.high:,}"
        case Flag():
            return "true or false"
        case Many():
            return f"list, at most {kind.most:,}: {shape(kind.kind)}"
        case Drafts():
            return f"list, at most {kind.most:,}: object of {words(kind.record.fields)}"
        case FreeObject():
            return f"object, at most {kind.bytes_max:,} bytes"
        case Record():
            return "object of " + words(kind.fields)
        case PathText():
            return "path"
        case _:
            return str(kind.schema().get("type", "anything"))


def need(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    return "" if parameter.default is None else f"default `{json.dumps(parameter.default)}`"


def refusals() -> str:
    rows = [
        (f"`{code}`", "yes" if again else "no", str(exit_status), str(http))
        for code, (again, exit_status, http) in errors.CODES.items()
    ]
    return page(
        "Refusals",
        "A refusal is an answer: the room understood and says no. The code is the same on every surface; the sentence "
        "beside it states the fact and the way out.",
        table(("code", "worth asking again unchanged", "exit", "HTTP"), rows),
    )


def limits_page() -> str:
    """The bounds in the order and groups of their module, with the remark that stands beside each."""
    source = Path(limits.__file__).read_text(encoding="utf-8")
    lines = source.splitlines()
    parts: list[str] = []
    rows: list[tuple[str, ...]] = []
    header = ("name", "value", "")
    for number, line in enumerate(lines):
        if line.startswith("# --- "):
            parts, rows = flush(parts, rows, header), []
            parts.append(f"## {line.strip('#- ').capitalize()}")
        elif line and line[0].isupper() and " = " in line:
            name = ast.parse(lines[number]).body[0].targets[0].id  # type: ignore[attr-defined]
            rows.append((f"`{name}`", amount(name, getattr(limits, name)), line.partition("  # ")[2]))
    return page(
        "Limits",
        "Every text, list, loop and wait has a bound. Characters are Unicode code points.",
        "\n\n".join(flush(parts, rows, header)),
    )


def flush(parts: list[str], rows: list[tuple[str, ...]], header: tuple[str, ...]) -> list[str]:
    return [*parts, table(header, rows)] if rows else parts


UNITS = {"_ms": "milliseconds", "_seconds": "seconds", "_chars": "characters", "_bytes": "bytes"}


def amount(name: str, value: Any) -> str:
    """A number with its unit, which stands in the name; a word as it is."""
    if isinstance(value, str):
        return f"`{value}`"
    lower = name.lower()
    unit = next((unit for mark, unit in UNITS.items() if mark in lower), "")
    return f"{value:,} {unit}".strip()


def life() -> str:
    arrows = [f"    {status} --> {target}" for status, targets in lifecycle.TRANSITIONS.items() for target in targets]
    diagram = "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> open", *arrows, "```"])
    arrows = [f"    {state} --> {next}" for state, moves in lifecycle.TASK_TRANSITIONS.items() for next in moves]
    tasks = "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> pending", *arrows, "```"])
    ends = table(
        ("an attempt ends as", "with one of these reasons"),
        [
            ("`completed`", "issue becomes " + words(lifecycle.WORK_TARGETS)),
            ("`failed`", words(lifecycle.FAILURE_CODES)),
            ("`interrupted`", words(lifecycle.INTERRUPTION_CODES)),
            ("`expired`", "its lease lapsed, or its session's process is gone"),
        ],
    )
    return page(
        "The life of an issue",
        "`in_progress` is never stored: it is what an issue looks like while an attempt on it lives. Drawn from the "
        "tables that the code runs on.",
        f"{diagram}\n\n{ends}",
        f"## The life of a task\n\nA lease that lapses gives it back; too many lapses end it.\n\n{tasks}",
        f"Types: {words(lifecycle.TYPES)}. Priorities: {words(lifecycle.PRIORITIES)}. "
        f"Notes: {words(lifecycle.NOTE_KINDS)}.",
    )


def interchange() -> str:
    """The own format of a project as a document, from the shapes that read it."""
    parts = [
        "JSON Lines in UTF-8: one JSON object a line. The first line is the header, the last one counts the records; "
        "between them stand the records in this order: "
        + ", ".join(f"`{name}`" for name in transfer_records.ORDER)
        + ". Times are RFC 3339 in UTC, ids are ULIDs. What is not named here is refused (`UNSUPPORTED_FIELD`).",
        "## The header",
        f"`format` is `{transfer_records.FORMAT}`, `version` is {transfer_records.VERSION}.",
        fields(transfer_records.HEADER),
    ]
    for name in transfer_records.ORDER:
        parts += [f"## `{name}`", f"`record` is `{name}`.", fields(transfer_records.SHAPES[name])]
    counts = (
        "`record` is `end`, and `counts` has the number of records of each kind: without it a document was cut off."
    )
    return page("The format of an exported project", *parts, "## The last line", counts)


def fields(shape: transfer_records.Shape) -> str:
    rows: list[tuple[str, ...]] = []
    for name, kind in shape.fields.items():
        rows.append((f"`{name}`", field_kind(kind), "required" if name in shape.required else ""))
    return table(("field", "what", ""), rows)


def field_kind(kind: Kind) -> str:
    inner = kind.kind if isinstance(kind, Many) else kind
    if isinstance(inner, transfer_records.Part):
        what = "an object with " + words(inner.shape.fields)
    elif isinstance(inner, Choice):
        what = "one of " + words(inner.words)
    else:
        what = KINDS[type(inner).__name__]
        what += f" of at most {inner.chars:,} characters" if isinstance(inner, Text) else ""
    return f"at most {kind.most:,}, each {what}" if isinstance(kind, Many) else what


KINDS = {
    "Id": "an id",
    "Moment": "a time",
    "Facts": "an object",
    "FreeObject": f"an object of at most {limits.ARTIFACT_METADATA_BYTES_MAX:,} bytes",
    "Whole": "a whole number",
    "Flag": "true or false",
    "Text": "a text",
    "Trimmed": "a text",
    "KeyOfIssues": "a word",
    "Ability": "a word",
    "RepositoryPath": "a path in the repository",
    "ArtifactUri": "a path in the repository or an http(s) address",
}


def offered() -> str:
    """What an MCP client finds besides the tools, and which tools are in which group."""
    resources = [(f"`{each['uri']}`", each["mimeType"], each["description"]) for each in mcp_resources.LISTED]
    resources += [
        (f"`{each['uriTemplate']}`", each["mimeType"], each["description"]) for each in mcp_resources.TEMPLATES
    ]
    prompts: list[tuple[str, ...]] = []
    for prompt in mcp_prompts.PROMPTS:
        takes = ", ".join(f"`{argument['name']}` ({argument['description']})" for argument in prompt["arguments"])
        prompts.append((f"`{prompt['name']}`", prompt["description"], takes))
    tools = [operation for operation in OPERATIONS.values() if operation.tool]
    groups = [
        (
            f"`{group}`",
            ", ".join(f"`{tool.name}`" + ("*" if tool.core else "") for tool in tools if tool.group == group),
        )
        for group in mcp_tools.GROUPS
    ]
    return page(
        "What an MCP client is offered",
        f"The server calls itself `{mcp_tools.NAME}`. Its instructions:",
        f"```\n{mcp_tools.INSTRUCTIONS}\n```",
        "## Tools",
        "By group; those with * are in `core`. What each takes: [operations](operations.md).",
        table(("group", "tools"), groups),
        "## Resources",
        "All but the guides can be subscribed to.",
        table(("address", "as", ""), resources),
        "## Prompts",
        "No argument is required.",
        table(("name", "", "takes"), prompts),
    )


def words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "reference/README.md": first_page,
    "reference/operations.md": operations,
    "reference/refusals.md": refusals,
    "reference/limits.md": limits_page,
    "reference/lifecycle.md": life,
    "reference/interchange.md": interchange,
    "reference/mcp.md": offered,
    "why/README.md": decisions,
}

if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:2]))

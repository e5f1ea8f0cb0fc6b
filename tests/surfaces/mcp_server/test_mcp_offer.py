"""What a server says of itself: the tools of a profile, their budget, its guides."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.surfaces.mcp_server.talks import size

from clearway import arguments, catalog, lifecycle
from clearway.crew import agents
from clearway.errors import CODES, Refusal
from clearway.op import operation_of
from clearway.surfaces import mcp_resources, mcp_tools
from clearway.surfaces.mcp_tools import Offer


def test_the_core_tools_fit_their_budget() -> None:
    assert size(Offer("core").lists()["tools/list"]) <= 10_000
    assert size(Offer("full").lists()["tools/list"]) <= 24_000


def test_the_instructions_are_short_and_their_first_line_stands_alone() -> None:
    """Codex shows a model no more than that line."""
    assert len(mcp_tools.INSTRUCTIONS.encode()) <= 600
    first = mcp_tools.INSTRUCTIONS.partition("\n")[0]
    assert first.endswith(".") and "agents" in first and "repository" in first


# What only a person may do is not offered to agents.
TOOLS = [operation for operation in catalog.OPERATIONS.values() if operation.tool]


def test_the_core_lists_what_is_often_needed_and_takes_the_rest() -> None:
    core, full = (
        {tool["name"]: tool["inputSchema"]["properties"] for tool in Offer(p).tools}
        for p in ("core", "work,plan,crew,admin")
    )
    rare = {(name, argument) for name in core for argument in full[name].keys() - core[name].keys()}
    assert rare == {(o.name, argument) for o in TOOLS if o.core for argument in o.rare}
    assert ("list_issues", "include_archived") in rare
    for name, argument in rare:
        assert argument in {parameter.name for parameter in arguments.parameters(catalog.OPERATIONS[name])}


@pytest.mark.parametrize("operation", TOOLS, ids=lambda operation: operation.name)
def test_a_tool_says_only_what_a_model_needs(operation: Any) -> None:
    (tool,) = [tool for tool in Offer("full").tools if tool["name"] == operation.name]
    assert set(tool) <= {"name", "description", "inputSchema", "annotations"}
    assert "additionalProperties" not in json.dumps(tool["inputSchema"]), "what is not listed is refused at the door"
    assert 1 <= len(re.findall(r"\.(?:\s|$)", tool["description"])) <= 2, "one sentence, or two"


@pytest.mark.parametrize("operation", catalog.OPERATIONS.values(), ids=lambda operation: operation.name)
def test_everything_in_a_schema_says_its_type(operation: Any) -> None:
    """Gemini refuses a whole list of tools for one enum without."""

    def untyped(schema: dict[str, Any], name: str) -> list[str]:
        inner = [*schema.get("properties", {}).items()]
        inner += [("items", schema["items"])] if "items" in schema else []
        found = [found for below, each in inner for found in untyped(each, f"{name}.{below}")]
        return found if "type" in schema else [name, *found]

    assert untyped(arguments.schema(operation), operation.name) == []


def test_a_read_says_so_and_a_write_that_it_destroys_nothing() -> None:
    """Codex asks its user before every call of a tool that says neither."""
    hints = {tool["name"]: tool["annotations"] for tool in Offer("full").tools}
    assert hints["list_issues"] == {"readOnlyHint": True}
    assert hints["claim_issue"] == {"destructiveHint": False, "openWorldHint": False}
    assert hints["room"] == hints["claim_issue"], "it writes when it is given a status"


def test_a_tool_that_takes_paths_takes_the_folder_they_are_relative_to() -> None:
    tools = {tool["name"]: tool["inputSchema"]["properties"] for tool in Offer("full").tools}
    assert "cwd" in tools["claim_paths"]
    assert "cwd" not in tools["claim_issue"]


@pytest.mark.parametrize(
    ("profile", "there", "not_there"),
    [
        ("core", {"claim_issue", "update_issue", "get_changes", "room"}, {"get_issue", "path_owner"}),
        ("full", {"claim_issue", "room", "get_issue", "path_owner"}, set()),
        ("work", {"claim_issue", "get_issue"}, {"room"}),
        ("core, crew", {"claim_issue", "room", "path_owner"}, {"get_issue"}),
        ("crew,plan", {"room", "path_owner"}, {"claim_issue"}),
    ],
)
def test_a_profile_names_what_is_listed(profile: str, there: set[str], not_there: set[str]) -> None:
    listed = {tool["name"] for tool in Offer(profile).tools}
    assert there <= listed
    assert not not_there & listed


@pytest.mark.parametrize("profile", ["everything", "core,", "", "Core"])
def test_a_profile_that_does_not_exist_is_refused_with_those_that_do(profile: str) -> None:
    with pytest.raises(Refusal, match=r"core, full, .* work, plan, crew, admin") as caught:
        Offer(profile)
    assert caught.value.code == "INVALID_ARGUMENT"


def test_every_guide_can_be_read_and_names_only_what_exists() -> None:
    """I5."""
    known = {*catalog.OPERATIONS, *CODES, "lease_token", "in_progress", arguments.KEY.name}
    known |= {name for operation in catalog.OPERATIONS.values() for name in arguments.form(operation).parameters}
    known |= {*lifecycle.STATUSES, *lifecycle.ATTEMPT_STATUSES, *lifecycle.NOTE_KINDS, *lifecycle.PATH_MODES}
    known |= {*lifecycle.INTERRUPTION_CODES, *lifecycle.FAILURE_CODES, *lifecycle.TASK_REPORTS}
    listed = {resource["uri"] for resource in Offer("core").lists()["resources/list"]["resources"]}
    for uri in (f"clearway://guide/{name}" for name in mcp_resources.GUIDES):
        text = mcp_resources.guide(uri)
        assert uri in listed and text and text.startswith("# ")
        named = {word.partition(":")[0] for word in re.findall(r"`([^`]+)`", text)}
        assert named <= known, f"{uri} names {named - known}"


@pytest.mark.parametrize(
    "uri", ["clearway://guide/", "clearway://guide/../mcp", "workflow", "clearway://guide/nothing"]
)
def test_there_is_no_other_guide(uri: str) -> None:
    assert mcp_resources.guide(uri) is None


def test_a_listed_tool_is_an_operation_of_the_catalogue() -> None:
    assert {tool["name"] for tool in Offer("full").tools} == {operation.name for operation in TOOLS}
    assert operation_of(agents.room) is catalog.OPERATIONS["room"]

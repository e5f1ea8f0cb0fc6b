"""One story that asks every tool of the catalogue something it can answer, whoever asks and over whatever surface.

`tell` plays it for two agents. `outlines` are the shorter questions: each operation with nothing, with too much, and
with names that nobody has, to hear how it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clearway import arguments
from clearway.arguments import Choice, Flag, Kind, Many, PathText, Record, Text, Whole
from clearway.op import Operation

# Asks one operation; the reply, or the refusal under "refused".
Ask = Callable[..., dict[str, Any]]

ISSUES = [{"ref": "a", "title": "Plan A", "status": "ready"}, {"ref": "b", "title": "Plan B"}]
PLAN: dict[str, Any] = {
    "issues": ISSUES,
    "relations": [{"source_ref": "a", "target_ref": "b"}],
}


class Missing(dict[str, Any]):
    """A reply in which what a refusal has not is something that is nowhere: so the story goes on after it."""

    def __missing__(self, name: str) -> Any:
        return 99_999 if name in ("message_id", "version", "task_id") else "nothing"


def tell(anna: Ask, ben: Ask) -> None:
    """The whole of it. What is refused on purpose is refused everywhere."""
    _issues(anna, ben)
    _attempts(anna, ben)
    _planning(anna, ben)
    _reviews(anna, ben)
    _paths(anna, ben)
    _messages(anna, ben)
    _tasks(anna, ben)
    _project(anna, ben)


def _issues(anna: Ask, ben: Ask) -> None:
    anna("get_project")
    anna("create_issue", title="Mend the door", status="ready", labels=["house", "Wood"], description="It\nsqueaks.")
    anna("create_issue", title="Paint the door", priority="high", paths=["src/a.py"], idempotency_key="k1")
    anna("create_issue", title="Paint the door", priority="high", paths=["src/a.py"], idempotency_key="k1")
    anna("create_issue", title="Another", idempotency_key="k1")  # IDEMPOTENCY_CONFLICT
    anna("create_issue", title="House", type="epic")
    ben("create_issue", title="In the house", parent_issue_id="ISSUE-3")
    ben("create_issue", title="x" * 2_000)  # LIMIT_EXCEEDED
    ben("create_issue", title="Half", status="blocked")  # without a reason
    ben("get_issue", issue_id="issue-1")
    ben("get_issue", issue_id="ISSUE-99")
    ben("list_issues", statuses=["ready", "open"], limit=2)
    ben("list_issues", labels=["house"], is_claimable=True)
    ben("update_issue", issue_id="ISSUE-2", expected_version=1, changes={"status": "ready", "priority": "low"})
    ben("update_issue", issue_id="ISSUE-2", expected_version=1, changes={"title": "Late"})  # VERSION_CONFLICT
    ben("update_issue", issue_id="ISSUE-2", expected_version=2, changes={"status": "done", "unknown": 1})
    ben("archive_issue", issue_id="ISSUE-4", expected_version=1)
    ben("archive_issue", issue_id="ISSUE-4", expected_version=2, archived=False)
    ben("add_comment", issue_id="ISSUE-1", content="It also sticks.")
    ben("search", query="door OR house", limit=5)
    ben("search", query="   ")
    ben("list_labels")
    ben("describe_label", label="house", text="Everything indoors")
    ben("rename_label", label="Wood", name="timber")
    ben("rename_label", label="nothing", name="x")


def _attempts(anna: Ask, ben: Ask) -> None:
    claim = anna("claim_issue", issue_id="ISSUE-1", context=False)
    held = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
    ben("claim_issue", issue_id="ISSUE-1")  # ACTIVE_ATTEMPT_EXISTS
    ben("claim_issue", issue_id="ISSUE-3")  # an epic is never claimed
    ben("claim_issue", next=True, labels=["nobody"])  # NOTHING_TO_CLAIM
    ben("release_attempt", attempt_id=claim["attempt_id"])  # NOT_YOURS
    anna("renew_attempt", **held, lease_seconds=1_800)
    ben("renew_attempt", **{**held, "lease_token": "cw_wrong"})
    artifacts = [{"type": "commit", "uri": "https://example.com/c/1", "title": "One"}]
    anna("save_attempt_note", **held, kind="checkpoint", content="Half.", next_steps=["Oil it"], artifacts=artifacts)
    anna("save_attempt_note", **held, kind="poem", content="Half.")
    anna("get_work_context", issue_id="ISSUE-1", max_bytes=4_000)
    anna("finish_attempt", **held, outcome="completed", result_summary="Done.")  # no target
    anna("finish_attempt", **held, outcome="completed", result_summary="Done.", target_issue_status="review")
    anna("finish_attempt", **held, outcome="completed", result_summary="Again.", target_issue_status="done")
    other = ben("claim_issue", issue_id="ISSUE-2")
    ben("release_attempt", attempt_id=other["attempt_id"])
    ben("list_attempts", issue_id="ISSUE-1")
    ben("get_issue_activity", issue_id="ISSUE-1", limit=5)
    ben("get_changes", since_event_id=0, limit=3, event_types=["issue_created"])
    ben("get_changes", since_event_id=-1)


def _planning(anna: Ask, ben: Ask) -> None:
    anna("manage_issue_relation", source_issue_id="ISSUE-2", target_issue_id="ISSUE-4", relation_type="blocks")
    anna("manage_issue_relation", source_issue_id="ISSUE-4", target_issue_id="ISSUE-2", relation_type="blocks")
    anna("manage_issue_relation", source_issue_id="ISSUE-4", target_issue_id="ISSUE-4", relation_type="blocks")
    anna("get_issue_graph", root_issue_id="ISSUE-2")
    anna("get_planning_graph")
    anna("validate_issue_plan", **PLAN)
    anna("validate_issue_plan", issues=[{"ref": "a"}], relations=[{"source_ref": "a", "target_ref": "z"}])
    anna("apply_issue_plan", **PLAN)  # a key is required
    anna("apply_issue_plan", **PLAN, idempotency_key="plan-1")
    decided = ben("record_decision", title="Oil", summary="We use oil.", issue_id="ISSUE-1")
    ben("record_decision", title="Wax", summary="Better.", issue_id="ISSUE-1", supersedes_id=decided["decision_id"])
    ben("list_decisions", issue_id="ISSUE-1")


def _reviews(anna: Ask, ben: Ask) -> None:
    anna("create_review_request", issue_id="ISSUE-99")
    asked = anna("create_review_request", issue_id="ISSUE-1")
    anna("create_review_request", issue_id="ISSUE-1")  # REVIEW_ALREADY_EXISTS
    ben("list_review_requests", status="open")
    ben("list_review_requests", status="pending")
    review = ben("get_review_request", review_request_id=asked["review_request_id"])
    named = {"review_request_id": asked["review_request_id"]}
    anna("cancel_review_request", **named, expected_version=99)  # VERSION_CONFLICT
    anna("supersede_review_request", **named, expected_version=review["version"])
    anna("cancel_review_request", **named, expected_version=review["version"] + 1)  # it is over
    again = anna("create_review_request", issue_id="ISSUE-1")
    anna("cancel_review_request", review_request_id=again["review_request_id"], expected_version=again["version"])
    ben("get_review_request", review_request_id="01JD0000000000000000000000")


def _paths(anna: Ask, ben: Ask) -> None:
    anna("claim_paths", paths=["free.txt", "src"], purpose="to move it", ttl_seconds=600)
    ben("claim_paths", paths=["src/b.py"])  # PATH_HELD
    ben("claim_paths", paths=[])
    ben("path_owner", path="src/b.py")
    ben("path_owner", path="held.txt")
    ben("release_paths", paths=["free.txt"])
    ben("path_history", path="src/b.py")
    anna("release_paths")
    ben("room", status="looking around")


def _messages(anna: Ask, ben: Ask) -> None:
    sent = anna("send_message", to="ben", text="Do you\nhave the key?", kind="chat", issue_id="ISSUE-1")
    anna("send_message", to="nobody#s", text="Hello")
    anna("send_message", to="ben", text="   ")
    ben("read_inbox", limit=5)
    ben("read_inbox", message_id=sent["message_id"])
    ben("read_inbox", all=True)  # FORBIDDEN
    ben("accept_message", message_id=sent["message_id"], note="Yes.")
    anna("accept_message", message_id=sent["message_id"])  # NOT_YOURS
    anna("accept_message", message_id=99_999)
    ben("send_message", to="anna", text="Here it is.", reply_to=sent["message_id"])
    anna("read_inbox")


def _tasks(anna: Ask, ben: Ask) -> None:
    first = anna("send_message", to="ben", text="Fetch the oil.", kind="task")
    second = anna("send_message", to="ben", text="Fetch the wax.", kind="task")
    taken = ben("next_task")["task"] or {}
    held = {"task_id": taken.get("task_id", 1), "lease_token": taken.get("lease_token", "x")}
    ben("update_task", **held, state="started")
    ben("update_task", **{**held, "lease_token": "cw_wrong"}, state="failed", result="No.")
    ben("update_task", **held, state="succeeded", result="Here.")
    ben("update_task", **held, state="failed", result="No.")
    anna("list_tasks")
    anna("cancel_task", task_id=second["message_id"])
    anna("retry_task", task_id=second["message_id"])
    anna("retry_task", task_id=first["message_id"])
    ben("report_limit", reason="usage", until="2h")
    ben("report_limit", clear=True)


def _project(anna: Ask, ben: Ask) -> None:
    anna("update_project", name="Door", instructions="Be kind.")
    anna("update_project")
    document = anna("export_project")["document"]
    anna("validate_import", document=document, mode="merge")
    anna("apply_import", document=document, mode="merge")
    anna("apply_import", document={"format": "nothing"}, mode="merge")


def outlines(operation: Operation) -> Iterator[dict[str, Any]]:
    """Ways to ask an operation that need nothing to be there."""
    listed = arguments.parameters(operation)
    required = [parameter for parameter in listed if parameter.required]
    plausible = {parameter.name: _value(parameter.kind) for parameter in required}
    yield {}
    yield {**plausible, "no_such_argument": 1}
    yield {**plausible, listed[0].name: {"of": "no kind"}} if listed else {"idempotency_key": 5}
    yield {parameter.name: None for parameter in listed}
    if required:
        yield plausible


def _value(kind: Kind) -> Any:
    """Something of this kind that means nothing that is there."""
    match kind:
        case Choice():
            return kind.words[0]
        case Flag():
            return True
        case Many():
            return [_value(kind.kind)]
        case Record():
            return {}
        case PathText():
            return "no/such/file"
        case Whole():
            return kind.low
        case Text():
            return "01JD0000000000000000000000"
        case _:
            return "no such thing"

"""Reviews, decisions and the project itself, as a person reads them."""

from __future__ import annotations

from clearway.surfaces.render import Paper, Result, body, more
from clearway.untrusted import folded, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CHARS = 200  # of one value in a line


def in_context(context: Result) -> list[str]:
    """What is decided for an issue, and where its review stands."""
    lines = [
        f"Decided{' for the project' if each.get('of') else ''}: {folded(each['title'], _CHARS)}: "
        f"{folded(each['summary'], 1_000)}"
        for each in context.get("decisions", [])
    ]
    lines += [
        f"Answer of {each['display_id']} {quoted(each['title'], 100)}: {folded(each['answer'], 1_000)}"
        for each in context.get("answers", [])
    ]
    review = context.get("review")
    if review is None:
        return lines
    by = f" by {review['reviewer']}" if "reviewer" in review else ""
    lines.append(f"Review of version {review['target_issue_version']}: {_said(review)}{by}.")
    lines += [f"  look at {each['type']} {folded(each['uri'], _CHARS)}" for each in review.get("artifacts", [])]
    return lines + ([body(review["findings"])] if review.get("findings") else [])


def _said(review: Result) -> str:
    return review["status"].replace("_", " ") + (", of what is no longer there" if review.get("stale") else "")


def _requested(result: Result, _: Paper) -> str:
    line = f"Review {result['review_request_id']} of version {result['target_issue_version']} is {_said(result)}."
    return line + "\n  clearway next --kind review    for another session" if result["claimable"] else line


def _review(result: Result, paper: Paper) -> str:
    what = f"{result['display_id']} at version {result['target_issue_version']}"
    lines = [
        f"Review {result['review_request_id']} of {what}: {_said(result)}.",
        f"  asked for by {result['requested_by']} {paper.moment(result['created_at'])}, version {result['version']}",
    ]
    if "reviewer" in result:
        lines.append(f"  reviewer {result['reviewer']}")
    if "follow_up" in result:
        lines.append(f"  goes on in {result['follow_up']}")
    if "follow_up_attempt_id" in result:
        lines.append(f"  taken up by attempt {result['follow_up_attempt_id']}")
    return "\n".join([*lines, *([body(result["findings"])] if result.get("findings") else [])])


def _reviews(result: Result, paper: Paper) -> str:
    if not result["items"]:
        return "No such reviews. clearway review request ISSUE asks for one."
    rows = [
        [
            item["display_id"],
            _said(item),
            str(item["target_issue_version"]),
            item.get("reviewer", ""),
            paper.moment(item["created_at"]),
            item["review_request_id"],
            folded(item.get("findings", ""), _CHARS),
        ]
        for item in result["items"]
    ]
    return paper.table(("ISSUE", "STATUS", "VERSION", "REVIEWER", "ASKED", "REVIEW", "FINDINGS"), rows) + more(result)


def _decided(result: Result, _: Paper) -> str:
    instead = f" It replaces {result['superseded_decision_id']}." if "superseded_decision_id" in result else ""
    return f"Recorded ({result['decision_id']}).{instead}"


def _decisions(result: Result, paper: Paper) -> str:
    if not result["items"]:
        return "No decisions yet. clearway decision add TITLE --summary TEXT records one."
    lines: list[str] = []
    for item in result["items"]:
        status = "" if item["status"] == "active" else f" ({item['status']})"
        lines.append(f"{folded(item['title'], 300)}{status}")
        lines.append(f"  {item['decision_id']}, {item['agent']}, {paper.moment(item['at'])}")
        lines.append(body(item["summary"]))
        lines += [body(item["content"])] if item.get("content") else []
    return "\n".join(lines) + more(result)


def _changed(result: Result, _: Paper) -> str:
    if not result["changed_fields"]:
        return "Nothing to change."
    project = result["project"]
    return f"Changed: {', '.join(result['changed_fields'])}. Issues are called {project['key']}-1 and so on."


def _project(result: Result, _: Paper) -> str:
    """What a person wants to know of a project; what else there is, programs read."""
    project, session = result["project"], result["session"]
    lines = [
        f"{folded(project.get('name') or 'A project without a name (clearway project set --name NAME)', 200)}",
        f"  issues are called {project['key']}-1 and so on; the newest event is {result['latest_event_id']}",
        f"  you are {session['agent']}; Clearway {result['versions']['clearway']}, project {project['id']}",
    ]
    if project.get("instructions"):
        lines += ["What is asked of everybody:", body(project["instructions"])]
    elif project.get("has_instructions"):
        lines.append("  it asks something of everybody: clearway project show --include-instructions")
    return "\n".join(lines)


WRITERS: dict[str, Callable[[Result, Paper], str]] = {
    "create_review_request": _requested,
    "get_review_request": _review,
    "list_review_requests": _reviews,
    "cancel_review_request": _requested,
    "supersede_review_request": _requested,
    "record_decision": _decided,
    "list_decisions": _decisions,
    "get_project": _project,
    "update_project": _changed,
}

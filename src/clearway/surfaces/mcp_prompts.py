"""The prompts: what a person picks from a client's menu instead of typing it. Pure.

Each is one message in the user's name that says which tools to call in which order. What a person fills in is quoted,
so that it stays a value.
"""

from __future__ import annotations

from typing import Any

from clearway.untrusted import quoted

_VALUE_CHARS_MAX = 200

_WORK_NEXT = """\
Take the next issue of this repository's room and do it.

1. Call room, then claim_issue with next: true{labels}. If nothing is ready, say so and stop.
2. Keep attempt_id and lease_token. Go on where the checkpoint in the answer ends.
3. Save a checkpoint (save_attempt_note) at each milestone: what is done, what is half done, next_steps.
4. End with finish_attempt: completed with a target_issue_status and how you verified it, or failed or interrupted \
with the reason."""

_HAND_OFF = """\
Hand off {issue} so that another agent can go on without you.

1. Save a checkpoint (save_attempt_note, kind checkpoint): what is done and how you know, what is half done and in \
which files, what you tried in vain, next_steps with a small first one.
2. Commit or name every file you leave changed.
3. Call finish_attempt with outcome interrupted and reason handoff.{to}
4. Tell me in three sentences what you left."""

_REVIEW = """\
Review work that waits for it in this repository's room.

1. Call {claim}. If nothing waits for review, say so and stop.
2. Read the context in the answer, then the change itself, against the acceptance criteria of the issue. Run what \
proves it.
3. Save what you find with save_attempt_note, kind finding.
4. Call finish_attempt: approved, changes_requested with what has to change, or blocked with the reason. Do not mend \
it yourself."""

_STAND_UP = """\
Tell me how this repository's work stands, in at most fifteen lines.

1. Call room: who is here, what each does, which paths are held, what waits for an answer.
2. Call list_issues for what is in progress, in review, ready and blocked; get_changes for what happened {since}.
3. Report: what was finished, what is under way and by whom, what is stuck and on what, what needs my decision.

Change nothing and claim nothing."""

PROMPTS: list[dict[str, Any]] = [
    {
        "name": "work-next",
        "description": "Take the best ready issue, do it, and finish it.",
        "arguments": [{"name": "labels", "description": "only issues with one of these, separated by commas"}],
    },
    {
        "name": "hand-off",
        "description": "Leave the issue you work on so that another agent can go on.",
        "arguments": [
            {"name": "issue_id", "description": "which one, if you work on several"},
            {"name": "to", "description": "the agent that shall go on"},
        ],
    },
    {
        "name": "review",
        "description": "Review one issue that waits for it, and say what you found.",
        "arguments": [{"name": "issue_id", "description": "which one; else the most urgent"}],
    },
    {
        "name": "stand-up",
        "description": "Report what was done, what is under way, what is stuck and what needs you.",
        "arguments": [{"name": "since", "description": "since when, in your words; else today"}],
    },
]
_KNOWN: dict[str, dict[str, Any]] = {prompt["name"]: prompt for prompt in PROMPTS}
NO_SUCH_PROMPT = "There is no such prompt; prompts/list shows those there are, with what each takes."


def filled(name: str, given: dict[str, str]) -> dict[str, Any] | None:
    """A prompt as a client gets it; None if there is no such prompt, or it does not take one of these."""
    prompt = _KNOWN.get(name)
    if prompt is None or not given.keys() <= {argument["name"] for argument in prompt["arguments"]}:
        return None
    values = {argument: quoted(value, _VALUE_CHARS_MAX) for argument, value in given.items() if value.strip()}
    message = {"role": "user", "content": {"type": "text", "text": _text(name, values)}}
    return {"description": prompt["description"], "messages": [message]}


def _text(name: str, values: dict[str, str]) -> str:
    issue = values.get("issue_id")
    match name:
        case "work-next":
            labels = values.get("labels")
            return _WORK_NEXT.format(labels=f", and labels: those named in {labels}" if labels else "")
        case "hand-off":
            to = values.get("to")
            going_on = f" Then send_message to {to}: which issue, and where the checkpoint is." if to else ""
            return _HAND_OFF.format(issue=f"issue {issue}" if issue else "the issue you work on", to=going_on)
        case "review":
            chosen = f"claim_issue with issue_id {issue}" if issue else "claim_issue with next: true and kind: review"
            return _REVIEW.format(claim=chosen)
        case _:
            return _STAND_UP.format(since=f"since {values['since']}" if "since" in values else "today")

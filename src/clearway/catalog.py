"""The literal list of operations. Every surface is a loop over it."""

from __future__ import annotations

from clearway import policy
from clearway.crew import agents, leases, messages, roster, story, tasks
from clearway.op import Operation, operation_of
from clearway.work import (
    activity,
    attempts,
    context,
    decisions,
    graphs,
    issues,
    labels,
    plans,
    projects,
    relations,
    remarks,
    reviews,
    search,
    updates,
)

_FUNCTIONS = (
    issues.list_issues,
    issues.get_issue,
    issues.create_issue,
    updates.update_issue,
    updates.archive_issue,
    attempts.claim_issue,
    attempts.renew_attempt,
    attempts.save_attempt_note,
    attempts.finish_attempt,
    attempts.release_attempt,
    context.get_work_context,
    remarks.add_comment,
    search.search,
    search.rebuild_search,
    activity.get_changes,
    activity.get_issue_activity,
    activity.list_attempts,
    relations.manage_issue_relation,
    graphs.get_issue_graph,
    graphs.get_planning_graph,
    plans.validate_issue_plan,
    plans.apply_issue_plan,
    decisions.record_decision,
    decisions.list_decisions,
    labels.list_labels,
    labels.rename_label,
    labels.describe_label,
    reviews.create_review_request,
    reviews.get_review_request,
    reviews.list_review_requests,
    reviews.cancel_review_request,
    reviews.supersede_review_request,
    agents.room,
    roster.retire_agent,
    leases.claim_paths,
    leases.release_paths,
    leases.path_owner,
    story.path_history,
    messages.send_message,
    messages.read_inbox,
    messages.accept_message,
    messages.overdue,
    messages.release_message,
    tasks.next_task,
    tasks.update_task,
    tasks.list_tasks,
    tasks.retry_task,
    tasks.cancel_task,
    projects.get_project,
    policy.get_setting,
    policy.set_setting,
    policy.list_settings,
    policy.pause_guard,
    policy.resume_guard,
)

OPERATIONS: dict[str, Operation] = {
    operation.name: operation for operation in (operation_of(function) for function in _FUNCTIONS)
}

"""The literal list of operations. Every surface is a loop over it."""

from __future__ import annotations

from clearway.crew import agents, leases
from clearway.op import Operation, operation_of
from clearway.work import attempts, context, issues

_FUNCTIONS = (
    issues.list_issues,
    issues.get_issue,
    issues.create_issue,
    attempts.claim_issue,
    attempts.renew_attempt,
    attempts.save_attempt_note,
    attempts.finish_attempt,
    context.get_work_context,
    agents.room,
    leases.claim_paths,
    leases.release_paths,
    leases.path_owner,
)

OPERATIONS: dict[str, Operation] = {
    operation.name: operation for operation in (operation_of(function) for function in _FUNCTIONS)
}

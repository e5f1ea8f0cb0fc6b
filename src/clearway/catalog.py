"""The literal list of operations. Every surface is a loop over it.

An operation is loaded when somebody asks for it by its name, so that a command pays for its own noun; whoever goes
through them all loads them all.
"""

from __future__ import annotations

from clearway.op import Operation, operation_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
    from typing import Any

    Named = Mapping[str, Operation]
else:
    Named = object

# Each by the module of its noun.
_PLACES = (
    "work.issues.list_issues",
    "work.issues.get_issue",
    "work.issues.create_issue",
    "work.updates.update_issue",
    "work.updates.archive_issue",
    "work.troubles.explain_issue",
    "work.troubles.retry_issue",
    "work.attempts.claim_issue",
    "work.attempts.renew_attempt",
    "work.attempts.save_attempt_note",
    "work.attempts.finish_attempt",
    "work.attempts.release_attempt",
    "work.context.get_work_context",
    "work.remarks.add_comment",
    "work.search.search",
    "work.search.rebuild_search",
    "work.activity.get_changes",
    "work.activity.get_issue_activity",
    "work.activity.list_attempts",
    "work.outcomes.get_outcomes",
    "work.boards.get_board",
    "work.relations.manage_issue_relation",
    "work.graphs.get_issue_graph",
    "work.graphs.get_planning_graph",
    "work.plans.validate_issue_plan",
    "work.plans.apply_issue_plan",
    "work.decisions.record_decision",
    "work.decisions.list_decisions",
    "work.labels.list_labels",
    "work.labels.rename_label",
    "work.labels.describe_label",
    "work.reviews.create_review_request",
    "work.reviews.get_review_request",
    "work.reviews.list_review_requests",
    "work.reviews.cancel_review_request",
    "work.reviews.supersede_review_request",
    "crew.agents.room",
    "crew.roster.retire_agent",
    "crew.figures.stats",
    "replay.replay",
    "crew.leases.claim_paths",
    "crew.leases.release_paths",
    "crew.leases.path_owner",
    "crew.story.path_history",
    "crew.messages.send_message",
    "crew.messages.read_inbox",
    "crew.messages.accept_message",
    "crew.messages.overdue",
    "crew.holdings.get_holdings",
    "crew.holdings.list_messages",
    "crew.messages.release_message",
    "crew.tasks.next_task",
    "crew.tasks.update_task",
    "crew.tasks.list_tasks",
    "crew.tasks.retry_task",
    "crew.tasks.cancel_task",
    "crew.costs.report_cost",
    "crew.costs.get_costs",
    "crew.quotas.report_limit",
    "crew.quotas.list_limits",
    "crew.failover.activate_failover",
    "crew.needs.needs_you",
    "work.projects.get_project",
    "work.projects.update_project",
    "work.transfer.export_project",
    "work.transfer.validate_import",
    "work.transfer.apply_import",
    "policy.get_setting",
    "policy.set_setting",
    "policy.list_settings",
    "policy.pause_guard",
    "policy.resume_guard",
)


class Catalogue(Named):
    """Operations by name, in the order of the list."""

    def __init__(self, places: tuple[str, ...]) -> None:
        self._modules = {name: module for module, _, name in (place.rpartition(".") for place in places)}
        self._loaded: dict[str, Operation] = {}

    def __getitem__(self, name: str) -> Operation:
        known = self._loaded.get(name)
        if known is None:
            module = __import__(f"clearway.{self._modules[name]}", fromlist=(name,))
            known = self._loaded[name] = operation_of(getattr(module, name))
        return known

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._modules else default

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def keys(self) -> KeysView[str]:
        return self._modules.keys()

    def values(self) -> ValuesView[Operation]:
        return self._all().values()

    def items(self) -> ItemsView[str, Operation]:
        return self._all().items()

    def _all(self) -> dict[str, Operation]:
        return {name: self[name] for name in self._modules}


OPERATIONS = Catalogue(_PLACES)

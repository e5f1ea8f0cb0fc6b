"""What work costs: tokens and money, as clients tell them, by attempt, issue, task, agent and hour.

Workers hand in what the client printed at the end of a run, hooks what stands in a client's transcript. Where a client
tells no money, the prices that the room knows are used, and what has no price is counted in tokens alone; nothing is
guessed. What caps do stands in caps.py.
"""

from __future__ import annotations

from clearway import amounts, caps, clock, lapse, policy
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import COST_ROWS_MAX, MODEL_CHARS_MAX, RUN_MICROS_MAX, RUN_TOKENS_MAX
from clearway.op import op
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import AgentName, AttemptRef, CostBy, Dollars, EventNumber, MessageRef, ModelName, Since
    from clearway.db.tx import Tx

SQL = statements(__file__)
TOLD, TABLE = "told", "table"  # by the client; by the room's prices
WORKER, TRANSCRIPT, REPORT = "worker", "transcript", "report"


@op(writes=True, group="crew", tool=False, durable=False)
def report_cost(
    tx: Tx,
    input_tokens: EventNumber = 0,
    output_tokens: EventNumber = 0,
    cached_tokens: EventNumber = 0,
    cost_usd: Dollars | None = None,
    model: ModelName = "",
    attempt_id: AttemptRef | None = None,
    task_id: MessageRef | None = None,
) -> dict[str, Any]:
    """Note what a run has cost, for whoever starts agents by other means than a worker.

    input_tokens: with those that were read from a cache, which cached_tokens counts again.
    cost_usd: as the client told it; without it the room's prices are used.
    attempt_id: what it was for; without it and task_id, what the caller works on.
    """
    return record(
        tx,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens,
        cost_usd=None if cost_usd is None else _told(cost_usd),
        model=model,
        attempt=attempt_id,
        task=task_id,
        source=REPORT,
    )


def record(
    tx: Tx,
    *,
    input_tokens: int = 0,
    output_tokens: int = 0,
    cached_tokens: int = 0,
    cost_usd: float | None = None,
    model: str = "",
    attempt: str | None = None,
    task: int | None = None,
    source: str = WORKER,
) -> dict[str, Any]:
    """Note what the calling session has spent on an attempt or a task; without either, on what it works on now.

    input_tokens: with those that were read from a cache, which cached_tokens counts again. An issue that reaches its
    cap by this is parked, or its holder is warned.
    """
    told = (input_tokens, min(cached_tokens, input_tokens), output_tokens)
    numbers = [max(0, min(number, RUN_TOKENS_MAX)) for number in told]
    if not any(numbers) and not cost_usd:
        return {"recorded": False}
    issue = _issue(tx, attempt, task)
    if attempt is None and task is None:
        current = lapse.current_attempt(tx)
        attempt, issue = (None, None) if current is None else (current.id, current.issue)
    model = folded(model, MODEL_CHARS_MAX)
    micros, priced = _money(tx, model, numbers, cost_usd)
    tx.change(
        SQL.spend,
        hour=tx.wall // caps.HOUR_MS,
        session=tx.caller.key,
        agent=tx.caller.agent,
        attempt=attempt or "",
        issue=issue,
        task=task or 0,
        model=model,
        source=source,
        input=numbers[0],
        cached=numbers[1],
        output=numbers[2],
        micros=micros or 0,
        priced=int(priced is not None),
    )
    if issue is not None:
        _mind_cap(tx, issue)
    return {"recorded": True, **({} if micros is None else {"cost_usd": micros / 1_000_000, "priced": priced})}


@op(group="crew", cli="cost", tool=False)
def get_costs(
    tx: Tx, since: Since | None = None, by: CostBy = "issue", agent: AgentName | None = None
) -> dict[str, Any]:
    """See what work has cost: tokens and money, by issue, agent, model or attempt, and how far the caps are.

    since: 18:00, 24h, 7d or a time; without it, all there is.
    by: issue, agent, model, attempt or task.
    agent: only what this one has spent.
    """
    begun = 0 if since is None else since_wall(tx, since)
    asked = {"hour": begun // caps.HOUR_MS, "agent": agent}
    total = tx.one(SQL.total, **asked)
    assert total is not None
    rows = tx.all(SQL.spent_by, by=by, limit=COST_ROWS_MAX, **asked)
    return {
        **({} if since is None else {"since": clock.iso(begun)}),
        "total": _spent(total),
        "by": by,
        "items": [{by: _named(row, by), **_spent(row)} for row in rows],
        **({"caps": caps_now} if (caps_now := _caps(tx)) else {}),
    }


def since_wall(tx: Tx, text: str) -> int:
    """When something began that is written as 18:00 (the last time it was), 90m, 12h, 7d, or as a time."""
    found = amounts.moment_of(text, tx.wall)
    if found is None:
        raise Refusal("INVALID_ARGUMENT", f"since must be 18:00, 90m, 12h, 7d or 2026-11-30T18:00Z, not {text[:40]!r}.")
    return found


def spent_on(tx: Tx, *, issue: str | None = None, attempt: str | None = None) -> dict[str, Any] | None:
    """What one issue or attempt has cost until now; None where nobody told."""
    row = tx.one(SQL.spent_on, issue=issue, attempt=attempt)
    return None if row is None or not row.records else _spent(row)


def _issue(tx: Tx, attempt: str | None, task: int | None) -> str | None:
    if attempt is not None:
        row = tx.one(SQL.issue_of_attempt, attempt=attempt.strip().upper())
        if row is None:
            raise Refusal("ATTEMPT_NOT_FOUND", "There is no such attempt.", attempt_id=attempt)
        return row.issue
    row = None if task is None else tx.one(SQL.issue_of_task, task=task)
    return None if row is None else row.issue


def _told(text: str) -> float:
    found = amounts.cap_of(text)
    if found is None or found[0] is None or found[1] is not None:
        raise Refusal("INVALID_ARGUMENT", f"cost_usd must be an amount such as 0.42, not {text!r}.")
    return found[0] / 1_000_000


def _money(tx: Tx, model: str, numbers: list[int], told: float | None) -> tuple[int | None, str | None]:
    """Millionths of a dollar, and how they are known."""
    if told is not None and 0 <= told < RUN_MICROS_MAX / 1_000_000:
        return round(told * 1_000_000), TOLD
    price = amounts.price_of(policy.value(tx, "cost.prices"), model)
    if price is None:
        return None, None
    fresh, cached, output = price  # dollars for a million, which are millionths for one
    micros = round((numbers[0] - numbers[1]) * fresh + numbers[1] * cached + numbers[2] * output)
    return min(micros, RUN_MICROS_MAX), TABLE


def _mind_cap(tx: Tx, issue: str) -> None:
    over = caps.is_over(tx, issue)
    if not over:
        return
    attempt = tx.one(SQL.live_attempt, issue=issue)
    if attempt is None:
        caps.settle(tx, issue)
    elif attempt.warned_why != lapse.COST:
        lapse.warn(tx, attempt, lapse.COST, what=over)


def _caps(tx: Tx) -> dict[str, Any]:
    """How far the caps are that the room has set."""
    found: dict[str, Any] = {}
    text = policy.value(tx, "cost.night")
    if text:
        begun, ends = caps.night(tx)
        now = {"night_began": clock.iso(begun), "is_night": tx.wall < ends}
        found["night"] = {"cap": text, **now, **_spent_of(caps.since(tx, begun))}
    if policy.value(tx, "cost.agent"):
        found["agent"] = {"cap": policy.value(tx, "cost.agent"), "hours": 24}
    if policy.value(tx, "cost.issue"):
        found["issue"] = {"cap": policy.value(tx, "cost.issue")}
    return found


def _spent_of(row: Row) -> dict[str, Any]:
    return {"tokens": int(row.tokens), "cost_usd": int(row.micros) / 1_000_000}  # a server sums in decimals


def _spent(row: Row) -> dict[str, Any]:
    """Tokens, and money as far as it is known: `unpriced_tokens` are those nobody knows the price of."""
    shown: dict[str, Any] = {"input_tokens": int(row.input), "output_tokens": int(row.output)}
    if row.cached:
        shown["cached_tokens"] = int(row.cached)
    if row.priced:
        shown["cost_usd"] = int(row.micros) / 1_000_000
    if row.unpriced:
        shown["unpriced_tokens"] = int(row.unpriced)
    return shown


def _named(row: Row, by: str) -> str | int | None:
    if by == "issue":
        return None if row.numbered is None else f"ISSUE-{row.numbered}"
    return (row.numbered if by == "task" else row.named) or None

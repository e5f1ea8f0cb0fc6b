"""What work has cost, as a person reads it: a table, a sum, and how far the caps are."""

from __future__ import annotations

from clearway import amounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.surfaces.render import Paper, Result

HEADS = ("agent", "money", "read", "cached", "written", "unpriced")


def _costs(result: Result, paper: Paper) -> str:
    """What work has cost, as a table and a sum."""
    items: list[Result] = result["items"]
    by: str = result["by"]
    since = f" since {paper.moment(result['since'])}" if "since" in result else ""
    if not items:
        return f"Nothing was spent{since}, as far as anybody told."
    rows = [row(item, by) for item in items]
    heads = (by.upper(), *(head.upper() for head in HEADS[1:]))
    table = paper.table(heads, rows)
    return "\n".join([table, f"In all{since}: {spent(result['total'])}.", *caps(result.get("caps", {}))])


def row(item: Result, by: str) -> list[str]:
    name = item.get(by)
    return [
        "(none)" if name is None else f"#{name}" if by == "task" else str(name),
        f"${item['cost_usd']:,.2f}" if "cost_usd" in item else "",
        amounts.thousands(item["input_tokens"]),
        amounts.thousands(item["cached_tokens"]) if "cached_tokens" in item else "",
        amounts.thousands(item["output_tokens"]),
        amounts.thousands(item["unpriced_tokens"]) if "unpriced_tokens" in item else "",
    ]


def spent(item: Result) -> str:
    tokens = item["input_tokens"] - item.get("cached_tokens", 0) + item["output_tokens"]
    said = [f"${item['cost_usd']:,.2f}"] if "cost_usd" in item else []
    if "unpriced_tokens" in item or not said:
        said.append(f"{amounts.thousands(item.get('unpriced_tokens', tokens))} tokens" + (" more" if said else ""))
    return " and ".join(said)


def caps(found: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if "night" in found:
        night = found["night"]
        lines.append(
            f"This night: ${night['cost_usd']:,.2f}, {amounts.thousands(night['tokens'])} tokens of {night['cap']}."
        )
    lines += [f"One {what} may cost {found[what]['cap']}." for what in ("agent", "issue") if what in found]
    return lines


WRITERS: dict[str, Callable[[Result, Paper], str]] = {"get_costs": _costs}

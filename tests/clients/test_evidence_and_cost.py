"""What real clients show of tests and cost: the hooks' trail says whether work was tested, the transcript its cost."""

from __future__ import annotations

import json

import pytest
from driving import Client, Desk
from test_two_agents import Product, first, product

from clearway.setup.live_model import Performance, Shown, each, say

__all__ = ["first", "product"]
both = pytest.mark.parametrize("first", ["claude", "codex"], indirect=True)


@both
def test_a_session_that_tests_its_work_leaves_evidence_and_its_cost(
    first: Client, product: Product, desk: Desk
) -> None:
    """The work of one turn: claimed, edited, tested, finished."""
    product("issue", "create", "Say two", "--status", "ready")
    app = desk.file("app.py", "print(1)\n")
    desk.file("test_app.py", "assert open('app.py').read()\nprint('1 passed')\n")

    def works(shown: Shown) -> Performance:
        said = (yield first.ask("claim_issue", issue_id="ISSUE-1", context=False)).text
        claim = json.loads(said[said.index("{") :])
        yield from each(first.edits(app, "print(1)", "print(2)"))
        yield first.shell("python3 test_app.py")
        proof = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
        done = {"outcome": "completed", "result_summary": "It says two.", "target_issue_status": "done"}
        yield first.ask("finish_attempt", **proof, **done)
        yield say("done")

    first.play(works)

    [attempt] = json.loads(product("--json", "attempt", "list").stdout)["items"]
    assert attempt["status"] == "completed"
    assert (attempt["evidence"]["tests"], attempt["evidence"]["command"]) == ("green", "python3 test_app.py")
    spent = json.loads(product("--json", "cost", "--by", "agent").stdout)
    assert spent["total"]["output_tokens"] > 0, spent

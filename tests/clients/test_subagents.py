"""Subagents of Claude Code and Codex are checked like their session: in its folder, and in a worktree of their own."""

from __future__ import annotations

from pathlib import Path

from driving import ClaudeCode, Codex, Desk
from test_other_clients import HELD, MARK, held
from test_two_agents import Product, product

from clearway.setup.live_model import Call, Performance, Shown, Step, call, say

__all__ = ["held", "product"]


def delegate(**more: str) -> Step:
    given = {"description": "a part", "prompt": f"{MARK} do it", "subagent_type": "general-purpose"}
    return call(Call("Agent", {**given, "run_in_background": False, **more}))


def test_a_subagents_writes_are_checked(claude: ClaudeCode, product: Product, held: Path, desk: Desk) -> None:
    free = desk.file("free.py")
    part = [claude.shell("echo 'held = 2' > held.py"), *claude.edits(free, "free = 1", "free = 2"), say("done")]
    model = claude.play([delegate(), say("done")], beside={MARK: part}).model
    shown = model.shown_of(MARK)
    assert "You are a subagent of claude-code" in "\n".join(each.text for each in shown)
    assert "PATH_HELD" in shown[1].text
    assert held.read_text() == HELD
    assert free.read_text() == "free = 2\n"


def test_a_subagent_in_a_worktree_of_its_own_writes_there(
    claude: ClaudeCode, product: Product, held: Path, desk: Desk
) -> None:
    """The same path there is another file; what stands in the session's own folder is held as before. C22."""
    desk.run("git", "add", "--all")
    desk.run("git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", "commit", "--quiet", "-m", "held")
    part = [
        claude.shell("pwd; echo 'held = 2' > held.py; cat held.py"),
        claude.shell(f"echo 'held = 3' > {held}"),
        say("done"),
    ]
    model = claude.play([delegate(isolation="worktree"), say("done")], beside={MARK: part}).model
    first, second = model.shown_of(MARK)[1:3]
    assert "held = 2" in first.text
    assert f"{desk.repository}/" in first.text, "its folder is below the repository"
    assert "PATH_HELD" in second.text or "PATH_OTHER_CHECKOUT" in second.text
    assert held.read_text() == HELD


def test_a_subagent_of_codex_is_checked(codex: Codex, product: Product, held: Path, desk: Desk) -> None:
    codex.driver.model = "gpt-5.4"  # not known to the client, which then offers its subagents as tools
    spawning = "multi_agent_v1"

    def delegates(shown: Shown) -> Performance:
        given = {"message": f"{MARK} do it", "agent_type": "worker"}
        started = (yield call(Call("spawn_agent", given, namespace=spawning))).result.data
        waits = {"targets": [started["agent_id"]], "timeout_ms": 60_000}
        yield call(Call("wait_agent", waits, namespace=spawning))
        yield say("done")

    free = desk.file("free.py")
    part = [codex.shell("echo 'held = 2' > held.py"), codex.shell("echo 'free = 2' > free.py"), say("done")]
    shown = codex.play(delegates, beside={MARK: part}).model.shown_of(MARK)
    assert "You are a subagent of codex" in shown[0].text
    assert "PATH_HELD" in shown[1].text
    assert held.read_text() == HELD
    assert free.read_text() == "free = 2\n"

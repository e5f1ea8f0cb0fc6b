"""`clearway worker`: start one that works without a person, set from when on it takes work, and see what they are at.

What it needs is loaded when it is asked for: every command comes past here.
"""

from __future__ import annotations

from typing import Any

import click

from clearway.surfaces.options import this_run


@click.command()
@click.argument("what", type=click.Choice(["run", "activate", "status"]))
@click.option("--agent", metavar="AGENT", default="", help="Whose work it does: claude, codex, gemini, copilot, ...")
@click.option("--from", "sources", metavar="SOURCES", default="tasks", help="tasks, issues or both. [default: tasks]")
@click.option("--write", is_flag=True, help="Let it write, in a worktree and on a branch of its own.")
@click.option("--target", metavar="STATUS", default="review", help="What done issues become: review, done.")
@click.option("--command", "template", metavar="TEMPLATE", default="", help='Run this: "prog {prompt}".')
@click.option("--provider", metavar="P", default="cli", help="cli; or a model without tools: openrouter, http.")
@click.option("--model", metavar="M", default="", help="Which model.")
@click.option("--base-url", metavar="U", default="", help="Where the model of --provider http is.")
@click.option("--client-args", metavar="WORDS", default="", help="More words for the client.")
@click.option("--timeout", metavar="TIME", default="", help="How long one run may take, as 90s or 30m. [default: 30m]")
@click.option("--max-per-hour", metavar="N", default="", help="How often it starts something. [default: 12]")
@click.option("--interactive-grace", metavar="TIME", default="", help="How long a present person comes first.")
@click.option("--include-existing", is_flag=True, help="Take what came before it was activated, too.")
@click.option("--once", is_flag=True, help="Do one thing, if there is any, and leave.")
def worker(what: str, **given: Any) -> None:
    """Work on tasks and issues without a person: run, activate, status."""
    from clearway.surfaces import unattended

    unattended.perform(this_run(), what, given)

"""The words that make a report: `board` of the project as it is now, `incident` of what happened in a span.

Each is shown, or written as text, Markdown, JSON or one HTML file that stands alone.
"""

from __future__ import annotations

import click

from clearway.surfaces.options import this_run

NIGHT = "18:00"  # when nobody looked any more
FORMATS = "text|markdown|html|json"


@click.command()
@click.option("--output", metavar="FILE", help="Write it there instead; .html, .md or .json says how.")
@click.option("--format", "form", metavar=FORMATS, help="[default: by the file's name, else text]")
def board(output: str | None, form: str | None) -> None:
    """Show the project as it is now: what is in work, in review, blocked, ready, open and finished lately."""
    from clearway.surfaces import boards

    boards.show(this_run(), form, output)


@click.command()
@click.option("--once", is_flag=True, help="Print the page and leave; so it is anyway without a terminal.")
def top(once: bool) -> None:
    """Watch the room: what needs you, who is here, what is held and how long still, tasks, limits."""
    import sys

    from clearway.surfaces import top as page
    from clearway.surfaces.asking import say, say_json

    run = this_run()
    if run.as_json:
        say_json(page.gathered(run))
    elif once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(page.once(run))
    else:
        from clearway.surfaces import top_screen

        top_screen.show(run)


@click.command()
@click.option("--since", metavar="TIME", default=NIGHT, help="18:00, 12h, 7d or a time. [default: 18:00]")
@click.option("--output", metavar="FILE", help="Write it there instead; .html, .md or .json says how.")
@click.option("--format", "form", metavar=FORMATS, help="[default: by the file's name, else text]")
def report(since: str, output: str | None, form: str | None) -> None:
    """Tell what came of the night: landed, parked and why, tests, cost, and what waits for you."""
    from clearway.surfaces import pages, reporting

    run = this_run()
    how = pages.form_of(form, output, as_json=run.as_json and output is None)
    found = reporting.gathered(run, since)
    pages.publish(run, reporting.document(found, run.paper), found, how, output)


@click.command()
@click.option("--from", "from_", metavar="N|TIME", help="The first event: its number, 14:08, 2h ago, or a date.")
@click.option("--to", metavar="N|TIME", help="The last one. [default: now]")
@click.option("--event", metavar="N|TIME", help="What happened around this one instead.")
@click.option("--agent", metavar="NAME", help="Only what concerns this agent.")
@click.option("--issue", metavar="ISSUE", help="Only what concerns this issue.")
@click.option("--path", metavar="PATH", help="Only what concerns this path, from the repository's root.")
@click.option("--output", metavar="FILE", help="Write it there instead; .html, .md or .json says how.")
@click.option("--format", "form", metavar=FORMATS, help="[default: by the file's name, else text]")
def incident(output: str | None, form: str | None, from_: str | None, **given: str | None) -> None:
    """Report what happened in a span, with the room before and after; without secrets and anybody's texts."""
    from clearway.surfaces import incidents, pages

    run = this_run()
    how = pages.form_of(form, output, as_json=run.as_json and output is None)
    found = incidents.gathered(run, incidents.span(run, {**given, "from": from_}))
    pages.publish(run, incidents.document(found, run.paper), found, how, output)

"""The words of the command line about HTTP: `serve`, and `token`, which says who is let in there."""

from __future__ import annotations

from typing import Any

import click

from clearway import clock
from clearway.arguments import Moment, Problem, Where
from clearway.config import check_name
from clearway.errors import Refusal
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.options import this_run
from clearway.surfaces.tokens import AGENT, SCOPES, Tokens

_EXPIRES_SECONDS_MAX = 10 * 366 * 86_400


@click.command()
@click.option("--http", "address", metavar="HOST:PORT", default="", help="Where to listen; port 0 for any.")
@click.option("--http-address", "old_address", hidden=True, default="")
@click.option("--tls-cert", metavar="FILE", default="", help="Serve over TLS, with this certificate.")
@click.option("--tls-key", metavar="FILE", default="", help="The key of it.")
@click.option("--no-auth", is_flag=True, help="Let everybody on this machine in without a token.")
@click.option("--insecure-http", is_flag=True, help="Beyond this machine without TLS: tokens can be read on the way.")
@click.option("--tools", metavar="PROFILE", default="", help="core, full, or groups. [default: core]")
def serve(
    address: str, old_address: str, tls_cert: str, tls_key: str, no_auth: bool, insecure_http: bool, tools: str
) -> int:
    """Serve MCP over HTTP in the foreground; a token lets clients in."""
    from clearway.surfaces import serving

    where = address or old_address
    keys = serving.Files(tls_cert, tls_key)
    return serving.perform(this_run(), where, keys, no_auth=no_auth, insecure=insecure_http, tools=tools)


@click.command()
@click.argument("what", type=click.Choice(["create", "list", "revoke"]))
@click.argument("name", required=False, default="")
@click.option("--scope", type=click.Choice(SCOPES), help="What it is good for. [default: agent]")
@click.option("--expires", metavar="TIME", default="", help="Until when: 30d, or 2027-01-31. [default: revoked]")
def token(what: str, name: str, scope: str | None, expires: str) -> int:
    """Make, list or revoke the tokens that let clients in at serve."""
    run = this_run()
    tokens = Tokens(run.settings.home, run.settings.clock())
    if not run.caller.human:
        raise Refusal("FORBIDDEN", "Only the human decides who is let in over HTTP.")
    if what != "create" and (scope or expires):
        raise Refusal("INVALID_ARGUMENT", f"token {what}: --scope and --expires are said when a token is made.")
    if what == "list":
        _list(run, tokens)
        return 0
    if not name:
        raise Refusal("INVALID_ARGUMENT", f"token {what}: say its name, for example that of the machine it is for.")
    check_name(name)
    if what == "create":
        made = tokens.create(name, scope or AGENT, _lasts_ms(expires, run))
        if run.as_json:
            say_json({"name": name, "token": made})
        else:
            say(made)
        return 0
    if not tokens.revoke(name):
        raise Refusal("INVALID_ARGUMENT", f"There is no token {name}; clearway token list shows those there are.")
    if run.as_json:
        say_json({"revoked": name})
    else:
        say(f"{name} opens nothing any more.")
    return 0


def _list(run: Run, tokens: Tokens) -> None:
    known, now = sorted(tokens.listed().items()), run.settings.clock().wall()
    if run.as_json:
        say_json({"items": [_told(name, each) for name, each in known]})
        return
    moment = run.paper.moment
    lines: list[str] = []
    for name, each in known:
        until = each.get("until")
        ends = "" if until is None else f", {'until' if until > now else 'over since'} {moment(clock.iso(until))}"
        lines.append(f"{name}  {each.get('scope', AGENT)}  since {moment(clock.iso(each['since']))}{ends}")
    say("\n".join(lines) or "There are no tokens.")


def _told(name: str, token: dict[str, Any]) -> dict[str, str]:
    told = {"name": name, "scope": token.get("scope", AGENT), "since": clock.iso(token["since"])}
    return told | ({"until": clock.iso(token["until"])} if "until" in token else {})


def _lasts_ms(expires: str, run: Run) -> int | None:
    if not expires:
        return None
    try:
        return Moment(_EXPIRES_SECONDS_MAX).check(expires, "expires", Where("", run.settings.clock()))
    except Problem as problem:
        raise Refusal("INVALID_ARGUMENT", f"token create: {problem.field} {problem}.") from None

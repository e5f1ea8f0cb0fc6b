"""The words of the command line about HTTP: `serve`, and `token`, which says who is let in there."""

from __future__ import annotations

import click

from clearway import clock
from clearway.config import check_name
from clearway.errors import Refusal
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.options import this_run
from clearway.surfaces.tokens import Tokens


@click.command()
@click.option("--http", "address", metavar="HOST:PORT", default="", help="Where to listen; port 0 for any.")
@click.option("--http-address", "old_address", hidden=True, default="")
@click.option("--tls-cert", metavar="FILE", default="", help="Serve over TLS, with this certificate.")
@click.option("--tls-key", metavar="FILE", default="", help="The key of it.")
@click.option("--no-auth", is_flag=True, help="Let everybody on this machine in without a token.")
@click.option("--tools", metavar="PROFILE", default="", help="core, full, or groups. [default: core]")
def serve(address: str, old_address: str, tls_cert: str, tls_key: str, no_auth: bool, tools: str) -> int:
    """Serve MCP over HTTP in the foreground; a token lets clients in."""
    from clearway.surfaces import serving

    where = address or old_address
    return serving.perform(this_run(), where, cert=tls_cert, key=tls_key, no_auth=no_auth, tools=tools)


@click.command()
@click.argument("what", type=click.Choice(["create", "list", "revoke"]))
@click.argument("name", required=False, default="")
def token(what: str, name: str) -> int:
    """Make, list or revoke the tokens that let clients in at serve."""
    run = this_run()
    tokens = Tokens(run.settings.home, run.settings.clock())
    if not run.caller.human:
        raise Refusal("FORBIDDEN", "Only the human decides who is let in over HTTP.")
    if what == "list":
        _list(run, tokens)
        return 0
    if not name:
        raise Refusal("INVALID_ARGUMENT", f"token {what}: say its name, for example that of the machine it is for.")
    check_name(name)
    if what == "create":
        made = tokens.create(name)
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
    listed = [{"name": name, "since": clock.iso(each["since"])} for name, each in sorted(tokens.listed().items())]
    if run.as_json:
        say_json({"items": listed})
    else:
        moment = run.paper.moment
        say("\n".join(f"{each['name']}  since {moment(each['since'])}" for each in listed) or "There are no tokens.")

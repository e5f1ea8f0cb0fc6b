"""`clearway web`: a link for the person who asks, and for nobody else."""

from __future__ import annotations

import os
from urllib.parse import parse_qs, urlsplit

from tests.surfaces.conftest import Terminal
from tests.surfaces.hosted import hosted


def test_the_person_is_given_a_link_that_logs_one_browser_in(terminal: Terminal) -> None:
    with hosted(terminal.environ) as running:
        assert running.host.http is not None
        told = terminal("--json", "web").json
        assert os.path.isfile(os.path.join(told["page"], "index.html"))  # where an editor finds the page
        link = urlsplit(told["url"])
        assert f"{link.scheme}://{link.netloc}" == running.host.http.address
        given = parse_qs(link.fragment)
        people = running.host.http.people
        cookie, key = people.log_in(given["ticket"][0])
        assert people.knows(cookie, key) and len(given["room"][0]) == 26
        assert terminal("--json", "web", "--log-out").json == {"ended": 1}
        assert not people.knows(cookie, key)


def test_an_agent_is_given_none(terminal: Terminal) -> None:
    assert terminal("--as", "codex", "web").code == "FORBIDDEN"
    assert terminal("web", CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="s1").code == "FORBIDDEN"


def test_it_listens_on_this_machine_only(terminal: Terminal) -> None:
    for host in ("0.0.0.0", "192.168.1.2", "example.org"):
        assert terminal("web", "--host", host).code == "FORBIDDEN"


def test_without_a_host_there_is_no_page(terminal: Terminal) -> None:
    assert terminal("web", CLEARWAY_HOST="off").code == "STORAGE_CONFIGURATION"

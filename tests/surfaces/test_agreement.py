"""One question, one answer: the whole catalogue asked over every surface, with the same replies and the same refusals.

The door is asked directly first; what every surface says to the same story is compared with that, word for word, but
for ids, times and tokens, which are new each time and stand for one another in the order in which they appear.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.surfaces.conftest import Terminal
from tests.surfaces.hosted import Hosted
from tests.surfaces.mcp_server import talks
from tests.surfaces.telling import Ask, Missing, outlines, tell

from clearway import alive, catalog, config
from clearway.arguments import Choice, PathText, Text, Whole
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.errors import CODES, Refusal
from clearway.rooms import Rooms
from clearway.surfaces import mcp
from clearway.surfaces.mcp_tools import Offer
from clearway.surfaces.spelling import COMMANDS, Command

ENGINES = ["sqlite", "postgres"]


class Surface(Protocol):
    """Some way to ask. `ask` returns the reply, or the refusal under "refused"; None if it cannot be asked there."""

    def ask(self, agent: str, operation: str, given: dict[str, Any]) -> dict[str, Any] | None: ...

    def close(self) -> None: ...


class Place:
    """A home and a repository of its own for one surface, with a room on one engine."""

    def __init__(self, folder: Path, first_commit: Path, dsn: str) -> None:
        self.repo = Path(shutil.copytree(first_commit, folder / "repo"))
        (folder / "person").mkdir()
        self.environ = {
            "HOME": str(folder / "person"),
            "CLEARWAY_HOME": str(folder / "state"),
            "CLEARWAY_HOST": "off",
            "PATH": os.environ["PATH"],
        }
        project = Clock().new_id()
        (self.repo / config.POINTER).write_text(config.pointer_text(project))
        room = folder / "state" / "rooms" / project
        if dsn:
            room.mkdir(parents=True)
            (room / "address").write_text(dsn)
        Door(self).close()


class Door:
    """No surface at all."""

    def __init__(self, place: Place) -> None:
        self._rooms = Rooms(Settings(place.environ))
        self._repo = place.repo
        self._rooms.of_folder(str(place.repo))  # it is made, if it is not there

    def ask(self, agent: str, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        caller = Caller(agent, f"s-{agent}", cwd=str(self._repo), host=self._rooms.liveness.host)
        return heard(lambda: self._rooms.ask(OPERATIONS[operation], given, caller))

    def close(self) -> None:
        self._rooms.close()


class Stdio:
    """MCP, as the server process leads it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._agents: dict[str, talks.Agent] = {}

    def ask(self, agent: str, operation: str, given: dict[str, Any]) -> dict[str, Any] | None:
        if not OPERATIONS[operation].tool:
            return None
        if agent not in self._agents:
            settings = Settings({**self._place.environ, "CLEARWAY_SESSION": f"s-{agent}"})
            desk = mcp.Desk(settings, str(self._place.repo))
            self._agents[agent] = talks.Agent(desk, agent, Offer("full"), "legacy")
        result = self._agents[agent].call(operation, **given)
        return said_over_mcp(result.model_dump(by_alias=True, exclude_none=True))

    def close(self) -> None:
        for agent in self._agents.values():
            agent.desk.close()


class AHost:
    """What a surface behind a host begins with."""

    def __init__(self, place: Place) -> None:
        self.repo = place.repo
        self.environ = {name: value for name, value in place.environ.items() if name != "CLEARWAY_HOST"}
        self.hosted = Hosted(self.environ)

    def close(self) -> None:
        self.hosted.leave()
        assert not self.hosted.said, self.hosted.said


class Relayed(AHost):
    """MCP, as the host leads it for a relay."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._lines: dict[str, Any] = {}

    def ask(self, agent: str, operation: str, given: dict[str, Any]) -> dict[str, Any] | None:
        if not OPERATIONS[operation].tool:
            return None
        lines = self._lines.get(agent) or self._lines.setdefault(agent, self._opened(agent))
        params = {"name": operation, "arguments": given}
        return said_over_mcp(self._asked(lines, {"id": 1, "method": "tools/call", "params": params})["result"])

    def _opened(self, agent: str) -> Any:
        lines = self.hosted.connect().makefile("rwb")
        environ = {**self.environ, "CLEARWAY_SESSION": f"s-{agent}"}
        hello = {"v": 1, "op": "mcp", "args": {"words": ["--tools", "full"]}, "caller": {"cwd": str(self.repo)}}
        assert self._asked(lines, {**hello, "environ": environ})["ok"]
        who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": agent, "version": "1"}}
        self._asked(lines, {"id": 0, "method": "initialize", "params": who})
        lines.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return lines

    def _asked(self, lines: Any, said: dict[str, Any]) -> dict[str, Any]:
        lines.write(json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n")
        lines.flush()
        return json.loads(lines.readline())

    def close(self) -> None:
        for lines in self._lines.values():
            lines.close()
        super().close()


class Socket(AHost):
    """The host's socket, asked by operation."""

    def ask(self, agent: str, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        caller = {
            "agent": agent,
            "session": f"s-{agent}",
            "cwd": str(self.repo),
            "host": self.hosted.host.liveness.host,
        }
        answer = self.hosted.request(operation, args=given, caller=caller, environ=self.environ)
        return answer["result"] if answer["ok"] else {"refused": answer["error"]}


class Http(AHost):
    """`POST /ask/<operation>`."""

    def ask(self, agent: str, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        door = self.hosted.host.http
        assert door is not None
        connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=30)
        headers = {"Authorization": f"Bearer {door.token}", "Clearway-Agent": agent, "Clearway-Cwd": str(self.repo)}
        headers |= {"Clearway-Session": f"s-{agent}"}
        connection.request("POST", f"/ask/{operation}", json.dumps(given).encode(), headers)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        if answer.status == 200:
            return said
        assert answer.status == CODES[said["code"]][2]
        return {"refused": said}


class CommandLine:
    """`clearway --json`: in the words of the command where they can say it, else as `call`."""

    def __init__(self, place: Place, terminal: Terminal) -> None:
        self._place = place
        self._terminal = terminal
        self.spelled = 0

    def ask(self, agent: str, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        words = typed(operation, given)
        self.spelled += words is not None
        words = words or ["call", operation, json.dumps(given)]
        environ = {**self._place.environ, "CLEARWAY_SESSION": f"s-{agent}"}
        ended = self._terminal("--as", agent, "--json", *words, stdin=b"", folder=self._place.repo, **environ)
        if ended.status == 0:
            return json.loads(ended.out)
        refusal = json.loads(ended.err.splitlines()[-1])
        assert (ended.out, ended.status) == ("", CODES[refusal["code"]][1])
        return {"refused": refusal}

    def close(self) -> None:
        """Every command has closed its own."""


def heard(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return act()
    except Refusal as refusal:
        return {"refused": refusal.as_dict()}


def said_over_mcp(result: dict[str, Any]) -> dict[str, Any]:
    """A client that is not known is told in data and in text, and both say the same."""
    data = result["structuredContent"]
    ((content,),) = (result["content"],)
    if result["isError"]:
        assert content["text"].startswith(f"{data['code']}: {data['message']}")
        return {"refused": data}
    assert json.loads(content["text"]) == data
    return data


def typed(operation: str, given: dict[str, Any]) -> list[str] | None:
    """A question in the words of its command; None if they would say more, or something else."""
    command = COMMANDS.get(OPERATIONS[operation].cli)
    if command is None or command.operation.name != operation or not _can_say(command, given):
        return None
    placed: list[str] = []
    options: list[str] = []
    for slot in command.slots:
        if slot.name not in given:
            continue
        value = given[slot.name]
        values = value if isinstance(value, list) else [value]
        if slot.placed:
            placed += [str(each) for each in values]
        elif slot.is_flag:
            options += [slot.options[0]] if value else [slot.no] if slot.no else []
        else:
            options += [f"{slot.options[0]}={each}" for each in values]
    return [*command.words.split(), *options, "--", *placed]


def _can_say(command: Command, given: dict[str, Any]) -> bool:
    """Whether every argument has a slot that takes it as it is, and none is found by itself that was left out."""
    slots = {slot.name: slot for slot in command.slots if slot.patch is None}
    if given.keys() - slots.keys() or any(name not in given for name in command.derived):
        return False
    if any(slot.placed and slot.required and name not in given for name, slot in slots.items()):
        return False
    for name, value in given.items():
        slot = slots[name]
        values = value if slot.several and isinstance(value, list) else [value]
        plain = (str,) if isinstance(slot.one, Choice | Text | PathText) else (int,) if type(slot.one) is Whole else ()
        if slot.is_flag and isinstance(value, bool) and (value or slot.no):
            continue
        if not values or any(type(each) not in plain or each in ("", "-") or str(each)[0] in "@-" for each in values):
            return False
    return True


class Record:
    """What was said to each question, with everything that is new each time in the place of its order."""

    def __init__(self, place: Place) -> None:
        self.said: Said = []
        self._folder = str(place.repo)
        self._known: dict[str, str] = {}

    def add(self, operation: str, given: dict[str, Any], answer: dict[str, Any] | None) -> None:
        said = None if answer is None else json.loads(self._plain(json.dumps(answer, sort_keys=True)))
        if said and "agents" in said:  # who asked last stands first, and some ask at once
            said["agents"].sort(key=lambda agent: agent["agent"])
        self.said.append((operation, given, said))

    def _plain(self, text: str) -> str:
        text = text.replace(self._folder, "<repository>")
        text = re.sub(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", text)
        text = re.sub(r'("(?:lease_token|cursor|next_cursor)": )"[^"]*"', r'\1"<token>"', text)
        text = re.sub(r"\b\d\d:\d\d\b", "<hour>", text)
        return re.sub(r"\b[0-7X][0-9A-HJKMNP-TV-Z]{25}\b", self._stands_for, text)

    def _stands_for(self, found: re.Match[str]) -> str:
        return self._known.setdefault(found.group(), f"<{len(self._known)}>")


Said = list[tuple[str, dict[str, Any], Any]]


def recorded(surface: Surface, place: Place, *, outlined: bool) -> Said:
    """outlined: after the story also everything that needs none, which is the same on both engines."""
    record = Record(place)

    def as_(agent: str) -> Ask:
        def ask(operation: str, **given: Any) -> dict[str, Any]:
            answer = surface.ask(agent, operation, given)
            record.add(operation, given, answer)
            return Missing(answer or {})

        return ask

    try:
        tell(as_("anna"), as_("ben"))
        carla = as_("carla")
        for tools_only in (True, False) if outlined else ():  # what is not a tool comes last: MCP leaves it out
            for operation in catalog.OPERATIONS.values():
                if operation.tool is tools_only:
                    for given in outlines(operation):
                        carla(operation.name, **given)
    finally:
        surface.close()
    return record.said


def differences(there: Any, here: Any, where: str = "") -> Iterator[str]:
    """Each place in which an answer is another one than that at the door."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in there.keys() | here.keys():
            yield from differences(there.get(name), here.get(name), f"{where}.{name}")
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for place, (one, other) in enumerate(zip(there, here, strict=True)):
            yield from differences(one, other, f"{where}[{place}]")
    elif there != here:
        yield f"{where} is {json.dumps(here)[:300]}, at the door {json.dumps(there)[:300]}"


@pytest.fixture(autouse=True)
def nobody_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs these tests is not who asks."""
    monkeypatch.setattr(alive, "ancestors", lambda pid=None: [])


@pytest.fixture(params=ENGINES)
def dsn(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("postgres_dsn") if request.param == "postgres" else ""


_known: dict[str, Said] = {}


@pytest.fixture
def at_the_door(dsn: str, tmp_path: Path, first_commit: Path) -> Said:
    if dsn not in _known:  # what the door says is heard once for each engine
        (tmp_path / "door").mkdir()
        place = Place(tmp_path / "door", first_commit, dsn)
        _known[dsn] = recorded(Door(place), place, outlined=not dsn)
    return _known[dsn]


@pytest.mark.parametrize(
    ("dsn", "name"),
    [
        *(("sqlite", name) for name in ("stdio", "relay", "socket", "http", "command line")),
        *(("postgres", name) for name in ("relay", "http", "command line")),  # the others go the same way
    ],
    indirect=["dsn"],
)
def test_every_surface_answers_as_the_door_does(
    name: str, dsn: str, at_the_door: Said, tmp_path: Path, first_commit: Path, terminal: Terminal
) -> None:
    """The same calls give the same results and the same refusals: code, message, details and facts."""
    (tmp_path / "here").mkdir()
    place = Place(tmp_path / "here", first_commit, dsn)
    made: dict[str, Callable[[], Surface]] = {
        "stdio": lambda: Stdio(place),
        "relay": lambda: Relayed(place),
        "socket": lambda: Socket(place),
        "http": lambda: Http(place),
        "command line": lambda: CommandLine(place, terminal),
    }
    surface = made[name]()
    here = recorded(surface, place, outlined=not dsn)
    assert len(here) == len(at_the_door)
    differ = [
        f"{operation} {json.dumps(given)[:200]}: {where}"
        for (operation, given, there), (_, _, said) in zip(at_the_door, here, strict=True)
        if said is not None
        for where in differences(there, said)
    ]
    assert not differ, "\n".join(differ[:20])
    if isinstance(surface, CommandLine):
        assert surface.spelled > 50, "most of it is said in the words of a command"


def test_the_story_asks_every_tool_and_most_of_it_is_answered(at_the_door: Said) -> None:
    """An agreement about refusals alone would prove little."""
    answered = {operation for operation, _, said in at_the_door if "refused" not in said}
    refused = {said["refused"]["code"] for _, _, said in at_the_door if "refused" in said}
    assert {operation.name for operation in catalog.OPERATIONS.values() if operation.tool} - answered == set()
    assert len(refused) >= 20, refused

"""Subscriptions: a client is told that a resource has changed, wherever its server runs and whoever changed it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from tests.surfaces.mcp_server.talks import Machine, by_id, hello, request, whole

from clearway.limits import SUBSCRIPTIONS_MAX
from clearway.surfaces import mcp_notices
from clearway.surfaces.mcp_resources import BOARD, INBOX

# The handshake era is deprecated and spoken by most clients.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


class Ear:
    """What a client hears of changes, in order."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await self.heard.put(str(message.params.uri))

    async def next(self) -> str:
        return await asyncio.wait_for(self.heard.get(), 20)


def listening(machine: Machine, name: str, story: Callable[[Client, Ear], Awaitable[None]]) -> None:
    """Play a story with a client that hears."""
    agent = machine.agent(name)

    async def play() -> None:
        ear = Ear()
        async with Client(agent.server, client_info=agent.introduction, mode="legacy", message_handler=ear) as client:
            await story(client, ear)

    asyncio.run(play())


def test_a_subscriber_hears_of_what_others_and_it_itself_change(machine: Machine) -> None:
    other = machine.agent("ben")
    other.ask("room")

    async def story(client: Client, ear: Ear) -> None:
        await client.subscribe_resource(BOARD)
        await asyncio.to_thread(other.ask, "create_issue", title="One", status="ready")
        assert await ear.next() == BOARD
        await client.call_tool("claim_issue", {"next": True})
        assert await ear.next() == BOARD
        await client.subscribe_resource(INBOX)
        await asyncio.to_thread(other.ask, "send_message", to="anna", text="Hello")
        assert await ear.next() == INBOX
        await asyncio.to_thread(other.ask, "add_comment", issue_id="ISSUE-1", content="No card shows this.")
        await client.subscribe_resource("clearway://issue/issue-1")
        await asyncio.to_thread(other.ask, "add_comment", issue_id="ISSUE-1", content="But its page does.")
        assert await ear.next() == "clearway://issue/issue-1"
        assert ear.heard.empty()

    listening(machine, "anna", story)


def test_who_has_unsubscribed_hears_no_more(alone: Machine) -> None:
    other = alone.agent("ben")

    async def story(client: Client, ear: Ear) -> None:
        await client.subscribe_resource(BOARD)
        await client.subscribe_resource(INBOX)
        await client.unsubscribe_resource(BOARD)
        await client.unsubscribe_resource(BOARD)
        await asyncio.to_thread(other.ask, "create_issue", title="One")
        await asyncio.to_thread(other.ask, "send_message", to="anna", text="Hello")
        assert await ear.next() == INBOX
        await client.unsubscribe_resource(INBOX)
        await client.subscribe_resource(BOARD)
        await asyncio.to_thread(other.ask, "create_issue", title="Two")
        assert await ear.next() == BOARD
        assert ear.heard.empty()

    listening(alone, "anna", story)


def test_listening_is_no_sign_of_life(machine: Machine) -> None:
    """A client's program would listen for ever: its agent is seen by what it does."""
    other = machine.agent("ben")

    async def story(client: Client, ear: Ear) -> None:
        await client.subscribe_resource(BOARD)
        await asyncio.to_thread(other.ask, "create_issue", title="One")
        assert await ear.next() == BOARD

    listening(machine, "anna", story)
    assert {agent["agent"] for agent in machine.agent("carla").ask("room")["agents"]} == {"ben"}


def test_what_is_not_there_cannot_be_watched_and_the_number_is_bounded(alone: Machine) -> None:
    async def refused(client: Client, uri: str) -> str:
        try:
            await client.subscribe_resource(uri)
        except Exception as error:
            return str(error)
        return ""

    async def story(client: Client, _: Ear) -> None:
        assert "resources/list" in await refused(client, "clearway://nothing")
        for number in range(SUBSCRIPTIONS_MAX):
            assert not await refused(client, f"clearway://issue/ISSUE-{number + 1}")
        assert "LIMIT_EXCEEDED" in await refused(client, BOARD)
        assert not await refused(client, "clearway://issue/ISSUE-1"), "that is watched already"

    listening(alone, "anna", story)


def test_outside_of_a_repository_there_is_nothing_to_watch(alone: Machine, tmp_path: Any) -> None:
    alone.repo = tmp_path
    subscribe = request(1, "resources/subscribe", uri=BOARD)
    agent = alone.agent()
    heard = by_id(whole(hello(), subscribe, ask=agent.desk.ask, watch=agent.desk.watch))
    assert heard[1]["error"]["data"]["code"] == "PROJECT_NOT_FOUND"


@pytest.mark.parametrize("named", [[BOARD, "clearway://nothing"], []])
def test_a_client_of_the_modern_era_listens_with_one_request(machine: Machine, named: list[str]) -> None:
    agent, other = machine.agent("anna", mode="auto"), machine.agent("ben")

    async def play() -> None:
        async with (
            Client(agent.server, client_info=agent.introduction, mode="auto") as client,
            client.listen(tools_list_changed=True, resource_subscriptions=named) as subscription,
        ):
            assert subscription.honored.tools_list_changed
            assert (subscription.honored.resource_subscriptions or []) == named[:1]
            await asyncio.to_thread(other.ask, "create_issue", title="One")
            if named:
                event: Any = await asyncio.wait_for(anext(aiter(subscription)), 20)
                assert event.uri == BOARD

    asyncio.run(play())


# --- calls that take long -------------------------------------------------------------------------------------------


def test_a_client_that_wants_to_know_is_told_that_its_call_goes_on(
    alone: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearway.surfaces.mcp.PROGRESS_SECONDS", 0.05)
    agent, told = alone.agent(), asyncio.Event()
    agent.ask("create_issue", title="One")
    latest = agent.ask("get_changes")["latest_event_id"]

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert progress > 0 and total is None and message
        told.set()

    async def play() -> dict[str, Any]:
        async with Client(agent.server, client_info=agent.introduction, mode="legacy") as client:
            asked = {"since_event_id": latest, "wait_seconds": 30}
            waiting = asyncio.ensure_future(client.call_tool("get_changes", asked, progress_callback=hear))
            await asyncio.wait_for(told.wait(), 20)
            await client.call_tool("create_issue", {"title": "Two"})
            (content,) = (await waiting).content
            return json.loads(getattr(content, "text", ""))

    assert [event["type"] for event in asyncio.run(play())["events"]] == ["issue_created"]


def test_news_go_on_after_a_room_could_not_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a look missed, the next one sees."""
    from clearway.errors import Refusal

    class Busy:
        agent = "anna"

        def __init__(self) -> None:
            self.looks = 0

        async def changes(self, since: int, limit: int) -> dict[str, Any]:
            self.looks += 1
            if self.looks == 1:
                raise Refusal("STORAGE_BUSY", "Later.")
            event = {"type": "issue_created", "agent": "ben", "data": {}}
            assert since == 7
            return {"events": [event], "next_event_id": 8, "has_more": False}

        async def rung(self) -> bool:
            return self.looks < 2

        def close(self) -> None: ...

    async def heard() -> list[str]:
        return [uri async for uri in mcp_notices.news(Busy(), lambda: [BOARD], 7)]

    assert asyncio.run(heard()) == [BOARD]

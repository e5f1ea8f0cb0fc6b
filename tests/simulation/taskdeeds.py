"""What clients do with tasks: give them, take them, report on them, cancel and ask again; and what may come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.rules import Broken
from tests.simulation.worlds import Client, Errand

from clearway.errors import Refusal
from clearway.lifecycle import PRIORITIES, TASK_REPORTS

if TYPE_CHECKING:
    from tests.simulation.deeds import Step, Story

TERMS = (None, None, 1, 60, 3_600)
PATHS = (None, None, None, ["src"], ["docs/x.md"])


def give(story: Story, client: Client, step: Step) -> None:
    _give(story, client, story.world.clients[step.x % len(story.world.clients)].name, step)


def _give(story: Story, client: Client, name: str, step: Step) -> None:
    story.keyed(
        client,
        "send_message",
        to=name,
        text=f"Task {story.world.keys}",
        kind="task",
        priority=PRIORITIES[step.y % len(PRIORITIES)],
        expires_in="5m" if step.z % 4 == 0 else None,
        paths=PATHS[step.z % len(PATHS)],
    )


def take(story: Story, client: Client, step: Step) -> None:
    """Whatever comes next, or a certain one; and often it is begun at once."""
    tasks = story.watch.log.tasks
    begun = step.z % 2 == 0
    if step.y % 3 and "pending" not in tasks.states.values():
        _give(story, story.world.clients[step.y % len(story.world.clients)], client.name, step)
    if step.x % 3 == 0 and tasks.states:
        task = list(tasks.states)[step.y % len(tasks.states)]
        reply = story.ask(client, "accept_message", message_id=task)
        if not isinstance(reply, Refusal):
            _took(story, client, task, reply["lease_token"], begun=begun)
        return
    reply = story.ask(client, "next_task", lease_seconds=TERMS[step.y % len(TERMS)])
    if isinstance(reply, Refusal):
        return
    handed: dict[str, Any] | None = reply["task"]
    if handed is not None:
        _took(story, client, handed["task_id"], handed["lease_token"], begun=begun)
        return
    story.watch.look(now=story.now)
    left = [
        task for task, state in tasks.states.items() if state == "pending" and tasks.recipients[task] == client.name
    ]
    waiting = reply.get("waiting", {})
    if left and "path" not in waiting:
        raise Broken(f"nothing for {client.name}, yet {left} are pending: {reply}")


def report(story: Story, client: Client, step: Step) -> None:
    """Somebody says what came of a task: with its own token, one it was handed, an old one, or none that fits."""
    tasks = story.watch.log.tasks
    busy = [each for each in story.world.clients if each.errands]
    if not busy:
        return
    other = busy[step.x % len(busy)]
    if step.z % 5:  # else somebody else shows the token
        client = other
    alive = [each for each in other.errands if each.task in tasks.held]
    among = alive if alive and step.z % 4 else other.errands
    errand = among[step.y % len(among)]
    token = errand.token[:-2] + "xx" if step.z % 7 == 1 else errand.token
    state = TASK_REPORTS[step.x // 7 % len(TASK_REPORTS)]
    held = tasks.held.get(errand.task)
    lived = held is not None and held.fence == errand.fence and token == errand.token
    said = token == errand.token and tasks.last[errand.task] == errand.fence and tasks.states[errand.task] == state
    overdue = [row for row in story.watch.overdue(story.now) if row.fence == errand.fence]
    seconds = TERMS[step.z % len(TERMS)] if state == "started" else None
    given: dict[str, Any] = {"task_id": errand.task, "lease_token": token, "state": state, "lease_seconds": seconds}
    reply = story.ask(client, "update_task", **given)
    if isinstance(reply, Refusal):
        if lived and not overdue and not story.watch.is_over(errand.fence):
            raise Broken(f"{errand} lives and was refused: {reply.message}")
    elif not lived and not said:
        raise Broken(f"{errand} was accepted after its end: {reply}")
    elif lived and overdue:
        raise Broken(f"{errand} was accepted past its term: {overdue}")
    elif lived:
        story.watch.ledger.acted[f"task {errand.fence}"] = story.now
        if client is not other:
            client.errands.append(errand)


def take_back(story: Story, client: Client, step: Step) -> None:
    states = story.watch.log.tasks.states
    if states:
        task = list(states)[step.y % len(states)]
        story.ask(client, ("cancel_task", "retry_task", "retry_task")[step.x % 3], task_id=task)


def _took(story: Story, client: Client, task: int, token: str, *, begun: bool) -> None:
    story.watch.look(now=story.now)
    held = story.watch.log.tasks.held.get(task)
    if held is None or held.session != story.world.caller(client).key:
        raise Broken(f"{client.session} was handed task {task}, but the log says {held}")
    story.watch.ledger.acted[f"task {held.fence}"] = story.now  # asked again for what one has is an act, too
    errand = Errand(task, held.fence, token)
    if errand not in client.errands:
        client.errands.append(errand)
    if begun:
        reply = story.ask(client, "update_task", task_id=task, lease_token=token, state="started")
        if isinstance(reply, Refusal):
            raise Broken(f"{client.session} took task {task} and may not begin: {reply.message}")

"""Workers with real clients on a scripted model: each reads or writes as it was told, and what it cost is known."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from driving import Client, Desk, words_of_codex

from clearway.setup import live_clients
from clearway.setup.live_model import Performance, ScriptedModel, Shown, say

CONSOLE = Path(sys.executable).with_name("clearway")
EVERY = ["claude", "codex", "gemini", "qwen", "copilot"]


@pytest.fixture(params=EVERY)
def client(request: pytest.FixtureRequest) -> Client:
    return request.getfixturevalue(request.param)


class Night:
    """A desk with a room, and one client that a worker runs against a model."""

    def __init__(self, desk: Desk, client: Client) -> None:
        self.desk = desk
        self.client = client
        self.said("init")

    def said(self, *words: str, **environ: str) -> Any:
        done = self.desk.run(CONSOLE, "--json", *words, CLEARWAY_HOST="off", **environ)
        return json.loads(done.stdout) if done.stdout.strip() else None

    def task(self, text: str) -> int:
        return self.said("send", text, "--to", self.client.name, "--kind", "task")["message_id"]

    def state(self, task: int) -> dict[str, Any]:
        return self.said("task", "list", str(task))["items"][0]

    def answer(self, task: int) -> str:
        result = self.state(task)["result_id"]
        return self.said("inbox", str(result))["items"][0]["text"]

    def work(self, model: ScriptedModel, *words: str) -> subprocess.CompletedProcess[str]:
        """Let a worker do one thing with the real client."""
        environ = self.client.driver.environment(str(self.desk.home), model.address)
        more = self.to_the_model(model)
        return self.desk.run(
            *(CONSOLE, "worker", "run", "--agent", self.client.name, "--once", "--timeout", "90", *more, *words),
            **environ,
            CLEARWAY_HOST="off",
        )

    def to_the_model(self, model: ScriptedModel) -> list[str]:
        """The words that lead this client to the model, where its environment does not."""
        is_codex = isinstance(self.client.driver, live_clients.Codex)
        return ["--client-args", words_of_codex(self.client.driver, model.address)] if is_codex else []


@pytest.fixture
def night(desk: Desk, client: Client) -> Night:
    return Night(desk, client)


def edits_app(client: Client) -> Any:
    """A script that edits app.py wherever it was told to work, and says how that went."""

    def perform(shown: Shown) -> Performance:
        told = re.search(r"working without a person in (\S+)\.\n", shown.text)
        assert told is not None, shown.text[:2_000]
        folder = told[1]
        for step in client.driver.edits(folder, f"{folder}/app.py", "print(1)", "print(2)"):
            shown = yield step
        yield say("I have tried to change app.py.")

    return perform


def test_an_answer_of_a_real_client_comes_back(night: Night) -> None:
    number = night.task("Say whether all is well.")
    with ScriptedModel([say("All is well."), say("All is well.")]) as model:
        night.work(model)
    assert night.state(number)["state"] == "succeeded"
    assert night.answer(number) == f"Task #{number} succeeded: All is well."


def test_a_real_client_that_only_reads_writes_nothing(night: Night) -> None:
    """Whatever its model asks for."""
    night.task("Change app.py.")
    with ScriptedModel(edits_app(night.client)) as model:
        night.work(model)
    assert night.desk.file("app.py").read_text() == "print(1)\n"


def test_what_a_real_client_writes_is_on_a_branch(night: Night) -> None:
    number = night.task("Change app.py.")
    with ScriptedModel(edits_app(night.client)) as model:
        night.work(model, "--write")
    assert night.desk.file("app.py").read_text() == "print(1)\n"
    branches = night.desk.run("git", "branch", "--format=%(refname:short)", "--list", "clearway/*").stdout.split()
    assert len(branches) == 1, night.answer(number)
    assert night.desk.run("git", "show", f"{branches[0]}:app.py").stdout == "print(2)\n"

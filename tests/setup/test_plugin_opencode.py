"""Our plugin for OpenCode, run by Node in its place: it asks, passes on the answer, and never breaks its host."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clearway.setup.connect import opencode
from clearway.setup.connect.shapes import Asked
from clearway.setup.registered import Binding

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed: the plugin is not run")

HOST = """
import {{ Clearway }} from {plugin}
const parents = {parents}
const logged = []
const client = {{
  app: {{ log: async ({{ body }}) => {{ logged.push(body.message) }} }},
  session: {{ get: async ({{ path }}) => ({{ data: {{ id: path.id, parentID: parents[path.id] }} }}) }},
}}
const hooks = await Clearway({{ client, directory: {folder}, worktree: {folder} }})
const outcome = []
for (const [name, input, output] of {calls}) {{
  try {{
    await hooks[name](input, output)
    outcome.push(output ?? null)
  }} catch (error) {{
    outcome.push({{ thrown: error.message }})
  }}
}}
console.log(JSON.stringify({{ outcome, logged }}))
process.exit(0)
"""
HOOK = """#!{python}
import json, sys
payload = json.load(sys.stdin)
with open({log!r}, "a") as log:
    log.write(json.dumps(payload) + "\\n")
{body}
"""
ALLOWS = "pass"
ANSWERS = """
args = payload.get("output", {}).get("args", {})
if payload["hook"] == "tool.execute.before" and args.get("filePath") == "held.py":
    print(json.dumps({"deny": "held.py is held by alpha"}))
elif payload["hook"] in ("chat.message", "tool.execute.after") or payload["input"].get("event") == "start":
    print(json.dumps({"context": "news of " + payload["hook"]}))
elif payload["hook"] == "tool.execute.before":
    print(json.dumps({"context": "a note before"}))
"""


class Host:
    """A host with the plugin in it, and the hook that it asks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.hook = folder / "hook"
        self.closed = False
        self.wait_ms = 5_000
        self.parents: dict[str, str] = {}
        self.answers(ALLOWS)

    def answers(self, body: str) -> None:
        self.hook.write_text(HOOK.format(python=sys.executable, log=str(self.log), body=body))
        self.hook.chmod(self.hook.stat().st_mode | stat.S_IXUSR)

    def run(self, *calls: tuple[Any, ...]) -> dict[str, Any]:
        binding = Binding(str(self.folder / "state"), fail_closed=self.closed)
        (file, _) = opencode.files(Asked("user", "", binding, {"HOME": str(self.folder), "PATH": ""}))
        text = file.join("")
        line = next(line for line in text.splitlines() if line.startswith("const HOOK = "))
        hook = json.loads(line.removeprefix("const HOOK = "))
        hook |= {"interpreter": str(self.hook), "wait_ms": self.wait_ms}
        plugin = self.folder / "clearway.mjs"
        plugin.write_text(text.replace(line, f"const HOOK = {json.dumps(hook)}"))
        host = self.folder / "host.mjs"
        made = [[name, *more] for name, *more in calls]
        here = json.dumps(str(self.folder))
        host.write_text(
            HOST.format(
                plugin=json.dumps(str(plugin)), parents=json.dumps(self.parents), folder=here, calls=json.dumps(made)
            )
        )
        assert NODE is not None
        done = subprocess.run([NODE, str(host)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def before(path: str, session: str = "s1", call: str = "c1") -> tuple[Any, ...]:
    return "tool.execute.before", {"tool": "edit", "sessionID": session, "callID": call}, {"args": {"filePath": path}}


def after(path: str, session: str = "s1", call: str = "c1") -> tuple[Any, ...]:
    asked = {"tool": "edit", "sessionID": session, "callID": call, "args": {"filePath": path}}
    return "tool.execute.after", asked, {"title": "t", "output": "done", "metadata": {"exit": 0, "diff": "x" * 9}}


def event(kind: str, **properties: Any) -> tuple[Any, ...]:
    return "event", {"event": {"type": kind, "properties": properties}}, None


def test_a_denial_is_thrown_and_anything_else_passes(host: Host) -> None:
    host.answers(ANSWERS)
    assert host.run(before("held.py"), before("free.py"))["outcome"] == [
        {"thrown": "held.py is held by alpha"},
        {"args": {"filePath": "free.py"}},
    ]


def test_what_is_asked_names_the_call_the_session_and_the_process(host: Host) -> None:
    host.run(before("a.py"), after("a.py"))
    start, asked, told = host.asked()
    assert (start["hook"], start["input"]["event"], start["input"]["source"]) == ("session", "start", "resume")
    assert asked["hook"] == "tool.execute.before"
    assert asked["input"] == {"tool": "edit", "sessionID": "s1", "callID": "c1"}
    assert (asked["output"], asked["root"], asked["directory"]) == (
        {"args": {"filePath": "a.py"}},
        "s1",
        str(host.folder),
    )
    assert isinstance(asked["pid"], int)
    assert (told["input"]["args"], told["output"]) == ({"filePath": "a.py"}, {"metadata": {"exit": 0}})


def test_context_reaches_the_model_with_the_next_thing_it_reads(host: Host) -> None:
    host.answers(ANSWERS)
    part = {"id": "prt_1", "type": "text", "text": "do it", "messageID": "m1", "sessionID": "s1"}
    message = ("chat.message", {"sessionID": "s1"}, {"message": {}, "parts": [part]})
    prompt, _, result = host.run(message, before("free.py"), after("free.py"))["outcome"]
    assert prompt["parts"][0] == part
    assert prompt["parts"][1] == {
        **part,
        "id": "prt_1z",
        "synthetic": True,
        "text": "news of session\nnews of chat.message",
    }
    assert result["output"] == "done\n\na note before\nnews of tool.execute.after"
    assert [each["output"]["prompt"] for each in host.asked() if each["hook"] == "chat.message"] == ["do it"]


def test_a_subagent_is_asked_about_under_the_session_at_the_top(host: Host) -> None:
    host.parents = {"grandchild": "child", "child": "s1"}
    host.run(before("a.py", session="grandchild"), event("session.idle", sessionID="child"))
    assert [each["root"] for each in host.asked()] == ["s1", "s1", "s1"]
    assert [each["input"]["sessionID"] for each in host.asked()] == ["s1", "grandchild", "child"]


def test_a_session_that_was_seen_to_begin_is_new(host: Host) -> None:
    host.run(event("session.created", info={"id": "s1"}), before("a.py"), before("b.py", call="c2"))
    starts = [each["input"]["source"] for each in host.asked() if each["hook"] == "session"]
    assert starts == ["startup"]


def test_a_call_that_fails_is_over_too(host: Host) -> None:
    failed = {"type": "tool", "callID": "c1", "state": {"status": "error"}}
    host.run(before("a.py"), event("message.part.updated", part=failed), event("message.part.updated", part=failed))
    told = [each for each in host.asked() if each["hook"] == "tool.execute.after"]
    assert [(each["input"]["callID"], each["output"]) for each in told] == [("c1", {"error": "failed"})]


def test_what_was_refused_is_not_told_as_failed(host: Host) -> None:
    host.answers(ANSWERS)
    failed = {"type": "tool", "callID": "c1", "state": {"status": "error"}}
    host.run(before("held.py"), event("message.part.updated", part=failed))
    assert [each["hook"] for each in host.asked()] == ["session", "tool.execute.before"]


def test_compaction_and_the_end_are_told(host: Host) -> None:
    host.run(
        before("a.py"),
        ("experimental.session.compacting", {"sessionID": "s1"}, {"context": []}),
        event("session.compacted", sessionID="s1"),
        ("dispose",),
    )
    told = [
        (each["input"].get("event"), each["input"].get("source")) for each in host.asked() if each["hook"] == "session"
    ]
    assert told == [("start", "resume"), ("compact", None), ("start", "compact"), ("end", "other")]


def test_a_product_that_is_gone_allows_everything_with_one_line(host: Host) -> None:
    """C19."""
    host.hook.unlink()
    host.closed = True
    said = host.run(before("held.py"), after("held.py"), before("b.py", call="c2"), ("dispose",))
    assert [each for each in said["outcome"] if each and "thrown" in each] == []
    assert said["logged"] == ["clearway: not installed, guard open"]


@pytest.mark.parametrize(
    "body", ["import time; time.sleep(600)", "sys.exit(3)", "print('no json')"], ids=["stuck", "fails", "text"]
)
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_a_hook_that_does_not_answer_follows_the_fail_mode(host: Host, body: str, closed: bool) -> None:
    host.answers(body)
    host.closed, host.wait_ms = closed, 1_000
    said = host.run(before("a.py"), after("a.py"))
    refused = [each["thrown"] for each in said["outcome"] if each and "thrown" in each]
    assert len(refused) == (1 if closed else 0), said
    assert all("set to fail closed" in each for each in refused)
    assert len(said["logged"]) == 1


def test_a_host_of_another_version_is_not_broken(host: Host) -> None:
    """What it hands over may be missing or of another shape."""
    said = host.run(
        ("chat.message", {"sessionID": "s1"}, {}),
        ("tool.execute.before", {}, {}),
        ("tool.execute.after", {"sessionID": "s1"}, None),
        event("session.created"),
        event("message.part.updated", part={}),
        event("anything.new"),
    )
    assert [each for each in said["outcome"] if each and "thrown" in each] == []

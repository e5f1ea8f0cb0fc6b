"""A worker and issues: what it writes is on a branch of its own, and nothing that was written is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import git
from tests.worker.conftest import THERE, Office
from tests.worker.test_running import is_there, until

from clearway import platforms
from clearway.errors import Refusal

WRITES = 'open("new.py", "w").write("x = 1\\n"); answer("I added new.py.")'


def branches(office: Office) -> list[str]:
    return git(office.repo, "branch", "--format=%(refname:short)", "--list", "clearway/*").split()


def worktrees(office: Office) -> int:
    return git(office.repo, "worktree", "list", "--porcelain").count("worktree ")


def test_a_finding_waits_for_a_look(office: Office) -> None:
    """A client that only reads has changed nothing: its answer is looked at, the issue is not called done."""
    office.program("claude", 'answer("The bug is in a.py.")')
    issue = office.issue(description="It crashes.")
    assert office.work(sources=("tasks", "issues")) == 1
    attempt = office.last_attempt(issue)
    assert (attempt["status"], attempt["result_summary"]) == ("completed", "The bug is in a.py.")
    assert office.ask("get_issue", issue_id=issue)["status"] == "review"
    prompt = next(word for word in office.asked[0]["words"] if word.startswith("You are "))
    assert f"You have taken the issue {issue}" in prompt and "It crashes." in prompt
    assert branches(office) == []


def test_what_is_written_lies_on_a_branch_of_its_own(office: Office) -> None:
    office.program("claude", WRITES)
    issue = office.issue()
    assert office.work(sources=("issues",), write=True, target="done") == 1
    asked = office.asked[0]
    assert asked["cwd"].startswith(str(office.folder / "state" / "worktrees"))
    assert "acceptEdits" in asked["words"]
    (branch,) = branches(office)
    assert branch.startswith(f"clearway/{issue}-")
    assert git(office.repo, "show", f"{branch}:new.py") == "x = 1\n"
    message = git(office.repo, "log", "-1", "--format=%an%n%B", branch)
    assert message.startswith("claude-code-worker\n") and f"Clearway-Attempt: {issue} #" in message
    assert not (office.repo / "new.py").exists()
    assert "new.py" not in git(office.repo, "status", "--porcelain")
    assert worktrees(office) == 1, "the worktree is gone"
    attempt = office.last_attempt(issue)
    commit = git(office.repo, "rev-parse", branch).strip()
    kinds = {artifact["type"]: artifact["uri"] for artifact in attempt["artifacts"]}
    assert kinds == {"branch": branch, "commit": commit}
    assert "I added new.py." in attempt["result_summary"] and "1 file changed" in attempt["result_summary"]
    assert office.ask("get_issue", issue_id=issue)["status"] == "done"
    context = office.ask("get_work_context", issue_id=issue)
    assert "new.py" in context["checkpoint"]["content"]


def test_a_client_may_commit_itself(here: Office) -> None:
    commit = "-c user.name=x -c user.email=x@example.com commit -q -m"
    body = f"""
import subprocess
for name in ("one.py", "two.py"):
    open(name, "w").close()
    subprocess.run(["git", "add", name], check=True)
    subprocess.run(["git", *"{commit}".split(), "Add " + name], check=True)
open("three.py", "w").close()
answer("Three files.")
"""
    here.program("claude", body)
    issue = here.issue()
    here.work(sources=("issues",), write=True)
    (branch,) = branches(here)
    titles = git(here.repo, "log", "--format=%s", f"main..{branch}").splitlines()
    assert titles == [f"Work on {issue}", "Add two.py", "Add one.py"]
    artifacts = here.last_attempt(issue)["artifacts"]
    assert [artifact["title"] for artifact in artifacts if artifact["type"] == "commit"] == titles


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("open('half.py', 'w').close(); sys.exit(1)", "failed", "implementation_error"),
        ("open('half.py', 'w').close(); time.sleep(60)", "failed", "timeout"),
        ("open('half.py', 'w').close(); sys.exit(75)", "interrupted", "environment_change"),
    ],
)
def test_what_was_half_written_is_kept_and_the_issue_is_free_again(
    office: Office, body: str, status: str, code: str
) -> None:
    office.program("claude", body)
    issue = office.issue()
    office.work(sources=("issues",), write=True, seconds=2)
    attempt = office.last_attempt(issue)
    assert (attempt["status"], attempt.get("failure_code") or attempt.get("interruption_code")) == (status, code)
    (branch,) = branches(office)
    assert git(office.repo, "ls-tree", "--name-only", branch, "half.py") == "half.py\n"
    assert office.ask("get_issue", issue_id=issue)["claimable"] is True


OBEYED = """
import subprocess
def a_repository(folder):
    subprocess.run(["git", "init", "-q", folder], check=True)
    for words in (["config", "core.fsmonitor", f"touch {HERE}/obeyed; false"],
                  ["config", "filter.x.clean", f"touch {HERE}/obeyed; cat"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
"""


@pytest.mark.parametrize("where", [".", "below"])
def test_what_a_client_leaves_to_git_is_not_obeyed(here: Office, where: str) -> None:
    """A sandbox lets a client write in its worktree; git runs outside of it, and starts what its settings name."""
    office = here
    away = 'os.rename(".git", os.path.join(HERE, "git-file"))\n' if where == "." else ""
    commit = f"""
open("{where}/.gitattributes", "w").write("* filter=x\\n")
if "{where}" == "below":
    subprocess.run(["git", "-C", "below", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.fsmonitor=false",
                    "commit", "-qm", "x", "--allow-empty"], check=True)
    open("below/more", "w").close()
"""
    office.program("claude", f"{OBEYED}{away}a_repository({where!r})\n{commit}{WRITES}")
    office.issue()
    office.work(sources=("issues",), write=True)
    assert not (office.programs / "obeyed").exists()
    (branch,) = branches(office)
    assert git(office.repo, "show", f"{branch}:new.py") == "x = 1\n"


def test_a_run_that_writes_nothing_leaves_no_branch(here: Office) -> None:
    here.program("claude", 'answer("Nothing to do.")')
    here.issue()
    here.work(sources=("issues",), write=True)
    assert branches(here) == []
    assert worktrees(here) == 1


def test_work_on_what_has_changed_meanwhile_is_handed_over_and_not_called_done(office: Office) -> None:
    office.program("claude", f"open('new.py', 'w').close(); {THERE}\n"
                   "while not os.path.exists(os.path.join(HERE, 'go')): time.sleep(0.02)\nanswer('Done.')")  # fmt: skip
    issue = office.issue()

    def change() -> None:
        version = office.ask("get_issue", issue_id=issue)["version"]
        office.ask("update_issue", issue_id=issue, expected_version=version, changes={"description": "Another thing."})
        (office.programs / "go").touch()

    with office.meanwhile("there", change):
        office.work(sources=("issues",), write=True)
    attempt = office.last_attempt(issue)
    assert (attempt["status"], attempt["interruption_code"]) == ("interrupted", "handoff")
    assert "was changed by others" in attempt["reason_details"]
    assert {artifact["type"] for artifact in attempt["artifacts"]} == {"branch", "commit"}
    assert office.ask("get_issue", issue_id=issue)["status"] == "ready"


def test_what_the_human_releases_ends_its_run(here: Office) -> None:
    here.program("claude", f"open('new.py', 'w').close(); {THERE}; time.sleep(60)")
    issue = here.issue()

    def release() -> None:
        here.ask("release_attempt", attempt_id=here.last_attempt(issue)["attempt_id"])

    with here.meanwhile("there", release):
        here.work(sources=("issues",), write=True, seconds=60)
    assert here.last_attempt(issue)["status"] == "interrupted"
    assert len(branches(here)) == 1, "what was written is kept"


def test_blocked_reserved_and_unfit_work_is_passed_over(office: Office) -> None:
    office.program("claude", 'answer("Done.")')
    first = office.issue("first", needs=["gpu"])
    second = office.issue("second", reserved_for="alpha")
    assert office.work(sources=("issues",)) == 0
    assert office.work(sources=("issues",), more={"CLEARWAY_CAPABILITIES": "gpu,ios"}) == 1
    assert office.ask("get_issue", issue_id=first)["status"] == "review"
    assert office.ask("get_issue", issue_id=second)["status"] == "ready"


def start_program(office: Office, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "clearway.surfaces.cli", "worker", "run", "--agent", "claude", *words]
    return subprocess.Popen(
        command, cwd=office.repo, env=office.environ, stderr=subprocess.PIPE, start_new_session=True
    )


def far_child(office: Office) -> str:
    """A client that writes, leaves a child in a session of its own, and stays."""
    return f"""
import subprocess
open("half.py", "w").write("half")
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
open(os.path.join(HERE, "child"), "w").write(str(child.pid))
{THERE}
time.sleep(60)
"""


@pytest.mark.parametrize("what", ["task", "issue"])
def test_a_killed_worker_leaves_no_grandchild_and_what_it_had_is_free(office: Office, what: str) -> None:
    """P57: with a long child; whatever it had written is saved by the next worker that comes."""
    office.program("claude", far_child(office))
    number = office.task() if what == "task" else 0
    issue = office.issue() if what == "issue" else ""
    worker = start_program(office, "--from", "tasks,issues", "--write")
    try:
        until("the client did not start", file=office.programs / "there")
        worker.send_signal(signal.SIGKILL)
        worker.communicate(timeout=20)
        if platforms.LINUX:
            until("a grandchild is left", gone=int((office.programs / "child").read_text()))
    finally:
        worker.kill()
    if what == "task":
        assert office.state(number) == "pending"
    else:
        assert office.ask("get_issue", issue_id=issue)["claimable"] is True
    office.program("claude", 'answer("Done.")')
    assert office.work(sources=("tasks", "issues"), write=True) == 1
    (branch,) = branches(office)
    assert git(office.repo, "show", f"{branch}:half.py") == "half"
    assert worktrees(office) == 1
    if what == "task":
        assert office.state(number) == "succeeded"
    else:
        assert office.last_attempt(issue)["status"] == "completed"


def test_a_worker_that_is_asked_to_end_gives_back_at_once(here: Office) -> None:
    here.program("claude", far_child(here))
    number = here.task()
    worker = start_program(here)
    try:
        until("the client did not start", file=here.programs / "there")
        worker.terminate()
        said = worker.communicate(timeout=20)[1].decode()
        assert worker.returncode == 0, said
        assert not is_there(int((here.programs / "child").read_text())) or not platforms.LINUX
    finally:
        worker.kill()
    assert here.state(number) == "pending"


def test_a_lock_of_git_that_was_killed_keeps_nothing_from_being_saved(here: Office) -> None:
    here.program("claude", f"open('half.py', 'w').close(); {THERE}; time.sleep(60)")
    here.issue()
    worker = start_program(here, "--from", "issues", "--write")
    try:
        until("the client did not start", file=here.programs / "there")
        worker.send_signal(signal.SIGKILL)
        worker.communicate(timeout=20)
    finally:
        worker.kill()
    (gone,) = (here.repo / ".git" / "worktrees").iterdir()
    (gone / "index.lock").touch()
    here.program("claude", WRITES)
    assert here.work(sources=("issues",), write=True) == 1
    saved = [git(here.repo, "ls-tree", "--name-only", branch, "half.py") for branch in branches(here)]
    assert sorted(saved) == ["", "half.py\n"]


def test_without_a_commit_nothing_is_written(here: Office) -> None:
    git(here.repo, "checkout", "-q", "--orphan", "empty")
    here.program("claude", WRITES)
    issue = here.issue()
    with pytest.raises(Refusal, match="has no commit yet"):
        here.work(sources=("issues",), write=True)
    assert here.ask("list_attempts", issue_id=issue)["items"] == []


def test_what_a_run_costs_is_counted_for_what_it_was_for(office: Office) -> None:
    usage = {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 50}
    office.program("claude", f"answer('Fine.', usage={usage}, total_cost_usd=0.25)")
    issue, number = office.issue(), office.task(issue_id=None)
    office.work(sources=("tasks", "issues"))
    office.work(sources=("tasks", "issues"))
    by_issue = {item["issue"]: item for item in office.ask("get_costs", by="issue")["items"]}
    assert by_issue[issue]["cost_usd"] == 0.25
    assert (by_issue[issue]["input_tokens"], by_issue[issue]["output_tokens"]) == (1000, 50)
    by_task = {item["task"]: item for item in office.ask("get_costs", by="task")["items"]}
    assert by_task[number]["cost_usd"] == 0.25
    (by_agent,) = office.ask("get_costs", by="agent")["items"]
    assert (by_agent["agent"], by_agent["cost_usd"]) == ("claude-code-worker", 0.5)


def test_at_the_cap_of_an_agent_nothing_more_is_begun(office: Office) -> None:
    office.program("claude", "answer('Fine.', usage={'output_tokens': 5}, total_cost_usd=2.0)")
    office.ask("set_setting", name="cost.agent", value="$3")
    tasks = [office.task() for _ in range(3)]
    assert [office.work() for _ in tasks] == [1, 1, 0]
    assert [office.state(task) for task in tasks] == ["succeeded", "succeeded", "pending"]


@pytest.mark.skipif(not platforms.LINUX, reason="orphans are adopted on Linux")
def test_a_killed_keeper_leaves_nothing_either(here: Office) -> None:
    """The kernel kills what takes too much memory, and does not ask which of the three it is."""
    here.program("claude", far_child(here))
    number = here.task()
    worker = start_program(here, "--once")
    try:
        until("the client did not start", file=here.programs / "there")
        children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
        if not children.exists():
            pytest.skip("this kernel does not list children")
        (keeper,) = children.read_text().split()
        os.kill(int(keeper), signal.SIGKILL)
        said = worker.communicate(timeout=30)[1].decode()
        assert worker.returncode == 0, said
        assert not is_there(int((here.programs / "child").read_text()))
    finally:
        worker.kill()
    assert here.state(number) == "needs_review"


# A client whose hooks are heard: it edits a file, runs its tests, which fail, and says farewell.
HOOKED = """
import subprocess
def hook(event, **more):
    payload = {"session_id": "child", "cwd": os.getcwd(), "hook_event_name": event, "transcript_path": HERE, **more}
    words = [sys.executable, "-m", "clearway.surfaces.cli", "hook", "claude"]
    environ = os.environ | {"CLAUDE_PID": str(os.getpid())}
    subprocess.run(words, input=json.dumps(payload).encode(), check=True, env=environ)
def call(tool, response, **given):
    hook("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=tool)
    failed = {"error": response} if isinstance(response, str) else {"tool_response": response}
    event = "PostToolUseFailure" if isinstance(response, str) else "PostToolUse"
    hook(event, tool_name=tool, tool_input=given, tool_use_id=tool, **failed)
hook("SessionStart", source="startup")
path = os.path.join(os.getcwd(), "new.py")
open(path, "w").close()
call("Write", {}, file_path=path, content="")
call("Bash", "Exit code 1", command="pytest -q")
hook("SessionEnd", reason="other")
answer("All is green.", usage={"output_tokens": 1}, total_cost_usd=0.5)
"""


@pytest.mark.parametrize("evidence", ["warn", "refuse"])
def test_what_the_hooks_of_its_client_saw_is_seen_of_its_work(here: Office, evidence: str) -> None:
    """Whatever the client says of its tests; and where a room asks for green ones, three such runs ask for a person."""
    here.program("claude", HOOKED)
    here.ask("set_setting", name="evidence", value=evidence)
    issue = here.issue()
    here.work(sources=("issues",), write=True)
    attempt = here.last_attempt(issue)
    assert attempt["evidence"]["tests"] == "red"
    assert attempt["evidence"]["command"] == "pytest -q"
    wanted = ("completed", None) if evidence == "warn" else ("failed", "tests_failed")
    assert (attempt["status"], attempt.get("failure_code")) == wanted
    (spent,) = here.ask("get_costs", by="agent")["items"]
    assert spent["cost_usd"] == 0.5, "counted once"

"""Git over a work tree that several sessions share, through the hook, with real repositories, on both engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git

from clearway import catalog, repository
from clearway.config import Caller, Settings
from clearway.db import Statement
from clearway.guard import gitdeeds
from clearway.guard.gitglance import git_is_harmless
from clearway.guard.writers import cannot_write
from clearway.rooms import Rooms
from clearway.surfaces import hooks

TREE_WIDE = [
    *("git stash", "git stash -u", "git stash push -m wip", "git stash save wip", "git reset --hard"),
    *("git reset --hard HEAD~1", "git reset --merge", "git reset --keep HEAD", "git checkout -- .", "git checkout ."),
    *(
        "git checkout -f",
        "git checkout HEAD -- .",
        "git restore .",
        "git restore --staged --worktree .",
        "git restore src",
    ),
    *(
        "git checkout other",
        "git checkout -b new",
        "git switch other",
        "git switch -c new",
        "git switch -",
        "git clean -fd",
    ),
    *("git clean -xdf", "git rebase main", "git rebase --abort", "git merge other", "git merge --abort", "git pull"),
    *("git cherry-pick abc", "git revert HEAD", "git am x.mbox", "git bisect start", "git submodule update --init"),
    *("git read-tree -u -m HEAD", "git checkout-index -a -f", "git filter-branch --all", "git gc --prune=now"),
    *("git update-ref HEAD abc", "git symbolic-ref HEAD refs/heads/other", "git sparse-checkout set src"),
    *("git reflog expire --expire=now --all", "git prune", "gh pr checkout 12", "git checkout 'src/*.py'"),
]
SPELLINGS = [
    *("cd src && git stash", "git -C src reset --hard", "env A=1 git stash", "bash -lc 'git stash'", "sudo git stash"),
    *(
        "/usr/bin/git stash",
        "git --no-pager -c a.b=c stash",
        "git --git-dir=.git --work-tree=. stash",
        "eval 'git stash'",
    ),
    *(
        "GIT_DIR=.git git reset --hard",
        "export GIT_WORK_TREE=$PWD; git checkout .",
        "true && (git stash)",
        "x=stash; git $x",
    ),
    *(
        "git ls-files -m | xargs git checkout --",
        "if true; then git clean -f; fi",
        "git -c alias.x=stash x",
        "git $(echo stash)",
    ),
    *("git config alias.y 'reset --hard'; git y", "git -c alias.z='!git stash' z", 'g() { git "$@"; }; g stash'),
]
HARMLESS = [
    *("git stash list", "git stash show -p", "git status", "git log --oneline", "git diff HEAD", "git fetch origin"),
    *("git clean -nd", "git clean --dry-run -fd", "git reset", "git reset -q HEAD -- src/a.py", "git add src/a.py"),
    *("git checkout -- src/a.py", "git restore src/a.py", "git stash push -- src/a.py", "git stash push -m x src/a.py"),
    *("git checkout HEAD src/a.py", "git clean -f -- src/a.py", "git branch -a", "git branch new", "git worktree list"),
    *("git restore --staged .", "git commit -m x -- src/a.py", "git commit --dry-run -a", "git stash --help"),
    *("git bisect log", "git rebase --quit", "git submodule status", "git gc", "git remote -v", "git tag v1"),
    *(
        "echo git stash",
        "grep -rn 'git reset --hard' .",
        "git commit -m 'git stash' -- src/a.py",
        "git push origin main",
    ),
    *("git worktree add ../tree -b other2", "cat > note.md <<'E'\ngit stash\nE", "git show stash@{0}", "git checkout"),
]


WHO = {f"GIT_{role}_{what}": "x@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

one_engine = pytest.mark.parametrize("desk", ["sqlite"], indirect=True)  # what git says is no engine's business


class Session:
    """One session of Claude Code in one folder of the repository."""

    def __init__(self, desk: Desk, name: str, folder: Path) -> None:
        self.desk = desk
        self.name = name
        self.folder = folder
        self.calls = 0
        self.tell("SessionStart", source="startup")

    def tell(self, event: str, **more: Any) -> dict[str, Any]:
        payload = {"session_id": self.name, "cwd": str(self.folder), "hook_event_name": event, **more}
        out, self.err, code = hooks.answer("claude", json.dumps(payload).encode(), self.desk.environ)
        assert code == 0
        return json.loads(out)["hookSpecificOutput"] if out else {}

    def before(self, tool: str, **given: Any) -> dict[str, Any]:
        self.calls += 1
        call = f"{self.name}-{self.calls}"
        return self.tell("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=call)

    def after(self, tool: str, *, number: int = 0, **given: Any) -> dict[str, Any]:
        call = f"{self.name}-{number or self.calls}"
        said = {"stdout": "", "interrupted": False}
        return self.tell("PostToolUse", tool_name=tool, tool_input=given, tool_use_id=call, tool_response=said)

    def edits(self, path: str, text: str = "changed\n") -> None:
        """An edit that is allowed and made."""
        file = self.folder / path
        given: dict[str, Any] = {"file_path": str(file), "content": text}
        assert self.before("Write", **given).get("permissionDecision") != "deny"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.after("Write", **given)

    def asks(self, command: str) -> str:
        """A shell call that is asked for and, if it is allowed, over at once; the reason why it is refused."""
        said = self.before("Bash", command=command)
        if said.get("permissionDecision") == "deny":
            return said["permissionDecisionReason"]
        self.after("Bash", command=command)
        return ""

    def ends_turn(self) -> None:
        self.tell("Stop")


class Desk:
    """A machine on which several sessions work on one repository."""

    def __init__(self, tmp_path: Path, repo: Path, engine: str) -> None:
        self.repo = repo
        self.engine = engine
        self.environ = {
            "HOME": str(tmp_path / "person"),
            "CLEARWAY_HOME": str(tmp_path / "state"),
            "PATH": os.environ["PATH"],
        }
        (tmp_path / "person").mkdir()

    def some(self, commands: list[str]) -> list[str]:
        """All of them, or a few on the server, to which every hook connects anew: what they mean is no engine's."""
        return commands if self.engine == "sqlite" else commands[::6]

    def session(self, name: str, folder: Path | None = None) -> Session:
        return Session(self, name, folder or self.repo)

    def ask(self, operation: str, caller: Caller | None = None, **arguments: Any) -> dict[str, Any]:
        """A question of the human, or of a session over its MCP tools."""
        rooms = Rooms(Settings(self.environ))
        try:
            human = Caller("human", cwd=str(self.repo), host=rooms.liveness.host, human=True)
            return rooms.ask(catalog.OPERATIONS[operation], arguments, caller or human)
        finally:
            rooms.close()

    def rows(self, text: str) -> list[Any]:
        rooms = Rooms(Settings(self.environ))
        try:
            session = rooms.of_repository(repository.holding(str(self.repo))).engine.begin(writes=False)
            try:
                return list(session.rows(Statement("rows", text, text), {}))
            finally:
                session.rollback()
        finally:
            rooms.close()

    def rescued(self) -> list[str]:
        return git(self.repo, "for-each-ref", "--format=%(refname)", "refs/clearway/rescue").split()


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    git(repo, "branch", "other")
    made = Desk(tmp_path, repo, request.param)
    monkeypatch.setattr("clearway.alive.ancestors", lambda pid=None: [])
    if request.param == "postgres":
        dsn: str = request.getfixturevalue("postgres_dsn")
        ended = subprocess.run(
            [sys.executable, "-m", "clearway.surfaces.cli", "init", "--database", dsn],
            env=made.environ,
            cwd=repo,
            capture_output=True,
        )
        assert ended.returncode == 0, ended.stderr
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "room")
    return made


def test_git_over_the_tree_is_refused_while_another_holds_a_file(desk: Desk) -> None:
    """C22."""
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    for command in desk.some([*TREE_WIDE, *SPELLINGS]):
        refusal = alpha.asks(command)
        assert refusal.startswith("PATH_HELD: g"), f"{command}: {refusal}"
        assert "claude-code" in refusal
        assert len(refusal.encode()) <= 240, refusal
    assert "src/b.py" in alpha.asks("git stash")
    assert "git stash push -- PATHS" in alpha.asks("git stash"), "and says what to do instead"


@one_engine
def test_what_looks_or_names_its_own_files_passes(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    alpha.edits("src/a.py")
    for command in desk.some(HARMLESS):
        assert alpha.asks(command) == "", command


def test_nothing_is_refused_to_one_who_is_alone(desk: Desk) -> None:
    alpha = desk.session("a")
    alpha.edits("src/a.py")
    alpha.edits("new.txt")
    desk.session("b")  # is there, and has nothing
    for command in desk.some([*TREE_WIDE, *SPELLINGS]):
        assert alpha.asks(command) == "", command


def test_what_was_left_uncommitted_is_minded_until_it_is_clean(desk: Desk) -> None:
    """Semantics 5: also after its turn, until its session ends or the files are clean."""
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    beta.edits("src/new.py")
    beta.ends_turn()
    refusal = alpha.asks("git reset --hard")
    assert "src/b.py" in refusal
    assert "src/new.py" in refusal
    assert "src/new.py" in alpha.asks("git clean -fd src")
    assert alpha.asks("git checkout -- deploy") == "", "elsewhere there is nothing of theirs"
    assert "src/b.py" in alpha.asks("git checkout -- src/b.py"), "and by its name it is theirs as well"
    git(desk.repo, "add", "-A")
    git(desk.repo, "commit", "-q", "-m", "theirs")
    assert alpha.asks("git reset --hard") == ""


def test_what_a_session_left_is_free_when_it_ends(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    beta.ends_turn()
    assert "src/b.py" in alpha.asks("git stash")
    beta.tell("SessionEnd", reason="exit")
    assert alpha.asks("git stash") == ""


def test_a_person_and_a_script_that_runs_are_minded_as_well(desk: Desk) -> None:
    """C10, with git in the editor's place."""
    alpha, beta = desk.session("a"), desk.session("b")
    beta.before("Bash", command="bash deploy/x.sh")
    assert "deploy/x.sh" in alpha.asks("git switch other")
    beta.after("Bash", command="bash deploy/x.sh")
    assert alpha.asks("git switch other") == ""
    desk.ask("claim_paths", paths=["held.txt"])
    assert "what is human's here: held.txt" in alpha.asks("git stash")
    assert alpha.asks("git stash push -- src") == ""


@one_engine
def test_the_stash_of_those_in_another_work_tree_is_left_to_them(desk: Desk, tmp_path: Path) -> None:
    """C22: the stash is one for all work trees."""
    git(desk.repo, "worktree", "add", "-q", "-b", "mine", str(tmp_path / "mine"))
    alpha, beta = desk.session("a", tmp_path / "mine"), desk.session("b")
    beta.edits("src/b.py")
    git(desk.repo, "stash")
    for command in ("git stash pop", "git stash drop", "git stash clear", "git stash drop stash@{0}"):
        assert "the stash of branch main" in alpha.asks(command), command
    assert alpha.asks("git stash apply") == "", "it is still there"
    alpha.edits("src/a.py")
    git(tmp_path / "mine", "stash")
    assert alpha.asks("git stash pop") == "", "the newest is its own"
    assert alpha.asks("git stash clear") != ""


@one_engine
def test_submodules_are_trees_of_their_own(desk: Desk, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    (part / "f.py").write_text("f\n")
    git(part, "init", "-q", "-b", "main", "--template=")
    git(part, "add", "-A")
    git(part, "commit", "-q", "-m", "part")
    git(desk.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part), "part")
    git(desk.repo, "commit", "-qm", "with a part")
    alpha, beta = desk.session("a"), desk.session("b", desk.repo / "part")
    beta.edits("f.py")
    for command in ("git submodule update", "git submodule foreach 'git reset --hard'", "git submodule update -- part"):
        assert "f.py" in alpha.asks(command), command
    for command in (
        "git submodule update -- other",
        "git submodule foreach git status",
        "git stash",
        "git switch other",
    ):
        assert alpha.asks(command) == "", command


@one_engine
def test_tools_of_git_servers_are_git(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")

    def asks(tool: str, **given: Any) -> str:
        said = alpha.before(f"mcp__git__{tool}", repo_path=str(desk.repo), **given)
        alpha.after(f"mcp__git__{tool}", repo_path=str(desk.repo), **given)
        return said.get("permissionDecisionReason", "")

    assert "src/b.py" in asks("git_checkout", branch_name="other")
    assert "src/b.py" in asks("git_reset", mode="hard")
    assert "src/b.py" in asks("git_stash", mode="push")
    assert "src/b.py" in asks("git_clean", force=True)
    assert "src/b.py" in asks("git_add", files=["src/a.py", "src/b.py"])
    assert "src/b.py" in asks("git_commit", message="x", all=True)
    for tool, given in (
        *(("git_status", {}), ("git_diff", {"target": "main"}), ("git_reset", {}), ("git_commit", {"message": "x"})),
        *(
            ("git_add", {"files": ["src/a.py"]}),
            ("git_stash", {"mode": "list"}),
            ("git_create_branch", {"branch": "x"}),
        ),
    ):
        assert asks(tool, **given) == "", tool
    for odd in (None, [], {"repo_path": 7}, {"files": [{}], "mode": []}, {"repo_path": "\0"}):
        assert "PATH" not in str(alpha.tell("PreToolUse", tool_name="mcp__git__git_add", tool_input=odd))


@one_engine
def test_what_a_dead_process_left_is_free(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Semantics 5: until its session ends; a death ends it."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    alpha = desk.session("a")
    with monkeypatch.context() as patch:
        patch.setitem(desk.environ, "CLAUDE_PID", str(child.pid))
        beta = desk.session("b")
        beta.edits("src/b.py")
        beta.ends_turn()
    assert "src/b.py" in alpha.asks("git stash")
    child.kill()
    child.communicate()
    assert alpha.asks("git stash") == ""


@one_engine
def test_a_repository_in_which_nobody_works_gets_no_room(desk: Desk, tmp_path: Path) -> None:
    alpha, _ = desk.session("a"), desk.session("b")
    git(tmp_path, "clone", "-q", str(desk.repo), "away")
    rooms = tmp_path / "state" / "rooms"
    before = sorted(os.listdir(rooms))
    for command in ("git -C ../away stash", "cd ../away && git commit -am x", "git -C ../away co main"):
        assert alpha.asks(command) == ""
    assert sorted(os.listdir(rooms)) == before
    git(tmp_path, "init", "-q")  # the folder in which our own state is kept
    assert alpha.asks("git -C .. stash") == ""
    assert alpha.err == ""


@one_engine
def test_an_index_of_ones_own_is_nobody_elses(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    assert alpha.asks("GIT_INDEX_FILE=/tmp/mine git add -A") == ""
    assert "src/b.py" in alpha.asks("GIT_INDEX_FILE=/tmp/mine git checkout ."), "files are files"


@one_engine
def test_what_one_took_over_is_ones_own(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    beta.ends_turn()
    alpha.edits("src/b.py", "mine\n")
    assert alpha.asks("git checkout -- src/b.py") == ""
    assert alpha.asks("git reset --hard") == ""


def test_head_is_not_moved_under_somebody_at_work(desk: Desk) -> None:
    """C23: somebody who works on an issue in this very tree, whatever files."""
    alpha, beta = desk.session("a"), desk.session("b")
    claim_an_issue(desk, "b")
    for command in ("git switch other", "git merge other", "git rebase other", "git pull", "git checkout -b x"):
        refusal = alpha.asks(command)
        assert "ISSUE-1" in refusal, command
        assert "git worktree add" in refusal
        assert len(refusal.encode()) <= 240
    assert alpha.asks("git stash") == "", "there is nothing of theirs in it"
    beta.tell("SessionEnd", reason="exit")


def test_in_a_worktree_of_ones_own_everything_is_allowed(desk: Desk, tmp_path: Path) -> None:
    """C23, C28: two who are apart do not keep each other from anything."""
    git(desk.repo, "worktree", "add", "-q", "-b", "mine", str(tmp_path / "mine"))
    alpha, beta = desk.session("a", tmp_path / "mine"), desk.session("b")
    beta.edits("src/b.py")
    alpha.edits("src/b.py")
    claim_an_issue(desk, "b")
    for command in (
        "git stash",
        "git switch -c x",
        "git merge other",
        "git reset --hard",
        "git add -A && git commit -m x",
    ):
        assert alpha.asks(command) == "", command
        assert beta.asks(command) == "", command
    assert "src/b.py" in alpha.asks(f"git -C {desk.repo} stash"), "not there, though"
    assert "src/b.py" in alpha.asks(f"cd {desk.repo}; git reset --hard")


def test_the_work_tree_of_another_is_not_removed(desk: Desk, tmp_path: Path) -> None:
    """C29."""
    tree = tmp_path / "mine"
    git(desk.repo, "worktree", "add", "-q", "-b", "mine", str(tree))
    alpha, beta = desk.session("a"), desk.session("b", tree)
    for command in (f"git worktree remove --force {tree}", f"git worktree move {tree} x"):
        refusal = alpha.asks(command)
        assert "claude-code" in refusal, command
        assert len(refusal.encode()) <= 240
    for command in (
        "git branch -D mine",
        "git branch -f mine HEAD~1",
        "git branch -M mine x",
        "git update-ref refs/heads/mine HEAD",
    ):
        assert "claude-code" in alpha.asks(command), command
    assert alpha.asks("git branch -D other") == ""
    beta.tell("SessionEnd", reason="exit")
    assert alpha.asks(f"git worktree remove --force {tree}") == ""


def test_a_commit_takes_along_nothing_of_others(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    beta.edits("new.txt")
    alpha.edits("src/a.py")
    for command in (
        "git commit -am x",
        "git commit -a -m x",
        "git add -A",
        "git add . && git commit -m x",
        "git add src",
    ):
        refusal = alpha.asks(command)
        assert "would take along" in refusal, f"{command}: {refusal}"
        assert "PATHS" in refusal
        assert len(refusal.encode()) <= 240
    assert "new.txt" not in alpha.asks("git add -u"), "an untracked file is not updated"
    assert alpha.asks("git add src/a.py") == ""
    assert alpha.asks("git commit -m x") == "", "nothing of theirs is staged"
    git(desk.repo, "add", "src/b.py")
    assert "src/b.py" in alpha.asks("git commit -m x")
    assert alpha.asks("git commit -m x -- src/a.py") == ""
    assert beta.asks("git commit -m x -- src/b.py new.txt") == ""


@one_engine
def test_a_stash_with_the_work_of_another_is_not_used_up(desk: Desk) -> None:
    """C22: stash, pop fails, drop."""
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    assert beta.asks("git stash push -- src/b.py") == ""
    git(desk.repo, "stash", "push", "--", "src/b.py")
    beta.ends_turn()
    for command in ("git stash drop", "git stash pop", "git stash clear", "git stash apply stash@{0}"):
        assert "src/b.py" in alpha.asks(command), command
    assert beta.asks("git stash pop") == ""
    git(desk.repo, "stash", "pop")
    alpha.edits("src/a.py")
    git(desk.repo, "stash", "push", "--", "src/a.py")
    git(desk.repo, "checkout", "--", ".")
    assert alpha.asks("git stash pop") == "", "this one is its own"


@one_engine
@pytest.mark.parametrize("deed", ["git stash -u", "git reset --hard", "git clean -fd", "git checkout -- ."])
def test_all_work_is_saved_before_people_let_it_pass(desk: Desk, deed: str) -> None:
    """C22: if forced by a human, a rescue ref exists first."""
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py", "theirs\n")
    beta.edits("new file.txt", "new\n")
    git(desk.repo, "add", "src/b.py")
    (desk.repo / "src/b.py").write_text("later\n")
    before = git(desk.repo, "status", "--porcelain=v2"), (desk.repo / ".git/index").read_bytes()
    assert "src/b.py" in alpha.asks(deed)
    assert desk.rescued() == [], "a refused one needs none"
    desk.ask("pause_guard", duration="10m")
    said = alpha.before("Bash", command=deed)
    assert "permissionDecision" not in said
    (ref,) = desk.rescued()
    assert ref in said["additionalContext"]
    assert (git(desk.repo, "status", "--porcelain=v2"), (desk.repo / ".git/index").read_bytes()) == before
    assert "the guard is switched off" in alpha.err
    git(desk.repo, *deed.split()[1:])
    git(desk.repo, "restore", f"--source={ref}", "--", "src/b.py", "new file.txt")
    assert (desk.repo / "src/b.py").read_text() == "later\n"
    assert (desk.repo / "new file.txt").read_text() == "new\n"
    assert "theirs" in git(desk.repo, "show", f"{ref}^2:src/b.py"), "the index as it was is saved, too"
    assert ref in beta.tell("UserPromptSubmit", prompt="x")["additionalContext"], "whose work it was is told"
    (told,) = [
        event for event in desk.ask("path_history", path="src/b.py")["events"] if event["type"] == "work_rescued"
    ]
    assert (told["agent"], told["ref"]) == ("claude-code", ref)


def test_a_room_may_let_it_pass_with_everything_saved(desk: Desk) -> None:
    desk.ask("set_setting", name="tree_git", value="rescue")
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py", "theirs\n")
    assert "refs/clearway/rescue/" in alpha.before("Bash", command="git stash")["additionalContext"]
    assert "theirs" in git(desk.repo, "show", f"{desk.rescued()[0]}:src/b.py")
    assert "would take along" in alpha.asks("git commit -am x"), "a commit loses nothing, and is refused as ever"
    git(desk.repo, "commit", "-qm", "x", "--", "src/b.py")
    assert "additionalContext" not in alpha.before("Bash", command="git reset --hard")
    assert len(desk.rescued()) == 1, "there was nothing to save"


@one_engine
def test_what_cannot_be_saved_is_not_run_over(desk: Desk) -> None:
    desk.ask("set_setting", name="tree_git", value="rescue")
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py", "theirs\n")
    objects = desk.repo / ".git/refs/clearway"
    objects.write_text("in the way")
    assert "src/b.py" in alpha.asks("git stash")
    desk.ask("pause_guard")
    assert alpha.asks("git stash") == ""
    assert not [name for name in os.listdir(desk.repo / ".git") if name.startswith("clearway-rescue")]


@one_engine
def test_the_stash_is_saved_with_the_rest(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py", "stashed\n")
    git(desk.repo, "stash")
    desk.ask("pause_guard")
    assert alpha.asks("git stash clear") == ""
    git(desk.repo, "stash", "clear")
    (ref,) = desk.rescued()
    assert "stashed" in git(desk.repo, "show", f"{ref}^2:src/b.py")


def test_those_who_write_one_index_take_turns(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """C25."""
    monkeypatch.setattr("clearway.surfaces.moments.treewide.GIT_TURN_WAIT_MS", 0)
    alpha, beta = desk.session("a"), desk.session("b")
    alpha.edits("src/a.py")
    beta.edits("src/b.py")
    command = "git add src/a.py && git commit -m x -- src/a.py"
    assert "permissionDecision" not in alpha.before("Bash", command=command)
    refusal = beta.asks("git commit -m y -- src/b.py")
    assert "run this again in a few seconds" in refusal
    assert beta.asks("git status && git log") == "", "who only reads needs no turn"
    alpha.after("Bash", command=command)
    assert beta.asks("git commit -m y -- src/b.py") == ""
    assert desk.rows("SELECT id FROM path_lease WHERE checkout = '@'") == []


@one_engine
def test_many_who_commit_at_once_all_commit(desk: Desk) -> None:
    """C25: four agents add and commit in one checkout at once."""
    failed: list[bytes] = []
    sessions = [desk.session(name) for name in "abcd"]

    def work(alpha: Session) -> None:
        file = f"{alpha.name}.txt"
        for count in range(3):
            alpha.edits(file, f"{count}\n")
            command = f"git add {file} && git commit -qm {alpha.name}{count} -- {file}"
            while alpha.before("Bash", command=command).get("permissionDecision") == "deny":
                pass  # it has waited, and comes again
            ended = subprocess.run(command, shell=True, cwd=desk.repo, env=desk.environ | WHO, capture_output=True)
            failed.extend([ended.stderr] if ended.returncode else [])
            alpha.after("Bash", command=command)

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert git(desk.repo, "rev-list", "--count", "HEAD").strip() == "13"


@one_engine
def test_a_call_that_waits_gets_its_turn(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    assert "permissionDecision" not in alpha.before("Bash", command="git commit -m x")
    number = alpha.calls
    monkeypatch.setattr(
        "clearway.clock.Clock.pause", lambda self, ms: alpha.after("Bash", number=number, command="git commit -m x")
    )
    assert beta.asks("git commit -m y") == ""


@one_engine
def test_a_long_call_does_not_keep_the_index_from_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.surfaces.moments.treewide.GIT_TURN_WAIT_MS", 0)
    alpha, beta = desk.session("a"), desk.session("b")
    assert "permissionDecision" not in alpha.before("Bash", command="git commit -m x && npm test")
    assert "few seconds" in beta.asks("git commit -m y")
    monkeypatch.setattr("clearway.guard.gitguard.GIT_TURN_MS", 0)
    assert beta.asks("git commit -m y") == ""


@one_engine
def test_whoever_is_alone_takes_no_turn(desk: Desk) -> None:
    alpha = desk.session("a")
    assert "permissionDecision" not in alpha.before("Bash", command="git commit -m x")
    assert desk.rows("SELECT id FROM path_lease WHERE checkout = '@'") == []


@one_engine
def test_a_lock_of_the_index_that_nobody_has_is_told(desk: Desk) -> None:
    """C25: reported with evidence that its owner is dead, removed by nobody."""
    alpha, _ = desk.session("a"), desk.session("b")
    lock = desk.repo / ".git/index.lock"
    lock.write_text("")
    assert "additionalContext" not in alpha.before("Bash", command="git add src/a.py"), "it may be at work yet"
    alpha.after("Bash", command="git add src/a.py")
    os.utime(lock, (1_700_000_000, 1_700_000_000))
    assert "index.lock" in alpha.before("Bash", command="git add src/a.py")["additionalContext"]
    assert lock.exists()


@one_engine
def test_asking_git_makes_no_lock(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """C25: our processes never create index.lock."""
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    beta.ends_turn()
    (desk.repo / ".git/index.lock").write_text("")  # git would refuse whatever needs it
    index = (desk.repo / ".git/index").read_bytes()
    assert "src/b.py" in alpha.asks("git reset --hard")
    assert (desk.repo / ".git/index").read_bytes() == index


@one_engine
def test_an_alias_is_what_it_stands_for(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    git(desk.repo, "config", "alias.nuke", "reset --hard")
    git(desk.repo, "config", "alias.deep", "!cd src && git clean -fd")
    git(desk.repo, "config", "alias.again", "nuke")
    git(desk.repo, "config", "alias.see", "log --oneline")
    git(desk.repo, "config", "alias.loop", "loop")
    git(desk.repo, "config", "alias.keep", "stash push --")
    for name in ("nuke", "deep", "again"):
        assert "claude-code" in alpha.asks(f"git {name}"), name
    for words in ("see", "loop", "unknown", "keep src/a.py"):
        assert alpha.asks(f"git {words}") == "", words
    assert "src/b.py" in alpha.asks("git keep src/b.py")


@one_engine
def test_when_git_does_not_answer_what_was_left_counts_as_dirty(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    beta.ends_turn()
    monkeypatch.setattr("clearway.guard.gitguard.ask", lambda *_: None)
    assert "src/b.py" in alpha.asks("git stash")
    assert alpha.asks("git add -A") == "", "nothing is lost by it"


def test_a_refusal_is_told_to_the_log(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    beta.edits("src/b.py")
    assert alpha.asks("git stash")
    (row,) = desk.rows("SELECT data FROM event WHERE type = 'refused'")
    assert "git stash would change" in json.loads(row.data)["message"]


def test_a_line_of_git_that_only_looks_needs_no_parser() -> None:
    for command in ("git status", "git -C x log | head", "git diff && git show", "cat .gitignore", "cd ~/git/x && ls"):
        assert git_is_harmless(command) or command.startswith("cd"), command
    for command in [
        *TREE_WIDE,
        "git co .",
        "git branch -Df x",
        "'git' stash",
        "g\\it stash",
        "x|git stash",
        "git add -A",
    ]:
        assert not git_is_harmless(command), command
    for command in [*TREE_WIDE, *SPELLINGS]:
        assert not cannot_write(command), command


def test_words_of_git_are_read_as_git_reads_them(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told: Callable[..., Any] = lambda *words: gitdeeds.deed(words[0], list(words[1:]), str(tmp_path))  # noqa: E731
    assert told("checkout", "file").paths == ["file"]
    assert told("checkout", "branch").head
    assert told("checkout", "branch", "file").paths == ["file"]
    assert told("reset", "--har").files, "the beginning of an option is the option"
    assert told("commit", "-am", "-x").changed
    assert not told("commit", "-m", "-a").changed, "this is a message"
    assert told("commit", "-m", "x", "file").paths == ["file"]
    assert told("stash").paths is None
    assert told("stash", "--", "file").paths == ["file"]
    assert told("stash", "pop", "stash@{2}").stash == "2"
    assert told("clean", "-fdn") is None
    assert told("checkout", None).files


def claim_an_issue(desk: Desk, session: str) -> None:
    """The session works on an issue, as its MCP tools would say."""
    desk.ask("create_issue", title="Work", status="ready")
    host = Rooms(Settings(desk.environ)).liveness.host
    desk.ask("claim_issue", Caller("claude-code", session, cwd=str(desk.repo), host=host), next=True)

"""At the commit: who may commit what, what is written down about it, and what a push finds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git

from clearway import alive, catalog, repository
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.crew import agents
from clearway.db import Statement
from clearway.rooms import Rooms
from clearway.surfaces import callers, githooks, hooks
from clearway.trail import Trail

WALL = 1_780_000_000_000


class Yard:
    """One repository, its room on one engine, a clock that is moved by hand, and those who commit here."""

    def __init__(self, tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, dsn: str | None) -> None:
        monkeypatch.setattr(alive, "ancestors", lambda pid=None: [])
        for name in [name for name in os.environ if name.startswith(("GIT_", "CLEARWAY_"))]:
            monkeypatch.delenv(name)
        self.repo = repo
        self.clock = tmp_path / "clock"
        self.now = 1_000_000
        self.forward(minutes=0)
        self.patch = monkeypatch
        self.environ = {
            "HOME": str(tmp_path),
            "CLEARWAY_HOME": str(tmp_path / "state"),
            "PATH": os.environ["PATH"],
            "CLEARWAY_TEST_CLOCK": str(self.clock),
            "GIT_CONFIG_NOSYSTEM": "1",
            "TZ": "UTC",
        }
        place = repository.holding(str(repo))
        assert place is not None
        rooms = Rooms(Settings(self.environ))
        if dsn is not None:
            rooms.share(place, Clock().new_id(), dsn)
        rooms.of_repository(place)
        rooms.close()
        for remote in ("origin", "backup"):  # the first commit bears this machine's time, not the room's
            git(repo, "update-ref", f"refs/remotes/{remote}/base", "HEAD")
        self.human = Committer(self, "", "")

    def forward(self, *, minutes: float) -> None:
        self.now += int(minutes * 60_000)
        self.clock.write_text(f"{self.now} {WALL}")

    def agent(self, name: str, session: str = "") -> Committer:
        return Committer(self, name, session or f"{name}-1")

    def write(self, path: str, text: str) -> None:
        (self.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (self.repo / path).write_text(text)

    def stage(self, *paths: str, text: str = "changed\n") -> None:
        for path in paths:
            self.write(path, text + path)
        git(self.repo, "add", "--", *paths)

    def events(self, *types: str) -> list[Any]:
        text = "SELECT id, type, issue, attempt, session, agent, data FROM event ORDER BY id"
        return [row for row in self.rows(text) if row.type in types]

    def rows(self, text: str) -> list[Any]:
        rooms = Rooms(Settings(self.environ))
        session = rooms.of_repository(repository.holding(str(self.repo))).engine.begin(writes=False)
        try:
            return list(session.rows(Statement("rows", text, text), {}))
        finally:
            session.rollback()
            rooms.close()


class Committer:
    """One session of an agent, or with no name the human."""

    def __init__(self, yard: Yard, name: str, session: str) -> None:
        self.yard = yard
        self.name = name
        self.session = session
        self.more: dict[str, str] = {}

    @property
    def environ(self) -> dict[str, str]:
        mine = {"CLEARWAY_AGENT": self.name, "CLEARWAY_SESSION": self.session} if self.name else {}
        return self.yard.environ | mine | self.more

    def hook(self, name: str, *words: str, given: bytes = b"", folder: Path | None = None) -> tuple[str, int]:
        with self.yard.patch.context() as patch:
            patch.chdir(folder or self.yard.repo)
            return githooks.run(name, list(words), self.environ, given)

    def passes(self, name: str = "pre-commit", *words: str, **more: Any) -> None:
        assert self.hook(name, *words, **more) == ("", 0)

    def refused(self, name: str = "pre-commit", *words: str, **more: Any) -> str:
        said, code = self.hook(name, *words, **more)
        assert code == 1, said
        assert "\n" not in said
        assert len(said.encode()) <= 240, len(said)
        return said

    def commits(self, message: str = "work", *words: str) -> str:
        """A commit as git makes it when nobody stops it; its id."""
        git(self.yard.repo, "commit", "-q", "-m", message, *words)
        return git(self.yard.repo, "rev-parse", "HEAD").strip()

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        rooms = Rooms(Settings(self.environ))
        try:
            caller = callers.of_command(rooms.settings, "", str(self.yard.repo), rooms.liveness)
            return rooms.ask(catalog.OPERATIONS[operation], arguments, caller)
        finally:
            rooms.close()

    def claims(self, *paths: str) -> None:
        self.ask("claim_paths", paths=list(paths))

    def releases(self, *paths: str) -> None:
        self.ask("release_paths", **({"paths": list(paths)} if paths else {}))

    def works(self) -> dict[str, Any]:
        """Claim an issue made for it."""
        made = self.ask("create_issue", title="Work", status="ready")
        return self.ask("claim_issue", issue_id=made["display_id"], context=False)

    def ends(self) -> None:
        rooms = Rooms(Settings(self.environ))
        caller = Caller(self.name, self.session, cwd=str(self.yard.repo), host=rooms.liveness.host)
        rooms.of_folder(str(self.yard.repo)).run(lambda tx: agents.leave(tx, "exit"), caller=caller)
        rooms.close()


@pytest.fixture(params=["sqlite", "postgres"])
def yard(request: pytest.FixtureRequest, tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else None
    return Yard(tmp_path, repo, monkeypatch, dsn)


@pytest.fixture
def alpha(yard: Yard) -> Committer:
    return yard.agent("alpha")


@pytest.fixture
def beta(yard: Yard) -> Committer:
    return yard.agent("beta")


# --- before a commit ----------------------------------------------------------------------------------------------


def test_what_another_holds_is_not_committed(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.ask("claim_paths", paths=["src/b.py"], purpose="new parser")
    yard.stage("src/a.py", "src/b.py")
    said = alpha.refused()
    assert said.startswith('PATH_HELD: src/b.py is held by beta for "new parser" until ')
    beta.passes()
    assert len(yard.events("refused")) == 1, "the log has an answer to why it was blocked"


def test_one_commits_what_one_holds_and_what_nobody_ever_had(yard: Yard, alpha: Committer) -> None:
    alpha.claims("src/a.py")
    yard.stage("src/a.py", "src/b.py", "new.txt")
    alpha.passes()


def test_one_commits_what_one_was_the_last_to_hold(yard: Yard, alpha: Committer, beta: Committer) -> None:
    """Semantics 5: a session may commit what it holds or was the last to hold here."""
    beta.claims("src/a.py")
    beta.releases()
    alpha.claims("src/a.py")
    alpha.releases()
    yard.stage("src/a.py")
    alpha.passes()
    assert alpha.hook("pre-commit") == ("", 0)
    said = beta.refused()
    assert said.startswith("LEASE_EXPIRED: src/a.py was taken by alpha after you had it")


def test_work_of_one_who_is_still_here_is_not_swept_up(yard: Yard, alpha: Committer, beta: Committer) -> None:
    """`git add -A` takes along what another session changed and has not committed."""
    beta.claims("src/b.py")
    beta.releases()
    yard.stage("src/a.py", "src/b.py")
    said = alpha.refused()
    assert said.startswith("NOT_YOURS: src/b.py was last held by beta, who is still here.")
    alpha.claims("src/b.py")
    alpha.passes()


def test_what_one_left_who_is_gone_is_committed_with_a_word(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    beta.ends()
    yard.stage("src/b.py")
    said, code = alpha.hook("pre-commit")
    assert code == 0
    assert "src/b.py was last held by beta, whose session is over" in said


def test_a_stale_fence_is_refused_though_its_successor_is_gone(yard: Yard, alpha: Committer, beta: Committer) -> None:
    """C05: a lease that lapsed proves nothing any more."""
    alpha.claims("src/a.py")
    yard.forward(minutes=31)
    beta.claims("src/a.py")
    beta.ends()
    yard.stage("src/a.py")
    assert alpha.refused().startswith("LEASE_EXPIRED")


def test_a_lapsed_lease_of_another_is_no_obstacle_by_itself(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    yard.forward(minutes=31)
    said, code = alpha.hook("pre-commit")
    assert (code, "src/b.py was last held by beta" in said) == (0, True)


def test_committed_work_is_nobodys(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    beta.commits()
    beta.passes("post-commit")
    beta.releases()
    yard.stage("src/b.py", text="generated\n")
    alpha.passes()


def test_a_holder_who_went_on_after_its_commit_still_has_it(yard: Yard, alpha: Committer, beta: Committer) -> None:
    """An edit under a lease that one has already writes nothing into the room: the trail tells of it."""
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    beta.commits()
    beta.passes("post-commit")
    yard.forward(minutes=1)
    Trail(yard.environ["CLEARWAY_HOME"]).changed("beta-1", yard.now + WALL, [str(yard.repo / "src/b.py")])
    beta.releases()
    yard.stage("src/b.py", text="more\n")
    assert alpha.refused().startswith("NOT_YOURS")


def test_a_folder_that_is_held_holds_what_is_below(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src")
    yard.stage("src/a.py", "src/deep/new.py")
    assert "src/a.py and 1 more is held by beta" in alpha.refused()
    beta.passes()


def test_both_names_of_a_rename_count(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    for words in (("src/b.py", "src/c.py"), ("free.txt", "src/b.py")):
        git(yard.repo, "mv", "-f", *words)
        assert "src/b.py is held by beta" in alpha.refused()
        git(yard.repo, "reset", "-q", "--hard")


def test_a_deletion_counts(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    git(yard.repo, "rm", "-q", "src/b.py")
    assert "src/b.py is held by beta" in alpha.refused()


def test_a_run_by_another_is_no_obstacle(yard: Yard, alpha: Committer, beta: Committer) -> None:
    """A commit changes no file."""
    beta.ask("claim_paths", paths=["run.py"], mode="run")
    yard.stage("run.py")
    alpha.passes()


def test_the_same_path_in_another_worktree_is_no_obstacle(
    yard: Yard, alpha: Committer, beta: Committer, tmp_path: Path
) -> None:
    """C28: each in its own tree."""
    git(yard.repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    beta.claims("src/a.py")
    (tmp_path / "tree" / "src" / "a.py").write_text("mine\n")
    git(tmp_path / "tree", "add", "-A")
    alpha.passes(folder=tmp_path / "tree")


def test_two_sessions_of_one_client_are_two(yard: Yard) -> None:
    """C11."""
    one, other = yard.agent("claude-code", "s1"), yard.agent("claude-code", "s2")
    one.claims("src/a.py")
    yard.stage("src/a.py")
    assert "held by claude-code" in other.refused()
    one.passes()


def test_what_a_named_holder_has_is_open_to_its_sessions(yard: Yard, alpha: Committer) -> None:
    named = Committer(yard, "alpha", "")
    named.claims("src/a.py")
    yard.stage("src/a.py")
    alpha.passes()


def test_a_first_commit_is_looked_at(yard: Yard, alpha: Committer, beta: Committer) -> None:
    git(yard.repo, "checkout", "-q", "--orphan", "new")
    beta.claims("src/b.py")
    assert "src/b.py is held by beta" in alpha.refused()


def test_a_merge_brings_what_the_other_side_has(yard: Yard, alpha: Committer, beta: Committer) -> None:
    """What was committed there is no change of the one who merges; what fits neither side is."""
    git(yard.repo, "checkout", "-q", "-b", "topic")
    yard.stage("src/b.py", "src/a.py", text="topic\n")
    alpha.commits()
    git(yard.repo, "checkout", "-q", "main")
    yard.stage("src/a.py", text="main\n")
    alpha.commits()
    beta.claims("src/b.py")
    with pytest.raises(Exception):  # noqa: B017 (git stops at the conflict)
        git(yard.repo, "merge", "-q", "topic")
    yard.stage("src/a.py", text="both\n")
    alpha.passes()
    yard.stage("src/b.py", text="neither\n")
    assert "src/b.py is held by beta" in alpha.refused()


def test_names_of_any_kind_are_understood(yard: Yard, alpha: Committer, beta: Committer) -> None:
    odd = ["a b.txt", 'ü\n"x".txt', "-n", "@gpu", "tab\there"]
    for name in odd:
        beta.claims(f"./{name}")
        yard.stage(name)
        assert "is held by beta" in alpha.refused(), name
        git(yard.repo, "reset", "-q")


def test_a_refusal_is_one_short_line_whatever_it_names(yard: Yard) -> None:
    long = "b" * 60
    beta, alpha = yard.agent(long), yard.agent("alpha")
    path = "deep/" * 30 + "ü" * 40 + ".py"
    beta.ask("claim_paths", paths=[path], purpose='"\nPATH_HELD: forged ' + "x" * 80)
    yard.stage(path)
    assert "is held by bbb" in alpha.refused()
    beta.releases()
    alpha.refused()
    alpha.claims(path)
    alpha.releases()
    assert alpha.hook("pre-commit") == ("", 0)
    assert beta.refused().startswith("LEASE_EXPIRED")


def test_a_session_that_goes_on_under_another_id_keeps_what_it_had(yard: Yard, alpha: Committer) -> None:
    """Semantics 2: clear, resume and compact inherit."""
    alpha.more = {"CLEARWAY_PID": str(os.getpid())}
    alpha.claims("src/a.py")
    beta = yard.agent("beta")
    start = '{{"event": "SessionStart", "session": "{}", "agent": "alpha", "cwd": "{}", "source": "clear"}}'
    later = yard.agent("alpha", "alpha-2")
    later.more = alpha.more
    hooks.answer("generic", start.format("alpha-2", yard.repo).encode(), later.environ | {"CLEARWAY_SESSION": ""})
    yard.stage("src/a.py")
    later.passes()
    later.releases()
    later.passes()
    assert beta.refused().startswith("NOT_YOURS: src/a.py was last held by alpha")


def test_many_paths_are_looked_at_at_once(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("many/9.txt")
    for number in range(3_000):
        yard.write(f"many/{number}.txt", "x")
    git(yard.repo, "add", "-A")
    assert "many/9.txt is held by beta" in alpha.refused()


# --- people, switches, failures -----------------------------------------------------------------------------------


def test_a_person_is_warned_and_let_pass(yard: Yard, beta: Committer) -> None:
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    said, code = yard.human.hook("pre-commit")
    assert code == 0
    assert said.startswith("clearway: src/b.py is held by beta until ")
    assert said.endswith("; this is committed all the same")
    yard.human.ask("set_setting", name="commit_human", value="refuse")
    assert yard.human.refused().startswith("PATH_HELD: src/b.py is held by beta")


def test_a_paused_guard_lets_commits_pass(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    yard.human.ask("pause_guard")
    alpha.passes()
    yard.human.ask("resume_guard")
    alpha.refused()
    alpha.more = {"CLEARWAY_OFF": "1"}
    alpha.passes()


def test_a_repository_without_a_room_is_left_alone(yard: Yard, alpha: Committer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "x").write_text("x")
    git(other, "add", "x")
    before = sorted(os.listdir(Path(yard.environ["CLEARWAY_HOME"]) / "rooms"))
    alpha.passes(folder=other)
    assert sorted(os.listdir(Path(yard.environ["CLEARWAY_HOME"]) / "rooms")) == before


def test_what_cannot_be_looked_at_follows_the_fail_mode(
    yard: Yard, alpha: Committer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C20: each pass-through is one line, and counted."""
    yard.stage("src/a.py")

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(githooks.fences, "check", broken)
    said, code = alpha.hook("pre-commit")
    assert (code, said) == (0, "clearway: guard open (INTERNAL: RuntimeError: broken)")
    assert "INTERNAL" in (Path(yard.environ["CLEARWAY_HOME"]) / "run" / "guard-open").read_text()
    yard.human.ask("set_setting", name="fail", value="closed")
    assert alpha.hook("pre-commit")[1] == 1
    yard.human.ask("set_setting", name="fail")
    alpha.more = {"CLEARWAY_FAIL_CLOSED": "1"}
    assert alpha.hook("pre-commit")[1] == 1
    assert alpha.hook("no-such-hook")[1] == 0, "only what can be stopped is"


# --- the message --------------------------------------------------------------------------------------------------


def message(yard: Yard, text: str) -> Path:
    file = yard.repo / ".git" / "COMMIT_EDITMSG"
    file.write_text(text)
    return file


def test_the_message_names_the_attempt(yard: Yard, alpha: Committer) -> None:
    claimed = alpha.works()
    alpha.more = {"GIT_EDITOR": ":"}
    file = message(yard, "Fix the parser\n\nIt was wrong.\n#12 is part of it\n")
    line = f"Clearway-Attempt: ISSUE-1 #{claimed['fence']}"
    alpha.passes("commit-msg", str(file))
    assert file.read_text() == f"Fix the parser\n\nIt was wrong.\n#12 is part of it\n\n{line}\n"
    alpha.passes("commit-msg", str(file))
    assert file.read_text().count(line) == 1, "not twice when it is amended"


def test_the_line_stands_with_the_others_of_its_kind(yard: Yard, alpha: Committer) -> None:
    claimed = alpha.works()
    alpha.more = {"GIT_EDITOR": ":"}
    file = message(yard, "Fix\n\nSigned-off-by: A <a@example.com>\n")
    alpha.passes("commit-msg", str(file))
    line = f"Clearway-Attempt: ISSUE-1 #{claimed['fence']}"
    assert file.read_text() == f"Fix\n\nSigned-off-by: A <a@example.com>\n{line}\n"


def test_no_attempt_no_line(yard: Yard, alpha: Committer) -> None:
    yard.human.ask("create_issue", title="Work", status="ready")
    file = message(yard, "Fix\n")
    alpha.passes("commit-msg", str(file))
    yard.human.passes("commit-msg", str(file))
    claimed = alpha.works()
    yard.human.passes("commit-msg", str(file))
    alpha.ask("release_attempt", attempt_id=claimed["attempt_id"])
    alpha.passes("commit-msg", str(file))
    assert file.read_text() == "Fix\n"


SCISSORS = "{0} ------------------------ >8 ------------------------\n{0} Do not touch the line above.\n"


def test_what_git_takes_out_stays_below_the_line(yard: Yard, alpha: Committer) -> None:
    """commit.verbose, scissors, and whatever begins a comment."""
    alpha.works()
    for setting, sign in (("#", "#"), (";", ";"), ("auto", "%")):
        git(yard.repo, "config", "core.commentChar", setting)
        below = f"{sign} Please enter the message\n" + SCISSORS.format(sign) + "diff --git a/x b/x\n-#old\n+Clearway\n"
        file = message(yard, f"Fix\n\nWhy.\n\n{below}")
        alpha.passes("commit-msg", str(file))
        above, _, rest = file.read_text().partition(f"{sign} Please")
        assert above.rstrip("\n").splitlines()[-1].startswith("Clearway-Attempt: ISSUE-1 #")
        assert f"{sign} Please{rest}" == below


def test_a_sign_that_git_chose_itself_is_seen_without_scissors(yard: Yard, alpha: Committer) -> None:
    alpha.works()
    git(yard.repo, "config", "core.commentChar", "auto")
    file = message(yard, "Fix\n\n#12 is part of it\n\n; Please enter the message\n;\n")
    alpha.passes("commit-msg", str(file))
    assert file.read_text().endswith("\n\n; Please enter the message\n;\n")
    assert "#12 is part of it\n\nClearway-Attempt: ISSUE-1 #" in file.read_text()


def test_an_empty_message_stays_empty(yard: Yard, alpha: Committer) -> None:
    """Git gives up on it, as the person meant."""
    alpha.works()
    for text in ("", "\n\n", "# nothing\n# but comments\n", "\nSigned-off-by: A <a@b>\n# x\n"):
        file = message(yard, text)
        alpha.passes("commit-msg", str(file))
        assert file.read_text() == text


# --- after a commit -----------------------------------------------------------------------------------------------


def commits_of(yard: Yard) -> list[tuple[str, str]]:
    rows = yard.rows("SELECT uri, title FROM artifact WHERE type = 'commit' ORDER BY id")
    return [(row.uri, row.title) for row in rows]


def test_a_commit_is_a_result_of_the_attempt(yard: Yard, alpha: Committer) -> None:
    alpha.works()
    yard.stage("src/a.py")
    made = alpha.commits("Fix the parser")
    alpha.passes("post-commit")
    alpha.passes("post-commit")
    assert commits_of(yard) == [(made, "Fix the parser")]
    assert [row.agent for row in yard.events("commit_made")] == ["alpha"]


def test_an_amended_commit_takes_the_place_of_the_first(yard: Yard, alpha: Committer) -> None:
    alpha.works()
    yard.stage("src/a.py")
    alpha.commits("Fix")
    alpha.passes("post-commit")
    made = alpha.commits("Fix it well", "--amend")
    alpha.passes("post-commit")
    assert commits_of(yard) == [(made, "Fix it well")]


def test_only_what_was_amended_is_looked_at(yard: Yard, alpha: Committer, beta: Committer) -> None:
    yard.stage("src/a.py")
    alpha.commits()
    alpha.passes("post-commit")
    beta.claims("src/a.py")
    alpha.commits("another message", "--amend")
    alpha.passes("post-commit")


def test_a_commit_without_an_attempt_is_no_result(yard: Yard, alpha: Committer) -> None:
    yard.stage("src/a.py")
    alpha.commits()
    alpha.passes("post-commit")
    yard.human.passes("post-commit")
    assert commits_of(yard) == []


def test_a_commit_past_the_check_is_noticed_and_its_holder_told(yard: Yard, alpha: Committer, beta: Committer) -> None:
    """--no-verify skips the check, and not this."""
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    made = alpha.commits()
    said, code = alpha.hook("post-commit")
    assert code == 0
    assert "src/b.py is held by beta" in said
    assert "a push is refused" in said
    (event,) = yard.events("commit_over_lease")
    assert event.agent == "alpha"
    assert made in event.data
    payload = f'{{"hook_event_name":"UserPromptSubmit","session_id":"beta-1","cwd":"{yard.repo}"}}'
    out, _, _ = hooks.answer("claude", payload.encode(), beta.environ)
    assert "alpha committed src/b.py, which you had, at " in out
    assert made[:10] in out


# --- before a push ------------------------------------------------------------------------------------------------


def pushes(who: Committer, *words: str) -> tuple[str, int]:
    made = git(who.yard.repo, "rev-parse", "HEAD").strip()
    given = f"refs/heads/main {made} refs/heads/main {'0' * 40}\n".encode()
    return who.hook("pre-push", *(words or ("origin", "somewhere")), given=given)


def commit_now(yard: Yard) -> str:
    """A commit that bears the room's time."""
    environ = {"GIT_COMMITTER_DATE": f"@{(yard.now + WALL) // 1_000 + 1} +0000"}
    words = ["git", "-C", str(yard.repo), "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "w"]
    subprocess.run(words, env={**yard.environ, **environ}, check=True)
    return git(yard.repo, "rev-parse", "HEAD").strip()


def test_a_push_finds_what_was_committed_past_the_check(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    made = commit_now(yard)
    alpha.hook("post-commit")
    said, code = pushes(alpha)
    assert code == 1
    assert said.startswith(f"PATH_HELD: {made[:10]}, committed without the check, has src/b.py, which is held by beta")
    assert len(said.encode()) <= 240
    beta.releases()
    beta.ends()
    assert pushes(alpha)[1] == 0


def test_a_push_repeats_the_check_where_no_hook_ran_at_the_commit(
    yard: Yard, alpha: Committer, beta: Committer
) -> None:
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    commit_now(yard)
    assert pushes(alpha)[1] == 1
    said, code = pushes(yard.human)
    assert code == 0
    assert said.endswith("; this is pushed all the same")


def test_what_was_looked_at_is_pushed_whoever_holds_it_now(yard: Yard, alpha: Committer, beta: Committer) -> None:
    yard.stage("src/b.py")
    commit_now(yard)
    alpha.passes("post-commit")
    beta.claims("src/b.py")
    assert pushes(alpha) == ("", 0)


def test_a_holders_own_commit_is_pushed_by_anybody(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    commit_now(yard)
    beta.passes("post-commit")
    assert pushes(alpha) == ("", 0)


def test_history_from_before_a_lease_is_no_offence(yard: Yard, alpha: Committer, beta: Committer) -> None:
    """The first push to a new place takes years of commits along."""
    yard.stage("src/b.py")
    commit_now(yard)
    yard.forward(minutes=5)
    beta.claims("src/b.py")
    assert pushes(alpha, "backup", "somewhere") == ("", 0)


def test_what_the_other_side_has_already_is_not_asked_about(yard: Yard, alpha: Committer, beta: Committer) -> None:
    beta.claims("src/b.py")
    yard.stage("src/b.py")
    made = commit_now(yard)
    git(yard.repo, "update-ref", "refs/remotes/origin/main", made)
    assert pushes(alpha) == ("", 0)
    assert alpha.hook("pre-push", "origin", "x", given=f"(delete) {'0' * 40} refs/heads/x {made}\n".encode()) == ("", 0)
    assert alpha.hook("pre-push", "origin", "x") == ("", 0)

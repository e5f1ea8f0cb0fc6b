"""Our hooks in a repository: before what is there, for every worktree, and gone without a trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clearway import repository
from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.setup import doctor, githooks, repairing, uninstall
from clearway.setup.hookscripts import BESIDE, OURS

THEIRS = '#!/bin/sh\necho "theirs $*" >> "$HOME/ran"\ntest ! -e "$HOME/no" || exit 3\n'
# What pre-commit writes, as far as it matters: it finds its folder by $0, and says so in no other way.
PRE_COMMIT = '#!/bin/sh\nHERE="$(cd "$(dirname "$0")" && pwd)"\necho "pre-commit $HERE" >> "$HOME/ran"\n'
LEFTHOOK = '#!/bin/sh\ncall_lefthook() { echo "lefthook $*" >> "$HOME/ran"; }\ncall_lefthook run "pre-commit" "$@"\n'
# husky's runner goes by the name and the folder that it is called by.
HUSKY = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"'
HUSKY_RUNNER = (
    'n=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\n[ ! -f "$s" ] && exit 0\nsh -e "$s" "$@"\nc=$?\nexit $c\n'
)


class Shop:
    """A person's machine with a repository that has a room, and real git."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.home = tmp_path / "person"
        self.home.mkdir()
        self.environ = {
            "HOME": str(self.home),
            "CLEARWAY_HOME": str(tmp_path / "state"),
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self.settings = Settings(self.environ)
        rooms = Rooms(self.settings)
        rooms.adopt(self.place)
        rooms.of_repository(self.place)
        rooms.close()

    @property
    def place(self) -> repository.Repository:
        return self.at(self.repo)

    def at(self, folder: Path) -> repository.Repository:
        place = repository.holding(str(folder))
        assert place is not None
        return place

    def install(self) -> githooks.Done:
        return githooks.install(self.place, self.settings)

    def remove(self) -> githooks.Done:
        return githooks.remove(self.place)

    def clearway(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return self._run([sys.executable, "-m", "clearway.surfaces.cli", *words], self.repo, environ)

    def git(self, *words: str, folder: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        """As an agent unless another one is named: a person's environment may be an agent's here."""
        agent = {"CLEARWAY_AGENT": "alpha", "CLEARWAY_SESSION": "alpha-1"} | environ
        return self._run(["git", *words], folder or self.repo, agent)

    def commits(self, folder: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        (folder or self.repo).joinpath("free.txt").open("a").write("more\n")
        return self.git("commit", "-qam", "work", folder=folder, **environ)

    def holds(self, path: str, folder: Path | None = None) -> None:
        """A named holder has it."""
        rooms = Rooms(self.settings)
        caller = Caller("beta", cwd=str(folder or self.repo), host=rooms.liveness.host)
        rooms.ask(OPERATIONS["claim_paths"], {"paths": [path]}, caller)
        rooms.close()

    def hook(self, name: str, text: str, folder: str = ".git/hooks") -> Path:
        file = self.repo / folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
        return file

    def ran(self) -> list[str]:
        file = self.home / "ran"
        return file.read_text().splitlines() if file.exists() else []

    def seen(self) -> dict[str, tuple[bytes, int]]:
        """Hooks, settings and the tree, to the byte and the mode."""
        skipped = {"objects", "logs", "refs", "index", "COMMIT_EDITMSG", "HEAD", "clearway-checkout", "ORIG_HEAD"}
        return {
            str(file): (file.read_bytes(), file.stat().st_mode)
            for file in sorted(self.repo.rglob("*"))
            if file.is_file() and not (".git" in file.parts and skipped & set(file.parts))
        }

    def check(self) -> dict[str, str]:
        found = doctor.examine(self.settings, str(self.repo))
        return next(check for check in found if check["name"] == "git_hooks")

    def _run(self, words: list[str], folder: Path, more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        environ = self.environ | more
        return subprocess.run(words, env=environ, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture
def shop(tmp_path: Path, repo: Path) -> Shop:
    return Shop(tmp_path, repo)


def test_an_agent_is_stopped_and_named_by_real_git(shop: Shop) -> None:
    """Refused before the commit; named in its message; a result of its attempt."""
    agent = {"CLEARWAY_AGENT": "alpha", "CLEARWAY_SESSION": "alpha-1"}
    shop.clearway("issue", "create", "Work", "--status", "ready", **agent)
    assert shop.clearway("next", **agent).returncode == 0
    shop.install()
    shop.holds("free.txt")
    refused = shop.commits()
    assert refused.returncode == 1
    assert refused.stderr.startswith("PATH_HELD: free.txt is held by beta until ")
    (shop.repo / "src" / "a.py").write_text("mine\n")
    passed = shop.git("commit", "-qm", "own path", "--", "src/a.py")
    assert (passed.returncode, passed.stderr) == (0, ""), "a foreign change is not in its way"
    assert "Clearway-Attempt: ISSUE-1 #" in shop.git("log", "-1", "--format=%B").stdout
    activity = shop.clearway("--json", "call", "get_issue_activity", '{"issue_id": "ISSUE-1"}', **agent)
    assert "commit_made" in activity.stdout


def test_own_paths_pass_while_a_foreign_file_is_staged(shop: Shop) -> None:
    shop.install()
    shop.holds("free.txt")
    (shop.repo / "free.txt").write_text("theirs\n")
    (shop.repo / "src" / "a.py").write_text("mine\n")
    shop.git("add", "-A")
    assert shop.git("commit", "-qm", "all").returncode == 1
    assert shop.git("commit", "-qm", "mine", "--", "src/a.py").returncode == 0
    assert shop.git("show", "--name-only", "--format=", "HEAD").stdout.split() == ["src/a.py"]
    (shop.repo / "src" / "b.py").write_text("mine\n")
    assert shop.git("commit", "-qm", "from below", "--", "b.py", folder=shop.repo / "src").returncode == 0


def test_a_push_is_stopped_after_no_verify(shop: Shop, tmp_path: Path) -> None:
    shop.git("init", "-q", "--bare", str(tmp_path / "remote"))
    shop.git("remote", "add", "origin", str(tmp_path / "remote"))
    shop.install()
    assert shop.git("push", "-q", "origin", "HEAD").returncode == 0
    shop.holds("free.txt")
    shop.repo.joinpath("free.txt").write_text("theirs\n")
    past = shop.git("commit", "-qam", "work", "--no-verify")
    assert past.returncode == 0
    assert "free.txt is held by beta" in past.stderr
    pushed = shop.git("push", "-q", "origin", "HEAD")
    assert pushed.returncode == 1
    assert "committed without the check, has free.txt, which is held by beta" in pushed.stderr


def test_what_was_only_moved_is_not_asked_about_again(shop: Shop, tmp_path: Path) -> None:
    """A rebase makes new commits of old ones; what is committed on the way is looked at."""
    shop.git("init", "-q", "--bare", str(tmp_path / "remote"))
    shop.git("remote", "add", "origin", str(tmp_path / "remote"))
    shop.install()
    assert shop.git("push", "-q", "origin", "HEAD").returncode == 0
    shop.git("checkout", "-q", "-b", "topic")
    assert shop.commits().returncode == 0
    shop.git("checkout", "-q", "main")
    (shop.repo / "src" / "a.py").write_text("main\n")
    shop.git("commit", "-qam", "main")
    shop.git("checkout", "-q", "topic")
    shop.holds("free.txt")
    assert shop.git("rebase", "-q", "--exec", "true", "main").returncode == 0
    assert shop.git("push", "-q", "origin", "HEAD").returncode == 0
    shop.git("rebase", "-q", "-i", "HEAD~1", GIT_SEQUENCE_EDITOR="sed -i s/pick/edit/")
    assert "PATH_HELD" in shop.commits().stderr
    assert "free.txt is held by beta" in shop.git("commit", "-qa", "--amend", "--no-edit", "--no-verify").stderr
    shop.git("rebase", "--continue", GIT_EDITOR=":")
    assert "PATH_HELD" in shop.git("push", "-q", "-f", "origin", "HEAD").stderr


def test_a_merge_that_git_makes_is_looked_at(shop: Shop) -> None:
    shop.install()
    shop.git("checkout", "-q", "-b", "topic")
    (shop.repo / "src" / "b.py").write_text("topic\n")
    (shop.repo / "src" / "a.py").write_text("1\n2\n3\n4\n5\n6\n7\n8\n")
    shop.git("commit", "-qam", "topic")
    (shop.repo / "src" / "a.py").write_text("1\n2\n3\n4\n5\n6\n7\n8 topic\n")
    shop.git("commit", "-qam", "topic")
    shop.git("checkout", "-q", "-b", "other", "HEAD~1")
    (shop.repo / "src" / "a.py").write_text("1 other\n2\n3\n4\n5\n6\n7\n8\n")
    shop.git("commit", "-qam", "other")
    shop.holds("src/b.py")
    assert shop.git("merge", "-q", "--no-commit", "topic").returncode == 0
    assert shop.git("commit", "-qm", "merge").returncode == 0, "src/b.py is as the other side has it"
    shop.git("reset", "-q", "--hard", "HEAD~1")
    shop.holds("src/a.py")
    assert "PATH_HELD: src/a.py" in shop.git("merge", "-q", "-m", "merge", "topic").stderr


def test_git_from_anywhere_is_looked_at(shop: Shop, tmp_path: Path) -> None:
    shop.install()
    shop.holds("free.txt")
    (shop.repo / "free.txt").write_text("theirs\n")
    paths = {"GIT_DIR": str(shop.repo / ".git"), "GIT_WORK_TREE": str(shop.repo)}
    for words, environ in [(("-C", str(shop.repo)), {}), ((), paths)]:
        assert "PATH_HELD" in shop.git(*words, "commit", "-qam", "x", folder=tmp_path, **environ).stderr


# --- installed and removed ----------------------------------------------------------------------------------------


def plain(shop: Shop) -> None:
    """Nothing is there."""


def bare_of_hooks(shop: Shop) -> None:
    """Not even a folder."""
    for file in (shop.repo / ".git" / "hooks").glob("*"):
        file.unlink()
    (shop.repo / ".git" / "hooks").rmdir() if (shop.repo / ".git" / "hooks").exists() else None


def own_hooks(shop: Shop) -> None:
    for name in ("pre-commit", "commit-msg", "post-commit", "pre-push"):
        shop.hook(name, THEIRS)


def pre_commit(shop: Shop) -> None:
    shop.hook("pre-commit", PRE_COMMIT)


def lefthook(shop: Shop) -> None:
    shop.hook("pre-commit", LEFTHOOK)


def husky(shop: Shop) -> None:
    for name in ("pre-commit", "post-merge"):
        shop.hook(name, HUSKY, ".husky/_")
    shop.hook("h", HUSKY_RUNNER, ".husky/_")
    shop.hook("pre-commit", 'echo "husky" >> "$HOME/ran"\n', ".husky")
    (shop.repo / ".husky" / "_" / ".gitignore").write_text("*")
    shop.git("config", "core.hooksPath", ".husky/_")


def tracked_folder(shop: Shop) -> None:
    shop.hook("pre-commit", THEIRS, ".githooks")
    shop.git("add", ".githooks")
    shop.git("commit", "-qm", "hooks")
    (shop.repo / ".git" / "config").open("a").write("[core] # ours\n\thooksPath = .githooks ; for all\n[x]\n\ty = z")


def for_all_repositories(shop: Shop) -> None:
    folder = shop.home / "my hooks"
    folder.mkdir()
    (folder / "pre-commit").write_text(THEIRS)
    (folder / "pre-commit").chmod(0o755)
    (shop.home / ".gitconfig").write_text('[core]\n\thooksPath = "~/my hooks"\n')


def one_program_for_all(shop: Shop) -> None:
    """Hooks that are links, and go by the name they are called by."""
    program = shop.home / "dispatch"
    program.write_text('#!/bin/sh\necho "$(basename "$0")" >> "$HOME/ran"\n')
    program.chmod(0o755)
    (shop.repo / ".git" / "hooks").mkdir(exist_ok=True)
    (shop.repo / ".git" / "hooks" / "pre-commit").symlink_to(program)


SAID = {
    own_hooks: "theirs ",
    pre_commit: "pre-commit ",
    lefthook: "lefthook run pre-commit",
    husky: "husky",
    tracked_folder: "theirs ",
    for_all_repositories: "theirs ",
    one_program_for_all: "pre-commit",
}
ALL = [plain, bare_of_hooks, *SAID]


@pytest.mark.parametrize("found", ALL, ids=lambda found: found.__name__)
def test_ours_stand_before_what_is_there_and_go_without_a_trace(shop: Shop, found: Any) -> None:
    found(shop)
    before = shop.seen()
    tracked = shop.git("status", "--porcelain").stdout
    assert shop.install().changed
    assert shop.git("status", "--porcelain").stdout == tracked, "no tracked file is changed, and no new one is shown"
    installed = shop.seen()
    assert not shop.install().changed, "a second time changes nothing"
    assert shop.seen() == installed
    assert shop.check()["level"] == "ok"
    assert shop.commits().returncode == 0
    if found in SAID:
        assert shop.ran()[0].startswith(SAID[found])
    shop.holds("free.txt")
    assert "PATH_HELD" in shop.commits().stderr
    shop.git("checkout", "-q", "HEAD~1", "--", "free.txt")
    assert not shop.remove().kept
    assert {file: what for file, what in shop.seen().items() if "free.txt" not in file} == {
        file: what for file, what in before.items() if "free.txt" not in file
    }
    assert not (shop.repo / ".git" / githooks.FOLDER).exists()
    assert (shop.repo / ".git" / "hooks").exists() == any(".git/hooks" in file for file in before) or found is plain
    assert shop.remove() == githooks.Done()


@pytest.mark.parametrize("found", [own_hooks, tracked_folder])
def test_what_theirs_says_is_kept(shop: Shop, found: Any) -> None:
    found(shop)
    shop.install()
    (shop.home / "no").touch()
    assert shop.commits().returncode == 1
    (shop.home / "no").unlink()
    assert shop.commits().returncode == 0


def test_both_are_told_what_is_pushed(shop: Shop, tmp_path: Path) -> None:
    shop.hook("pre-push", '#!/bin/sh\ncat >> "$HOME/ran"\n')
    shop.install()
    shop.git("init", "-q", "--bare", str(tmp_path / "remote"))
    shop.holds("free.txt")
    shop.repo.joinpath("free.txt").write_text("theirs\n")
    shop.git("commit", "-qam", "work", "--no-verify")
    assert "PATH_HELD" in shop.git("push", "-q", str(tmp_path / "remote"), "HEAD:main").stderr
    (line,) = shop.ran()
    assert line.split()[2] == "refs/heads/main"


@pytest.mark.parametrize("found", [plain, husky, tracked_folder], ids=lambda found: found.__name__)
def test_every_worktree_is_looked_at(shop: Shop, found: Any, tmp_path: Path) -> None:
    """C26: linked worktrees share what is in the common directory."""
    found(shop)
    shop.install()
    tree = tmp_path / "tree"
    shop.git("worktree", "add", "-q", str(tree))
    assert shop.commits(tree).returncode == 0
    shop.holds("free.txt", tree)
    assert "PATH_HELD" in shop.commits(tree).stderr
    assert shop.commits().returncode == 0, "in another checkout it is no obstacle"
    assert githooks.recorded(shop.at(tree)) == githooks.recorded(shop.place)
    githooks.remove(shop.at(tree))
    assert shop.commits(tree).returncode == 0


def test_a_bare_repository_with_worktrees_and_a_submodule(shop: Shop, tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    layout.mkdir()
    shop.git("clone", "-q", "--bare", str(shop.repo), str(layout / ".bare"))
    (layout / ".git").write_text("gitdir: ./.bare\n")
    shop.git("worktree", "add", "-q", "main", folder=layout)
    shop.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(shop.repo), "sub", folder=shop.repo)
    for folder in (layout / "main", shop.repo / "sub"):
        githooks.install(shop.at(folder), shop.settings)
        shop.holds("free.txt", folder)
        assert "PATH_HELD" in shop.commits(folder).stderr
        githooks.remove(shop.at(folder))
        assert shop.commits(folder).returncode == 0


def test_a_worktree_with_a_path_of_its_own_is_taken_where_that_is_said(shop: Shop, tmp_path: Path) -> None:
    """`extensions.worktreeConfig`: the worktree's own settings come before the repository's."""
    tree = tmp_path / "tree"
    shop.git("worktree", "add", "-q", str(tree))
    shop.git("config", "extensions.worktreeConfig", "true")
    shop.git("config", "--worktree", "core.hooksPath", "nowhere", folder=tree)
    own = shop.repo / ".git" / "worktrees" / "tree" / "config.worktree"
    before = own.read_bytes()
    githooks.install(shop.at(tree), shop.settings)
    assert own.read_bytes() != before
    githooks.remove(shop.at(tree))
    assert own.read_bytes() == before


# --- somebody changes things after us -----------------------------------------------------------------------------


def test_a_hook_that_somebody_changed_is_kept_and_said(shop: Shop) -> None:
    own_hooks(shop)
    shop.install()
    file = shop.repo / ".git" / "hooks" / "pre-commit"
    file.write_text(file.read_text() + "echo mine\n")
    assert shop.check()["level"] == "problem"
    assert "pre-commit was changed by somebody" in shop.check()["message"]
    assert any("left as it is" in said for said in shop.install().kept)
    done = shop.remove()
    assert any("changed by somebody after us" in said for said in done.kept)
    assert "echo mine" in file.read_text()
    assert (shop.repo / ".git" / "hooks" / f"pre-commit{BESIDE}").read_text() == THEIRS
    assert (shop.repo / ".git" / "hooks" / "pre-push").read_text() == THEIRS


def test_pre_commit_installed_after_us_runs_ours(shop: Shop) -> None:
    """It keeps a hook that it finds as `.legacy`, and runs it."""
    pre_commit(shop)
    shop.install()
    hooks = shop.repo / ".git" / "hooks"
    (hooks / "pre-commit").rename(hooks / "pre-commit.legacy")
    legacy = '#!/bin/sh\nPRE_COMMIT_RUNNING_LEGACY=1 "$(dirname "$0")/pre-commit.legacy" "$@" || exit 1\n'
    shop.hook("pre-commit", legacy + PRE_COMMIT.removeprefix("#!/bin/sh\n"))
    assert shop.check()["level"] == "ok"
    assert not shop.install().changed
    assert shop.commits().returncode == 0
    assert len(shop.ran()) == 1, "pre-commit is not run by us as well"
    shop.holds("free.txt")
    assert "PATH_HELD" in shop.commits().stderr
    shop.remove()
    assert (hooks / "pre-commit.legacy").read_text() == PRE_COMMIT
    assert legacy in (hooks / "pre-commit").read_text()


def test_lefthook_installed_over_ours_is_put_behind_them_again(shop: Shop) -> None:
    """It keeps a hook that it finds as `.old`, and does not run it."""
    shop.install()
    hooks = shop.repo / ".git" / "hooks"
    (hooks / "pre-commit").rename(hooks / "pre-commit.old")
    shop.hook("pre-commit", LEFTHOOK)
    assert shop.check()["level"] == "problem"
    repairing.repair(shop.settings, str(shop.repo))
    assert shop.check()["level"] == "ok"
    shop.commits()
    assert shop.ran() == ["lefthook run pre-commit"]
    shop.remove()
    assert (hooks / "pre-commit").read_text() == LEFTHOOK


def test_husky_installed_after_us_is_noticed_and_mended(shop: Shop) -> None:
    """`npm install` sets the path of hooks anew."""
    husky(shop)
    shop.install()
    assert shop.git("config", "core.hooksPath", ".husky/_").returncode == 0
    before = (shop.repo / ".git" / "config").read_bytes()
    assert "core.hooksPath is .husky/_ now" in shop.check()["message"]
    repairing.repair(shop.settings, str(shop.repo))
    assert shop.check()["level"] == "ok"
    shop.git("config", "core.hooksPath", ".husky/_")
    assert any("changed by somebody" in said for said in shop.remove().kept)
    assert (shop.repo / ".git" / "config").read_bytes() == before


def test_settings_that_others_write_meanwhile_stay(shop: Shop) -> None:
    for_all_repositories(shop)
    shop.install()
    shop.git("config", "core.ignoreStat", "true")
    shop.git("config", "user.name", "somebody")
    shop.remove()
    text = (shop.repo / ".git" / "config").read_text()
    assert "hooksPath" not in text
    assert shop.git("config", "core.ignoreStat").stdout == "true\n"
    assert shop.git("config", "user.name").stdout == "somebody\n"


def test_hooks_that_were_beside_move_when_a_folder_is_chosen(shop: Shop) -> None:
    own_hooks(shop)
    shop.install()
    tracked_folder(shop)
    assert "core.hooksPath is .githooks now" in shop.check()["message"]
    shop.install()
    assert shop.check()["level"] == "ok"
    assert (shop.repo / ".git" / "hooks" / "pre-commit").read_text() == THEIRS


def test_a_path_set_twice_is_refused_and_nothing_written(shop: Shop) -> None:
    shop.git("config", "core.hooksPath", "one")
    shop.git("config", "--add", "core.hooksPath", "two")
    before = (shop.repo / ".git" / "config").read_bytes()
    with pytest.raises(Refusal, match="set several times"):
        shop.install()
    assert (shop.repo / ".git" / "config").read_bytes() == before


# --- a product that is gone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("found", [own_hooks, husky], ids=lambda found: found.__name__)
def test_a_missing_product_keeps_nobody_from_committing(shop: Shop, found: Any) -> None:
    """C19, for git."""
    found(shop)
    shop.install()
    record = githooks.recorded(shop.place)
    assert record is not None
    for name in OURS:
        file = Path(record.folder) / name
        file.write_text(file.read_text().replace(sys.executable, "/gone/python"))
    committed = shop.commits()
    assert committed.returncode == 0
    assert committed.stderr.splitlines()[0] == "clearway: not installed, guard open"
    assert shop.ran()
    for name in OURS:
        file = Path(record.folder) / name
        file.write_text(
            file.read_text()
            .replace("/gone/python", sys.executable)
            .replace("sys.path += [", 'sys.path += ["/gone"] or [')
        )
    committed = shop.commits()
    assert committed.returncode == 0
    assert "guard open" in committed.stderr


def test_an_interpreter_that_is_gone_is_a_problem(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/gone/python")
        shop.install()
    assert shop.check()["level"] == "problem"
    assert "the interpreter of pre-commit is gone" in shop.check()["message"]
    repairing.repair(shop.settings, str(shop.repo))
    assert shop.check()["level"] == "ok"


def test_the_switch_is_heard_before_anything_is_loaded(shop: Shop) -> None:
    own_hooks(shop)
    shop.install()
    shop.holds("free.txt")
    assert shop.commits(CLEARWAY_OFF="1").returncode == 0
    assert len(shop.ran()) >= 2, "theirs runs all the same"


def test_hooks_go_with_the_product(shop: Shop) -> None:
    own_hooks(shop)
    before = shop.seen()
    shop.install()
    planned = uninstall.plan(shop.settings, str(shop.repo), data=False)
    assert planned.git_hooks == [str(shop.repo)]
    planned.carry_out()
    assert shop.seen() == before


def test_the_words_of_the_command_line(shop: Shop) -> None:
    first = shop.clearway("git-hooks", "install")
    assert first.returncode == 0
    assert "pre-commit is written" in first.stdout
    assert shop.clearway("git-hooks", "install").stdout == "Nothing to change: the hooks are in place.\n"
    assert '"changed":[' in shop.clearway("git-hooks", "remove", "--json").stdout
    assert shop.clearway("git-hooks", "remove").stdout == "There are no hooks of ours here.\n"
    assert shop.clearway("git-hooks", "dance").returncode == 2
    (shop.home / ".claude").mkdir()
    shown = shop.clearway("connect", "--git-hooks")
    assert "would be put in" in shown.stderr
    assert githooks.recorded(shop.place) is None
    assert shop.clearway("connect", "--git-hooks", "--write").returncode == 0
    assert githooks.recorded(shop.place) is not None
    outside = shop.clearway("-C", str(shop.home), "git-hooks", "install")
    assert outside.stderr.startswith("PROJECT_NOT_FOUND")

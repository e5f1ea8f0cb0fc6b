"""Which repository, checkout and key a path has, on real folders, links and worktrees; and what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.conftest import git

from clearway import repository
from clearway.clock import Clock
from clearway.config import POINTER, Settings, pointer_text
from clearway.errors import Refusal
from clearway.repository import Place
from clearway.rooms import Rooms


def locate(raw: str, cwd: Path, home: str = "") -> Place:
    return repository.locate(raw, str(cwd), home, Clock())


def project(rooms: Rooms, folder: Path) -> str:
    found = repository.holding(str(folder))
    assert found is not None
    return rooms.project_of(found)


@pytest.fixture
def rooms(tmp_path: Path) -> Rooms:
    return Rooms(Settings({"CLEARWAY_HOME": str(tmp_path / "home")}))


# --- spellings --------------------------------------------------------------------------------------------------


def test_every_spelling_of_a_file_is_one_place(repo: Path) -> None:
    """P13, P14."""
    (repo / "link.txt").symlink_to("held.txt")
    (repo / "folder").symlink_to("src", target_is_directory=True)
    beside = repo.parent / "beside"
    beside.symlink_to(repo, target_is_directory=True)

    def keys(name: str, *spellings: str) -> None:
        places = [locate(spelling, repo, home=str(repo)) for spelling in spellings]
        assert {(place.key, place.shown) for place in places} == {(name, name)}
        assert len({place.checkout for place in places}) == 1

    keys("held.txt", "held.txt", "./held.txt", "src/../held.txt", str(repo / "held.txt"), "link.txt", "held.txt/")
    keys("held.txt", f"file://{repo}/held.txt", f"file://localhost{repo}/held.txt", f"file://{repo}/%68eld.txt")
    keys("held.txt", f"FILE://{repo}/held.txt", f"File://LOCALHOST{repo}/held.txt", f"file:{repo}/held%2etxt")
    keys("held.txt", "~/held.txt", f"{beside}/held.txt", f"{repo}//held.txt")
    keys("src/a.py", "src/a.py", "folder/a.py", f"{beside}/folder/./a.py")
    keys("src/new/deep.py", "src/new/deep.py", "folder/new/deep.py")  # the longest parent that is there is resolved
    keys("a b.txt", "a b.txt", f"file://{repo}/a%20b.txt")
    keys(".", ".", str(repo), "src/..", "~")


def test_a_relative_path_is_that_of_the_callers_folder_not_of_ours(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P10."""
    monkeypatch.chdir(tmp_path)

    assert locate("a.py", repo / "src").key == "src/a.py"
    assert locate("../held.txt", repo / "src").key == "held.txt"


def test_case_is_told_apart_where_the_volume_does(repo: Path) -> None:
    """P14."""
    folds = (repo / "HELD.txt").exists()

    assert (locate("HELD.txt", repo).key == locate("held.txt", repo).key) is folds


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "a\0b",
        "x" * 4_097,
        "\ud800",
        "a/\udcff/b",
        "file://elsewhere.example/x",
        "file://",
        "file:///a%0",
        "file:///a%zz",
        "file:///a%+1",
        "file:///a%",
        "file:/a%+1",
        "FILE://elsewhere.example/x",
        "file:///a%ff",
        "file:///a%00b",
        "x/" * 2_040,
        "y" * 300,
        "~/x",  # no home is known
    ],
)
def test_what_cannot_be_understood_is_refused_in_one_line(repo: Path, raw: str) -> None:
    with pytest.raises(Refusal) as caught:
        locate(raw, repo)

    assert caught.value.code == "PATH_INVALID"
    assert caught.value.message.isprintable()
    assert "literal" not in caught.value.message  # nothing of the interpreter's own words
    assert len(caught.value.message) < 300


def test_a_loop_of_links_is_refused(repo: Path) -> None:
    (repo / "one").symlink_to("two")
    (repo / "two").symlink_to("one")

    for raw in ("one", "one/x", "two/x/y"):
        with pytest.raises(Refusal) as caught:
            locate(raw, repo)
        assert caught.value.code == "PATH_INVALID"


def test_a_relative_path_without_a_folder_is_refused() -> None:
    for cwd in ("", "relative"):
        with pytest.raises(Refusal) as caught:
            repository.locate("x", cwd, "", Clock())
        assert caught.value.code == "PATH_INVALID"


def test_a_path_through_a_file_or_a_closed_folder_is_still_a_path(repo: Path) -> None:
    assert locate("held.txt/below", repo).key == "held.txt/below"
    closed = repo / "closed"
    closed.mkdir(mode=0o000)
    assert locate("closed/x", repo).key == "closed/x"
    closed.chmod(0o700)


def test_a_name_of_four_thousand_characters_in_short_parts_is_a_path(repo: Path) -> None:
    raw = "/".join(["part"] * 700)

    assert locate(raw, repo).key == raw


@pytest.mark.parametrize("name", ["-rf", "*", "$HOME", "a'b\"c", "new\nline", "…", "日本語", " ", ".", "a:b"])
def test_odd_names_are_kept_as_they_are(repo: Path, name: str) -> None:
    assert locate(name, repo).shown == name


# --- repositories and checkouts ---------------------------------------------------------------------------------


def test_outside_of_any_repository_a_place_belongs_to_the_machine(tmp_path: Path) -> None:
    place = locate("notes.txt", tmp_path)

    assert place.repository is None
    assert place.shown == str(tmp_path / "notes.txt")
    assert place.key == str(tmp_path / "notes.txt").strip("/")
    assert repository.holding(str(tmp_path / "not" / "there")) is None


def test_a_checkout_keeps_its_id_and_another_has_another(repo: Path, tmp_path: Path) -> None:
    first = locate("held.txt", repo).checkout
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(repo), str(other))

    assert locate("src/a.py", repo).checkout == first
    assert locate("held.txt", other).checkout != first


def test_a_copied_clone_gets_an_id_of_its_own_and_a_moved_one_keeps_it(repo: Path, tmp_path: Path) -> None:
    first = locate("held.txt", repo).checkout

    copied = shutil.copytree(repo, tmp_path / "copied")
    second = locate("held.txt", copied).checkout
    moved = repo.rename(tmp_path / "moved")

    assert second != first
    assert locate("held.txt", copied).checkout == second
    assert locate("held.txt", moved).checkout == first


def test_a_checkout_has_the_same_id_whether_or_not_its_git_folder_can_be_written(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes while it cannot be written and whoever comes later must not hold one file both."""

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError

    with monkeypatch.context() as closed:
        closed.setattr(os, "replace", refuse)
        ids = {locate(name, repo).checkout for name in ("held.txt", "src/a.py")}
    assert not list((repo / ".git").glob("clearway-checkout*"))

    ids |= {locate(name, repo).checkout for name in ("held.txt", "src/a.py")}

    assert (repo / ".git" / "clearway-checkout").exists()
    assert len(ids) == 1


def test_a_copy_that_cannot_be_written_has_an_id_of_its_own(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = locate("held.txt", repo).checkout
    copied = shutil.copytree(repo, tmp_path / "copied")

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError

    with monkeypatch.context() as closed:
        closed.setattr(os, "replace", refuse)
        second = locate("held.txt", copied).checkout

    assert second != first
    assert locate("held.txt", copied).checkout == second
    assert locate("held.txt", repo).checkout == first


def test_worktrees_share_a_room_and_are_checkouts_of_their_own(repo: Path, tmp_path: Path, rooms: Rooms) -> None:
    """C26."""
    second = tmp_path / "second"
    git(repo, "worktree", "add", "-q", str(second))
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    of_bare = tmp_path / "of-bare"
    git(bare, "worktree", "add", "-q", str(of_bare), "main")

    assert project(rooms, repo) == project(rooms, second) == project(rooms, second / "src")
    assert project(rooms, of_bare) != project(rooms, repo)
    one, two, three = (locate("src/a.py", folder) for folder in (repo, second, of_bare))
    assert one.key == two.key == three.key == "src/a.py"
    assert len({one.checkout, two.checkout, three.checkout}) == 3
    assert not git(repo, "status", "--porcelain")
    assert not git(second, "status", "--porcelain")


def test_a_submodule_and_a_nested_clone_are_repositories_of_their_own(repo: Path, tmp_path: Path, rooms: Rooms) -> None:
    library = tmp_path / "library"
    git(tmp_path, "clone", "-q", str(repo), str(library))
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendor/library")
    git(tmp_path, "clone", "-q", str(library), str(repo / "nested"))

    places = [locate(path, repo) for path in ("src/a.py", "vendor/library/src/a.py", "nested/src/a.py")]

    assert [place.key for place in places] == ["src/a.py"] * 3
    assert len({place.checkout for place in places}) == 3
    folders = (repo, repo / "vendor" / "library", repo / "nested")
    assert len({project(rooms, folder) for folder in folders}) == 3
    assert locate("vendor/library", repo).key == "."


def test_a_pointer_alone_makes_a_project_without_git(tmp_path: Path, rooms: Rooms) -> None:
    folder = tmp_path / "plain"
    (folder / "src").mkdir(parents=True)
    made = Clock().new_id()
    (folder / POINTER).write_text(pointer_text(made))

    place = locate("src/new.py", folder)

    assert (place.key, project(rooms, folder)) == ("src/new.py", made)
    assert place.checkout == locate("other.py", folder).checkout


@pytest.mark.parametrize(
    "content", ["", "gitdir: \n", "gitdir: /not/there\n", "nonsense\n", "\xff\xfe", "gitdir: a\0b\n"]
)
def test_a_git_file_that_leads_nowhere_makes_no_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)

    assert repository.holding(str(tmp_path)) is None


def test_a_pipe_in_the_place_of_a_git_file_is_not_waited_for(repo: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert repository.holding(str(tmp_path)) is None

    (repo / ".git" / "HEAD").unlink()
    os.mkfifo(repo / ".git" / "HEAD")
    os.mkfifo(repo / ".git" / "clearway-checkout")
    assert repository.branch(str(repo)) == ""
    assert locate("held.txt", repo).checkout == locate("src/a.py", repo).checkout


def test_an_empty_git_folder_makes_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()

    assert repository.holding(str(tmp_path)) is None


# --- rooms of repositories --------------------------------------------------------------------------------------


def test_a_repository_without_a_pointer_stays_in_its_room_on_every_branch(repo: Path, rooms: Rooms) -> None:
    first = project(rooms, repo)
    git(repo, "switch", "-q", "-c", "other")

    assert project(rooms, repo) == first
    assert project(Rooms(rooms.settings), repo) == first, "another process"
    found = repository.holding(str(repo))
    assert found is not None
    assert rooms.adopt(found) == first
    assert project(rooms, repo) == first
    git(repo, "add", POINTER)
    git(repo, "commit", "-q", "-m", "pointer")
    git(repo, "switch", "-q", "main")
    assert not (repo / POINTER).exists()
    assert project(rooms, repo) == first, "a branch without the file stays in the same room"


def test_a_repository_is_initialised_once(repo: Path, rooms: Rooms) -> None:
    """I1."""
    found = repository.holding(str(repo))
    assert found is not None
    rooms.adopt(found)
    text = (repo / POINTER).read_text()

    with pytest.raises(Refusal) as caught:
        rooms.adopt(found)

    assert caught.value.code == "PROJECT_ALREADY_INITIALIZED"
    assert (repo / POINTER).read_text() == text == pointer_text(project(rooms, repo))
    assert sorted(each.name for each in repo.iterdir() if "clearway" in each.name) == [POINTER]


def test_a_folder_deleted_and_made_anew_is_another_repository(repo: Path, rooms: Rooms) -> None:
    first = project(rooms, repo)
    keep = repo.rename(repo.parent / "kept")  # so that no inode is given out twice
    git(repo.parent, "clone", "-q", str(keep), str(repo))

    assert project(rooms, repo) != first


def test_state_inside_a_repository_is_refused(repo: Path) -> None:
    """I2."""
    inside = Rooms(Settings({"CLEARWAY_HOME": str(repo / "state")}))

    with pytest.raises(Refusal) as caught:
        inside.of_folder(str(repo))

    assert caught.value.code == "STORAGE_CONFIGURATION"
    assert not (repo / "state").exists()


def test_a_folder_in_no_repository_has_no_room(tmp_path: Path, rooms: Rooms) -> None:
    with pytest.raises(Refusal) as caught:
        rooms.of_folder(str(tmp_path))

    assert caught.value.code == "PROJECT_NOT_FOUND"

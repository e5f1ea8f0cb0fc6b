"""The section on what may be done unattended: put in once, the person's from then on, taken out exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.setup.test_connect import Machine

from clearway.errors import Refusal
from clearway.setup.connect import scopenote


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("text", ["", "# Mine\n", "# Mine", "# Mine\n\n", "# Mine\r\n\r\ntext", "# Mine\n\n\n\n"])
@pytest.mark.parametrize("later", ["", "\n## Written afterwards\n"])
def test_what_was_there_comes_back_to_the_byte(text: str, later: str) -> None:
    joined = scopenote.join(text)
    assert joined.startswith(text) and scopenote.join(joined) == joined
    assert scopenote.part(joined + later) == text + later


def test_the_words_of_the_person_stay_whatever_is_connected_again(machine: Machine) -> None:
    file = machine.home / ".claude" / "CLAUDE.md"
    file.parent.mkdir()
    file.write_text("# House rules\n")
    planned = machine.connect("claude", scope_note=True, write=False)
    assert file.read_text() == "# House rules\n"
    assert any("What may be done unattended" in change.diff for change in planned)
    machine.connect("claude", scope_note=True)
    mine = file.read_text().replace("- read the code", "- water the plants\n- read the code")
    file.write_text(mine)
    machine.connect("claude", scope_note=True)
    machine.connect("claude")
    assert file.read_text() == mine
    notes = [note for change in machine.disconnect("claude") for note in change.notes]
    assert file.read_text() == "# House rules\n" and any("goes with it" in note for note in notes)


def test_each_client_has_it_where_it_reads(machine: Machine, tmp_path: Path) -> None:
    machine.connect("claude", "codex", "gemini", scope_note=True)
    for name in (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md"):
        assert scopenote.BEGIN in (machine.home / name).read_text()
    project = tmp_path / "project"
    project.mkdir()
    machine.connect("claude", "codex", "copilot", scope_note=True, scope="project", project=str(project))
    assert sorted(path.name for path in project.glob("*.md*")) == ["AGENTS.md", "CLAUDE.md"], "and no backups beside"
    machine.disconnect(project=str(project))
    assert not list(project.glob("*.md*")) and not (machine.home / ".codex" / "AGENTS.md").exists()


def test_what_another_connected_client_reads_stays(machine: Machine, tmp_path: Path) -> None:
    """The section of a shared AGENTS.md goes with the last of those who read it."""
    project = tmp_path / "project"
    project.mkdir()
    scope: dict[str, Any] = {"scope": "project", "project": str(project)}
    machine.connect("codex", "copilot", scope_note=True, **scope)
    machine.disconnect("codex", project=str(project))
    assert scopenote.BEGIN in (project / "AGENTS.md").read_text()
    machine.disconnect("copilot", project=str(project))
    assert not (project / "AGENTS.md").exists()


def test_one_file_under_two_names_has_it_once(machine: Machine, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("# Rules\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    machine.connect("claude", "codex", scope_note=True, scope="project", project=str(project))
    assert (project / "AGENTS.md").read_text().count(scopenote.BEGIN) == 1
    assert (project / "CLAUDE.md").is_symlink()


def test_a_section_without_its_end_is_left_alone(machine: Machine) -> None:
    file = machine.home / ".claude" / "CLAUDE.md"
    file.parent.mkdir()
    broken = scopenote.join("").replace("/clearway:scope", "gone")
    file.write_text(broken)
    with pytest.raises(Refusal, match="has no end any more"):
        machine.disconnect("claude")
    assert file.read_text() == broken


def test_nothing_is_put_in_unless_it_is_asked_for(machine: Machine) -> None:
    machine.connect("claude", "codex")
    assert not list(machine.home.rglob("*.md"))

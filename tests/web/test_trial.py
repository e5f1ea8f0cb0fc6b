"""The room of the trial in docs/trials: the page shows what its five questions ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docs.trials import five_questions
from tests.web.test_story import sees


def test_the_five_questions_have_their_answers_on_the_page_or_one_click_away(chromium: Any, tmp_path: Path) -> None:
    with five_questions.opened(chromium, tmp_path) as person:
        five_questions.look(person, tmp_path)
        page = person.page
        person.go("board~issue/ISSUE-7")
        why = sees(page, ".panel .facts dd", "in the hands of").inner_text()
        assert "ISSUE-3" in why and "B#7f3a" in why
        assert page.locator(".panel .over-title .chip").first.inner_text() == "waits"
        person.go("board~agent/7f3a61d2-90ae")
        sees(page, ".did li.stretch", "14:00")
        did = page.locator(".panel .did li").all_inner_texts()
        at = next(number for number, line in enumerate(did) if line.strip() == "14:00")
        since = " ".join(did[:at])
        for deed in (
            "took ISSUE-3",
            "heredoc.py",
            "was refused src/a.py: held by",
            "checkpoint on ISSUE-3",
        ):
            assert deed in since.replace("\n", " "), did
        assert "ISSUE-21" not in since
        _is_read_back(person)


def _is_read_back(person: five_questions.Person) -> None:
    """What the page does not know of yet, it asks the log for."""
    person.go("board~agent/human")
    oldest = person.page.locator(".panel .did li:has(a:text-is('ISSUE-1'))", has_text="wrote")
    earlier = person.page.locator(".panel button.text", has_text="earlier")
    earlier.wait_for()
    assert oldest.count() == 0
    for _ in range(2):
        earlier.click()
    oldest.wait_for()

"""Messages as hooks bring them: at a prompt, at a start, and urgent ones between two calls."""

from __future__ import annotations

from tests.surfaces.test_moments import Desk, Session, desk

from clearway.surfaces import hooks

__all__ = ["desk"]


def send(agent: Session, to: str, text: str, **more: object) -> int:
    return agent.ask("send_message", to=to, text=text, **more)["message_id"]


def prompt(agent: Session) -> str:
    return agent.tell("UserPromptSubmit", prompt="Go on.")


def test_a_prompt_brings_what_has_come_and_a_quiet_one_brings_nothing(desk: Desk) -> None:
    """C44."""
    alpha, beta = desk.session("a"), desk.session("b", client="codex")
    number = send(alpha, "codex", "Please leave auth.py")
    text = prompt(beta)
    assert f"Message #{number}, chat from claude-code#a to codex" in text
    beta.ask("accept_message", message_id=number)
    assert prompt(beta) == ""
    assert "codex has taken your message" in alpha.after("Read", file_path=str(desk.repo / "src/a.py")) + prompt(alpha)
    for _ in range(5):
        assert prompt(alpha) == prompt(beta) == ""


def test_a_message_that_was_not_written_to_the_client_is_shown_again(desk: Desk) -> None:
    """C43."""
    alpha, beta = desk.session("a"), desk.session("b", client="codex")
    number = send(alpha, "codex", "Hello")
    killed = hooks.answered("codex", beta.payload("UserPromptSubmit", prompt="Go on."), beta.environ)
    assert f"Message #{number}," in killed.out
    assert f"Message #{number}," in prompt(beta)
    assert f"Message #{number}," not in prompt(beta)


def test_an_urgent_message_arrives_with_the_next_call(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b", client="codex")
    beta.before("Bash", command="pytest -q")
    number = send(alpha, "codex", "Stop the deploy", kind="control")
    assert f"Message #{number}, urgent control from claude-code#a" in beta.ran("pytest -q")
    assert "urgent" not in prompt(beta)


def test_a_start_brings_the_mail_behind_the_brief_and_within_its_cap(desk: Desk) -> None:
    alpha = desk.session("a")
    alpha.ask("claim_paths", paths=["src"])
    for place in range(30):
        send(alpha, "codex", f"Number {place} " + "and so on " * 60)
    beta = desk.session("b", client="codex", start="")
    text = beta.tell("SessionStart", source="startup")
    assert len(text.encode()) <= 2_400
    assert text.index("other agent here") < text.index("Message #")
    assert "Number 29" in text and "There are more messages" in text
    assert "Number 2 " in prompt(beta) + prompt(beta)


def test_two_readers_of_one_mailbox_are_each_shown_it_once(desk: Desk) -> None:
    """C43."""
    alpha = desk.session("a")
    readers = [desk.session(name, client="codex") for name in ("b", "c")]
    number = send(alpha, "codex", "Hello")
    shown = [prompt(reader).count(f"Message #{number},") for reader in readers * 2]
    assert shown == [1, 1, 0, 0]

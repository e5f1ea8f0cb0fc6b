"""Whether a person should read a message before an agent does. Pure.

Few words are held back, and only for what ordinary work does not say: orders to drop the instructions one has, tags
that pretend to be the client's own, and orders to hand over what one has been trusted with. Whatever passes is still
shown as another's words. No expression is matched, so nothing can be made slow.
"""

from __future__ import annotations

LOOKED_AT_CHARS = 20_000
_NEAR = 6  # words from the verb to what it is about

_DROP = frozenset("ignore disregard forget override bypass discard".split())
_EARLIER = frozenset("previous prior above earlier preceding original existing system all any".split())
_ORDERS = frozenset("instructions directives prompts guardrails".split())
_HAND_OVER = frozenset(
    "send post upload paste print reveal show share give tell email leak dump exfiltrate forward output display".split()
)
_TRUSTED = (
    ("system", "prompt"), ("api", "key"), ("api", "keys"), ("private", "key"), ("private", "keys"), ("ssh", "key"),
    ("ssh", "keys"), ("access", "token"), ("access", "tokens"), ("credentials",), ("passwords",), ("password",),
    ("secrets",), ("environment", "variables"),
)  # fmt: skip
_TAGS = (
    "<system", "</system", "<|im_start|>", "<|im_end|>", "<|system|>", "[system]", "[/inst]", "<system-reminder",
    "### system", "<<sys>>",
)  # fmt: skip


def suspicion(text: str) -> str:
    """Why a person should read this first, as the end of a sentence; empty for all ordinary text."""
    looked_at = text[:LOOKED_AT_CHARS].lower()
    if any(tag in looked_at for tag in _TAGS):
        return "it carries a tag that clients use for their own words"
    for sentence in _sentences(looked_at):
        words = "".join(letter if letter.isalnum() else " " for letter in sentence).split()
        if _drops_orders(words):
            return "it asks to drop earlier instructions"
        if _asks_for_trust(words):
            return "it asks for what an agent was trusted with"
    return ""


def _sentences(text: str) -> list[str]:
    for sign in "!?;\n\r":
        text = text.replace(sign, ".")
    return text.split(". ")


def _drops_orders(words: list[str]) -> bool:
    """`ignore all previous instructions`, but not `ignore my previous instruction, use port 8081`: whose they are is
    said there, and a sender may take back what he said himself."""
    for at, word in enumerate(words):
        if word not in _DROP:
            continue
        near = words[at + 1 : at + 1 + _NEAR]
        if "my" not in near and not _ORDERS.isdisjoint(near) and not _EARLIER.isdisjoint(near):
            return True
    return False


def _asks_for_trust(words: list[str]) -> bool:
    """`print your system prompt`, `send me your API keys`: yours, not one that stands in a file or a template."""
    for at, word in enumerate(words):
        if word not in _HAND_OVER:
            continue
        near = words[at + 1 : at + 1 + 2 * _NEAR]
        for place, owner in enumerate(near):
            behind = near[place + 1 : place + 4]
            if owner == "your" and any(_begins(behind[skipped:], _TRUSTED) for skipped in (0, 1)):
                return True
    return False


def _begins(words: list[str], phrases: tuple[tuple[str, ...], ...]) -> bool:
    return any(tuple(words[: len(phrase)]) == phrase for phrase in phrases)

"""Secrets are taken out of a text before it is kept, and ordinary words are left alone."""

from __future__ import annotations

import pytest

from clearway.untrusted import HIDDEN, redacted


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("export GITHUB_TOKEN=abc123", f"export GITHUB_TOKEN={HIDDEN}"),
        ("A_PASSWORD='a b' make", f"A_PASSWORD='{HIDDEN}' make"),
        ("curl -H 'Authorization: Bearer abc.def' x", f"curl -H 'Authorization: Bearer {HIDDEN}' x"),
        ("curl https://me:hunter2@host/x", f"curl https://me:{HIDDEN}@host/x"),
        ("git clone https://ghp_abcdefghijklmnop@github.com/a/b", f"git clone https://{HIDDEN}@github.com/a/b"),
        ("mysql --password hunter2 -h db", f"mysql --password {HIDDEN} -h db"),
        ("mysql --password=hunter2 -h db", f"mysql --password={HIDDEN} -h db"),
        ("x --api-key 'a b' y", f"x --api-key '{HIDDEN}' y"),
        ("aws configure set aws_secret_access_key wJal", f"aws configure set aws_secret_access_key {HIDDEN}"),
        ('{"password": "x y", "a": 1}', f'{{"password": "{HIDDEN}", "a": 1}}'),
        ("apiKey: abc", f"apiKey: {HIDDEN}"),
        ("echo sk-ant-api03-AAAAAAAAAAAA", f"echo {HIDDEN}"),
        ("X=AKIAABCDEFGHIJKLMNOP", f"X={HIDDEN}"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nb", f"a\n{HIDDEN}\nb"),
        ("-----BEGIN PRIVATE KEY-----\nabc", HIDDEN),
        ("--token", "--token"),
        ("--token\nls", "--token\nls"),
    ],
)
def test_a_secret_is_taken_out(text: str, kept: str) -> None:
    assert redacted(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        *("pytest -k test_token_is_hidden", "--max-tokens 200", "pip install sk-learn", "author=me keyboard=1"),
        *("cat .env.example", "git log --author=me", "https://host/a?b=c", "key = value", "", " ", "'", "a:b", "="),
    ],
)
def test_an_ordinary_word_is_left_alone(text: str) -> None:
    assert redacted(text) == text

"""Which command lines run tests, whether their exit status is that of the tests, and what a run prints at its end."""

from __future__ import annotations

import pytest

from clearway import testruns
from clearway.testruns import GREEN, RED

RUN = [
    *("pytest", "cd app && pytest -q 2>&1", "python -m pytest a.py", ".venv/bin/python -m unittest", "tox -e py312"),
    *("uv run --with hypothesis pytest", "poetry run pytest", "FOO=1 timeout 60 pytest", "npx jest --ci", "npm test"),
    *("npm run test:unit", "yarn test", "pnpm t", "bun test", "make test", "make -j4 check", "just test", "cargo test"),
    *("cargo nextest run", "go test ./...", "./gradlew check", "mvn -q verify", "dotnet test", "bundle exec rspec"),
    *("bash scripts/run-tests.sh", "./test.sh", "python manage.py test shop", "node --test", "mix test", "ctest"),
    *("npx playwright test", "coverage run -m pytest", "sudo -E make test", "time pytest", "php artisan test"),
]
NONE = [
    *("", "ls tests", "cat tests/a.py", "grep -rn test src", "git commit -m 'pytest passes'", "echo pytest", "make"),
    *("npm run build", "npm install", "go build ./...", "cargo build", "vi test.py", "pytest --version", "pytest --co"),
    *("python -c 'import test'", "python build.py", "pip install pytest", "rm -rf tests", "docker build -t test ."),
]


@pytest.mark.parametrize("line", RUN)
def test_what_runs_tests_is_known(line: str) -> None:
    assert testruns.is_test(line)
    assert not testruns.is_masked(line)


@pytest.mark.parametrize("line", NONE)
def test_what_only_speaks_of_tests_runs_none(line: str) -> None:
    assert not testruns.is_test(line)


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        *((line, True) for line in ("pytest | tail", "pytest; echo done", "pytest || true", "pytest &", "pytest\nls")),
        *((line, False) for line in ("pytest && echo ok", "ls; pytest", "set -o pipefail; pytest | tee log | tail -3")),
        *((line, False) for line in ("pytest 2>&1", "pytest &> log", "pytest >| log", "cat a | sort && pytest")),
    ],
)
def test_another_status_in_the_place_of_the_tests_is_noticed(line: str, masked: bool) -> None:
    assert testruns.is_test(line)
    assert testruns.is_masked(line) == masked


@pytest.mark.parametrize(
    ("printed", "end"),
    [
        ("===== 3 passed in 0.30s =====", GREEN),
        ("===== 1 failed, 3 passed in 0.30s =====", RED),
        ("===== 2 passed, 1 error in 0.30s =====", RED),
        ("===== no tests ran in 0.01s =====", RED),
        ("Ran 3 tests in 0.1s\n\nOK", GREEN),
        ("Ran 3 tests in 0.1s\n\nFAILED (failures=1)", RED),
        ("Tests:       1 failed, 2 passed, 3 total", RED),
        (" Tests  12 passed (12)", GREEN),
        ("  5 passing (20ms)\n", GREEN),
        ("  5 passing (20ms)\n  1 failing\n", RED),
        ("test result: ok. 5 passed; 0 failed; 0 ignored", GREEN),
        ("test result: FAILED. 4 passed; 1 failed", RED),
        ("ok  \tshop/cart\t0.012s", GREEN),
        ("FAIL\tshop/cart\t0.012s", RED),
        ("5 examples, 0 failures", GREEN),
        ("# pass 3\n# fail 0", GREEN),
        ("# pass 3\n# fail 1", RED),
        ("100% tests passed, 0 tests failed out of 12", GREEN),
        ("BUILD FAILED in 3s", RED),
        ("", None),
        ("compiling...", None),
    ],
)
def test_the_end_of_a_run_says_how_it_ended(printed: str, end: int | None) -> None:
    assert testruns.told(printed) == end

"""Patches: every form names its files, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.guard import patches


def named(text: str) -> list[tuple[str, str]]:
    return [(target.path, target.action) for target in patches.targets(text)]


def marked(*lines: str, end: str = "\n") -> str:
    return end.join(["*** Begin Patch", *lines, "*** End Patch", ""])


MARKED: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("an update", marked("*** Update File: a.py", "@@", "-x", "+y"), [("a.py", "edit")]),
    ("an addition", marked("*** Add File: a.py", "+x"), [("a.py", "create")]),
    ("a deletion", marked("*** Delete File: a.py"), [("a.py", "delete")]),
    (
        "a move",
        marked("*** Update File: a.py", "*** Move to: b.py", "@@", "-x"),
        [("a.py", "move"), ("b.py", "create")],
    ),
    ("spaces in a name", marked("*** Update File: src/a b.py", "@@", "-x"), [("src/a b.py", "edit")]),
    ("an absolute path", marked("*** Delete File: /repo/a.py"), [("/repo/a.py", "delete")]),
    ("carriage returns", marked("*** Update File: a.py", "@@", "-x", "+y", end="\r\n"), [("a.py", "edit")]),
    (
        "an indented header",
        marked("*** Add File: a.py", "+x", "  *** Delete File: b.py"),
        [("a.py", "create"), ("b.py", "delete")],
    ),
    (
        "an indented patch",
        "   *** Begin Patch\n   *** Update File: a.py\n   @@\n   -x\n   *** Delete File: b.py\n   *** End Patch",
        [("a.py", "edit"), ("b.py", "delete")],
    ),
    ("a here-document inside an argument", f"<<'EOF'\n{marked('*** Delete File: a.py')}EOF\n", [("a.py", "delete")]),
    ("another environment", marked("*** Environment ID: x", "*** Delete File: a.py"), [("a.py", "delete")]),
    ("no frame", "*** Update File: a.py\n@@\n-x\n", [("a.py", "edit")]),
    ("a missing end", "*** Begin Patch\n*** Delete File: a.py", [("a.py", "delete")]),
    (
        "the same file twice",
        marked("*** Update File: a.py", "@@", "-x", "*** Update File: a.py", "@@", "-y"),
        [("a.py", "edit")],
    ),
    (
        "two patches",
        marked("*** Delete File: a.py") + marked("*** Delete File: b.py"),
        [("a.py", "delete"), ("b.py", "delete")],
    ),
    ("text behind the end", marked("*** Delete File: a.py") + "*** Delete File: b.py\n", [("a.py", "delete")]),
    ("letters of all kinds", marked("*** Add File: ünïcode/日本.txt", "+x"), [("ünïcode/日本.txt", "create")]),
    ("a header without a path", marked("*** Update File:   ", "@@"), []),
]


@pytest.mark.parametrize(("text", "files"), [row[1:] for row in MARKED], ids=[row[0] for row in MARKED])
def test_a_marked_patch_names_its_files(text: str, files: list[tuple[str, str]]) -> None:
    assert named(text) == files


def test_one_patch_of_many_files_names_each_once_whatever_its_line_ends() -> None:
    """C16, P20."""
    lines = [
        *("*** Update File: b.py", "@@", "-x", "+*** Delete File: q.py"),
        *("*** Add File: new file.py", "+*** Update File: r.py"),
        "*** Delete File: c.py",
        *("*** Update File: m.py", "*** Move to: a.py", "@@", " *** Delete File: s.py", "-x"),
    ]
    files = [("b.py", "edit"), ("new file.py", "create"), ("c.py", "delete"), ("m.py", "move"), ("a.py", "create")]
    assert named(marked(*lines)) == files
    assert named(marked(*lines, end="\r\n")) == files


@pytest.mark.parametrize("sign", ["+", "-", " "])
def test_a_line_of_a_body_that_looks_like_a_header_is_text(sign: str) -> None:
    assert named(marked("*** Update File: a.py", "@@", "-x", f"{sign}*** Delete File: b.py")) == [("a.py", "edit")]


def test_a_line_of_a_new_file_that_looks_like_a_header_is_text() -> None:
    lines = ("+*** Begin Patch", "+*** Delete File: b.py", "+*** End Patch")
    assert named(marked("*** Add File: a.py", *lines)) == [("a.py", "create")]


def diff(old: str, new: str, *body: str) -> str:
    return "\n".join([f"--- {old}", f"+++ {new}", *(body or ("@@ -1 +1 @@", "-x", "+y")), ""])


UNIFIED: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("a change", diff("a/x.py", "b/x.py"), [("x.py", "edit")]),
    ("no prefixes", diff("src/x.py", "src/x.py"), [("src/x.py", "edit")]),
    ("mnemonic prefixes", diff("i/x.py", "w/x.py"), [("x.py", "edit")]),
    ("a folder that is called like a prefix", diff("c/x.py", "c/x.py"), [("c/x.py", "edit")]),
    ("a new file", diff("/dev/null", "b/x.py"), [("x.py", "create")]),
    ("time stamps", diff("x.py\t2026-11-30 10:00:00", "x.py\t2026-11-30 10:00:01"), [("x.py", "edit")]),
    ("spaces in a name", diff("a/a b.py\t", "b/a b.py\t"), [("a b.py", "edit")]),
    ("a name in quotes", diff('"a/\\303\\244\\t\\"x"', '"b/\\303\\244\\t\\"x"'), [('ä\t"x', "edit")]),
    ("two names", diff("x.py.orig", "x.py"), [("x.py", "edit"), ("x.py.orig", "edit")]),
    ("two files", diff("a/x", "b/x") + diff("a/y", "b/y"), [("x", "edit"), ("y", "edit")]),
    ("carriage returns", diff("a/x", "b/x").replace("\n", "\r\n"), [("x", "edit")]),
    ("prose above", "Here is the fix:\n\n" + diff("a/x", "b/x"), [("x", "edit")]),
    (
        "a hunk without numbers",
        diff("a/x", "b/x", "@@", "-x", "+y") + diff("a/y", "b/y"),
        [("x", "edit"), ("y", "edit")],
    ),
    (
        "wrong numbers",
        diff("a/x", "b/x", "@@ -1,99 +1,99 @@", "-x") + "diff --git a/y b/y\nnew file mode 100644\n",
        [("x", "edit"), ("y", "create")],
    ),
    (
        "no newline at the end",
        diff("a/x", "b/x", "@@ -1 +1 @@", "-x", "\\ No newline at end of file", "+y") + diff("a/y", "b/y"),
        [("x", "edit"), ("y", "edit")],
    ),
    ("git: a change of mode", "diff --git a/a b.sh b/a b.sh\nold mode 100644\nnew mode 100755\n", [("a b.sh", "edit")]),
    ("git: an empty new file", "diff --git a/x b/x\nnew file mode 100644\nindex 0..0\n", [("x", "create")]),
    ("git: a deletion without a body", "diff --git a/x b/x\ndeleted file mode 100644\nindex 0..0\n", [("x", "delete")]),
    (
        "git: a rename",
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        [("x", "move"), ("y", "create")],
    ),
    (
        "git: a rename with spaces and changes",
        "diff --git a/a x b/b y\nrename from a x\nrename to b y\n" + diff("a/a x\t", "b/b y\t"),
        [("a x", "move"), ("b y", "create")],
    ),
    ("git: a copy", "diff --git a/x b/y\ncopy from x\ncopy to y\n", [("y", "create")]),
    ("git: names in quotes", 'diff --git "a/\\303\\244" "b/\\303\\244"\nold mode 1\nnew mode 2\n', [("ä", "edit")]),
    (
        "git: a binary file",
        "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n",
        [("x.png", "edit")],
    ),
    ("git: no prefixes", "diff --git src/x src/x\nold mode 1\nnew mode 2\n", [("src/x", "edit")]),
]


@pytest.mark.parametrize(("text", "files"), [row[1:] for row in UNIFIED], ids=[row[0] for row in UNIFIED])
def test_a_unified_diff_names_its_files(text: str, files: list[tuple[str, str]]) -> None:
    assert named(text) == files


def test_a_diff_that_empties_a_file_into_nowhere_deletes_it() -> None:
    """P23."""
    body = ("@@ -1 +0,0 @@", "-x")
    assert named(diff("a/held.txt", "/dev/null", *body)) == [("held.txt", "delete")]
    git = "diff --git a/held.txt b/held.txt\ndeleted file mode 100644\nindex 1..0\n"
    assert named(git + diff("a/held.txt", "/dev/null", *body)) == [("held.txt", "delete")]


def test_lines_of_a_hunk_that_look_like_headers_are_text() -> None:
    body = ("@@ -1,3 +1,3 @@", "--- a/not.py", "+++ b/not.py", " *** Update File: not.py", "-x", "+y")
    assert named(diff("a/x", "b/x", *body)) == [("x", "edit")]


def test_a_diff_inside_a_marked_patch_is_text() -> None:
    body = [f"+{line}" for line in diff("a/not.py", "b/not.py").splitlines()]
    assert named(marked("*** Add File: x.patch", *body)) == [("x.patch", "create")]


@pytest.mark.parametrize(
    "text",
    ["", "\n", "just words", "---\ntitle: x\n---\n", "--- a\nno other side", "***", "*** \n", "@@ -1 +1 @@\n-x\n"],
)
def test_text_that_is_no_patch_names_nothing(text: str) -> None:
    assert named(text) == []


def test_a_patch_in_an_argument_vector_is_found() -> None:
    text = marked("*** Delete File: a.py")
    assert patches.in_array(["apply_patch", text]) == text
    assert patches.in_array(["/usr/bin/applypatch", text]) == text
    assert patches.in_array(["cat", text]) is None
    assert patches.in_array(["apply_patch"]) is None


def test_a_patch_in_a_command_that_nobody_can_parse_is_found_by_its_lines() -> None:
    command = f"if ( apply_patch @'\n{marked('*** Delete File: a.py')}'@"
    assert [target.path for target in patches.in_unreadable(command)] == ["a.py"]
    assert patches.in_unreadable(marked("*** Delete File: a.py")) == []


@pytest.mark.parametrize("line", ["+a line of text", " *** Update File: x", "--- ", '--- "' + "\\" * 9, "\t\t***"])
def test_a_very_long_patch_is_read_in_one_go(line: str) -> None:
    """P50: every line is looked at once, in whatever form; a reading that went back would not end here."""
    many = (line + "\n") * (2_000_000 // (len(line) + 1))
    assert ("a.py", "delete") in named(marked("*** Delete File: a.py") + many)
    assert ("x", "edit") in named(diff("a/x", "b/x") + many)
    named(many.replace("\n", " "))


HEADERS = st.sampled_from(
    [
        "*** Begin Patch",
        "*** End Patch",
        "*** Update File: a",
        "*** Add File: b",
        "*** Move to: c",
        "--- a/x",
        "+++ b/x",
        "@@ -1,2 +1,2 @@",
        "@@",
        "diff --git a/x b/y",
        'diff --git "a/\\30',
        "rename from x",
        "rename to y",
        "copy to z",
        "deleted file mode 1",
        "new file mode 1",
        '--- "\\',
        "+++ /dev/null",
        " ",
        "+",
        "-",
        "\\",
    ]
)


@given(st.lists(HEADERS | st.text(max_size=8)), st.sampled_from(["\n", "\r\n", "\r", " "]))
def test_whatever_is_given_is_read_without_complaint(lines: list[str], end: str) -> None:
    for target in patches.targets(end.join(lines)):
        assert target.path
        assert target.path != "/dev/null"

"""Edits in other people's TOML: what was asked changes, and comments, order and spacing stay."""

from __future__ import annotations

import tomllib

import pytest

from clearway.setup.connect import tomltext

SHAPES = {
    "empty": "",
    "no newline at the end": 'model = "x"',
    "plain": '# mine\nmodel = "x"   # yes\n\n[projects."/a b"]\ntrust_level = "trusted"\n',
    "other servers": '[mcp_servers.o]\ncommand="o"\n\n[mcp_servers.o.env]\nA="1"\n\n# about a\n[projects.a]\nb=1\n',
    "out of order": '[mcp_servers.a]\ncommand="a"\n\n[x]\nx=1\n\n[mcp_servers.b]\ncommand="b" # c\n\n[tail]\ny=2\n',
    "servers as values": '[mcp_servers]\nfoo = { command = "x" }\n\n[a]\nb=1\n',
    "dotted": 'sandbox.network = true\nmcp_servers.foo.command = "x"\nz = 1\n[a]\nb=1\n',
    "dotted in its table": '[mcp_servers]\nfoo.command = "x" # c\n[a]\nb=1\n',
    "roots": '[sandbox]\n# roots\nroots = [\n  "/a", # first\n  "/b", # last\n]\n\n[z]\nq=1\n',
    "roots without a last comma": '[sandbox]\nroots = [\n  "/a",\n  "/b" # last\n]\n',
    "roots in a line": '[sandbox]\nroots = ["/a"] # c\n[z]\nq=1\n',
    "roots, packed": '[sandbox]\nroots = [ "/a",\n "/b" ]\n',
    "roots, none": "[sandbox]\nroots = [\n  # none yet\n]\n",
    "windows": 'model="x"\r\n\r\n[sandbox]\r\nroots = [\r\n  "/a",\r\n]\r\n',
    "arrays of tables": '[[hooks.PreToolUse]]\nm="x"\n\n[[hooks.PreToolUse]]\nm="y"\n[[hooks.PreToolUse.hooks]]\nt=1\n',
    "texts that look like structure": 'a = """\n[mcp_servers.clearway]\n""""\nb = \'\'\'[x]\n\'\'\'\nc = "# no" # yes\n'
    'd = 1979-05-27 07:32:00\ne = [[1, 2], ["]"]]\nf = { g = [1], h.i = "}" }\n\'quoted.key\'."k\\"" = 1\n',
}


def edited(text: str) -> str:
    """As `connect codex` does it."""
    text = tomltext.put(text, ("mcp_servers", "clearway", "command"), "/x y/clearway")
    text = tomltext.put(text, ("mcp_servers", "clearway", "args"), ["mcp"])
    text = tomltext.put(text, ("mcp_servers", "clearway", "env", "CLEARWAY_HOME"), '/h "q" \x7f')
    if tomltext.look(tomltext.load(text), ("sandbox", "roots")) is None:
        return tomltext.put(text, ("sandbox", "roots"), ["/h"])
    return tomltext.append(text, ("sandbox", "roots"), "/h")


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_an_edit_adds_its_lines_and_keeps_all_others(text: str) -> None:
    after = edited(text)
    assert tomllib.loads(after)["mcp_servers"]["clearway"]["env"] == {"CLEARWAY_HOME": '/h "q" \x7f'}
    assert tomllib.loads(after)["sandbox"]["roots"][-1] == "/h"
    kept = after.splitlines()
    for line in text.splitlines():
        # A line may only grow by our root, or by the comma before it.
        assert any(line in (found, found.replace(', "/h"', ""), found.replace(",", "", 1)) for found in kept), line
    assert ("\r\n" in text) == ("\r\n" in after)
    assert edited(text) == after


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_what_was_added_comes_out_again(text: str) -> None:
    after = tomltext.remove(edited(text), ("mcp_servers", "clearway"))
    after = tomltext.take(after, ("sandbox", "roots"), "/h")
    if tomltext.look(tomllib.loads(text), ("sandbox", "roots")) is None:
        after = tomltext.remove(after, ("sandbox",)) if "sandbox" not in tomllib.loads(text) else after
        after = tomltext.remove(after, ("sandbox", "roots")) if "sandbox" in tomllib.loads(text) else after
    assert tomllib.loads(after) == tomllib.loads(text)
    for line in text.splitlines():
        assert any(line in (found, found.replace(",", "", 1)) for found in after.splitlines()), line
    assert len(after.splitlines()) == len(text.splitlines())


def test_a_comment_stays_with_what_it_is_about() -> None:
    assert '  "/b", # last\n  "/h",\n]' in tomltext.append(SHAPES["roots"], ("sandbox", "roots"), "/h")
    bare = tomltext.append(SHAPES["roots without a last comma"], ("sandbox", "roots"), "/h")
    assert '  "/b", # last\n  "/h"\n]' in bare
    assert tomltext.take(SHAPES["roots"], ("sandbox", "roots"), "/a") == SHAPES["roots"].replace(
        '  "/a", # first\n', ""
    )


def test_a_table_made_of_dotted_keys_is_continued_the_same_way() -> None:
    after = tomltext.put(SHAPES["dotted"], ("sandbox", "roots"), ["/h"])
    assert after.splitlines()[:2] == ["sandbox.network = true", 'sandbox.roots = ["/h"]']


@pytest.mark.parametrize("text", ["sandbox = { network = true }\n", 'sandbox = { roots = ["/a"] }\n'])
def test_an_inline_table_on_the_way_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"inline tables|line of its own"):
        edited(text)


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2\n", "[", "a = " + "[" * 100_000])
def test_what_is_not_toml_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"it is (not valid TOML|nested too deeply)"):
        tomltext.load(text)

"""Markdown of issues, comments and notes: what people write is drawn as they mean it, and scrolls by itself."""

from __future__ import annotations

from tests.web.busy import Room
from tests.web.conftest import Person

DRAWN: dict[str, str] = {
    "See <https://www.sqlite.org/lang_transaction.html>.": "p(See a(https://www.sqlite.org/lang_transaction.html).)",
    "<mailto:a@b.example> <javascript:hit=1> <b>": "p(a(a@b.example) <javascript:hit=1> <b>)",
    "[Lisp](https://en.wikipedia.org/wiki/Lisp_(language)) ok": "p(a(Lisp) ok)",
    "a ISSUE-7, and https://example.org/x.": "p(a a(ISSUE-7), and a(https://example.org/x).)",
    "| a | b |\n|:-:|--:|\n| `x|y` | 2 \\| 3 |\n| only |": (
        "div(table(thead(tr(th.middle(a)th.right(b)))"
        "tbody(tr(td.middle(code(x|y))td.right(2 | 3))tr(td.middle(only)td.right()))))"
    ),
    "Text:\n| a | b |\n|---|---|\n| | 2 |\nafter": (
        "p(Text:)div(table(thead(tr(th(a)th(b)))tbody(tr(td()td(2)))))p(after)"
    ),
    "> one\n> - two\n>   > three": "blockquote(p(one)ul(li(p(two)blockquote(p(three)))))",
    "- a\n  - b\n    1. c\n    2. d\n- e\n\n  f": "ul(li(p(a)ul(li(p(b)ol(li(c)li(d)))))li(p(e)p(f)))",
    "- [ ] do\n- [x] did\n  - [ ] sub": (
        "ul(li.task(☐span.hidden( to do) do)li.task(☑span.hidden( done) p(did)ul(li.task(☐span.hidden( to do) sub))))"
    ),
    "3. c\n4. d": "ol(li(c)li(d))",
    "```py\nif a < b:\n\n    run('|')\n```\nend": "pre(code(if a < b:⏎⏎    run('|')))p(end)",
    "1. so:\n\n   ```\n   x\n   ```\n2. then": "ol(li(p(so:)pre(code(x)))li(then))",
    "so\n\n    indented <b>\n\tmore\n\nend": "p(so)pre(code(indented <b>⏎more))p(end)",
    "Title\n=====\nSub\n---\ntext\n***\nend": "h3(Title)h4(Sub)p(text)hr()p(end)",
    "# One ##\n#### Four": "h3(One)h6(Four)",
    "# Learn C#\n# #": "h3(Learn C#)h3()",
    "**bold _and_ more** ~~gone~~ `a*b*` 2*3*4": "p(strong(bold em(and) more) s(gone) code(a*b*) 2em(3)4)",
    "snake_case_name and __init__": "p(snake_case_name and strong(init))",
}
# Each of them kept the page busy for minutes.
SLOW = (
    "# a" + 90_000 * " " + "b",
    "# " + 45_000 * "# " + "b",
    "a|b\n" + 20_000 * " " + 20_000 * "-" + "|x",
    "a|b\n" + 45_000 * "|-" + "x",
)
TREE = """async text => {
  const {html, render} = await import('/web/js/vdom.mjs'), {Markdown} = await import('/web/js/markdown.mjs')
  const box = document.createElement('div')
  render(html`<${Markdown} text=${text} />`, box)
  const kind = node => node.className && !/scroll|issue-id/.test(node.className) ? '.' + node.className : ''
  const told = node => node.nodeType === 3 ? node.data.replaceAll('\\n', '⏎')
    : node.tagName.toLowerCase() + kind(node) + '(' + [...node.childNodes].map(told).join('') + ')'
  return [...box.firstChild.childNodes].map(told).join('')
}"""


def test_what_is_written_is_drawn_as_it_is_meant(person: Person) -> None:
    page = person.page
    page.goto(person.door.address)
    page.wait_for_selector(".door")
    drawn = {text: page.evaluate(TREE, text).replace("br()", "") for text in DRAWN}
    assert drawn == DRAWN


def test_a_text_of_any_shape_is_drawn_in_its_time(person: Person) -> None:
    page = person.page
    page.goto(person.door.address)
    page.wait_for_selector(".door")
    for text in SLOW:
        assert page.evaluate(TREE, text)


def test_wide_things_scroll_by_themselves_and_have_room_around_them(person: Person, room: Room) -> None:
    wide = "| " + " | ".join(f"column {n}" for n in range(20)) + " |\n" + "|---" * 20 + "|\n" + "| value" * 20 + " |"
    text = f"Before.\n\n```\n{'wide ' * 60}\n```\n\n{wide}\n\n> quoted\n\n- a\n\n  b\n"
    room.ask("create_issue", "mallory", title="One", description=text, status="ready")
    page = person.come_in()
    person.go("board~issue/ISSUE-1")
    page.wait_for_selector(".panel .md blockquote")
    measured = page.evaluate("""() => {
      const all = [...document.querySelector('.panel .md').children]
      const boxes = all.map(each => each.getBoundingClientRect())
      const gaps = boxes.slice(1).map((each, n) => each.top - boxes[n].bottom)
      const wide = [...document.querySelectorAll('.panel .md pre, .panel .md .scroll')]
      const panel = document.querySelector('.panel')
      const scrolls = each => each.scrollWidth > each.clientWidth
      return [Math.min(...gaps), wide.map(scrolls), !scrolls(panel)]
    }""")
    assert measured == [8, [True, True], True]

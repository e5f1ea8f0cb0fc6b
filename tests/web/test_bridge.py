"""The page inside an editor: all it asks goes by message, and it is given no key, no cookie and no network.

The editor's extension has its own tests (editors/vscode) and is tried in a real one (tests/editors); here a few lines
stand in for it, in the browser of the person.
"""

from __future__ import annotations

from typing import Any

from tests.web.busy import Room
from tests.web.conftest import Person

# The extension's part: it alone has the session and the network. What the page asked is written down.
STANDS_IN = """
(ticket => {
  const streams = new Map(), log = window.asked = []
  const come = fetch('/session', {method: 'POST', body: JSON.stringify({ticket})})
  const key = come.then(answer => answer.json()).then(said => said.key)
  const say = said => dispatchEvent(new MessageEvent('message', {data: said, origin: location.origin}))
  const get = window.fetch.bind(window)
  window.fetch = () => { window.fetched = true; throw new TypeError('no network here') }
  async function hear({id, verb, room, operation, given, since}) {
    const headers = {'Clearway-Page': await key, ...(room && {'Clearway-Room': room})}
    if (verb === 'stop') return streams.get(id)?.abort()
    if (verb === 'rooms') return told(id, await get('/rooms', {headers}))
    const body = JSON.stringify(given)
    if (verb === 'ask') return told(id, await get(`/ask/${operation}`, {method: 'POST', body, headers}))
    if (verb !== 'events') return
    const control = new AbortController()
    streams.set(id, control)
    const answer = await get('/events', {headers: {...headers, 'Last-Event-ID': since}, signal: control.signal})
    say({id, begun: true})
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const {value, done} = await reader.read()
      if (done) return say({id, status: 200, body: ''})
      say({id, part: value})
    }
  }
  const told = async (id, answer) => say({id, status: answer.status, body: await answer.text()})
  window.acquireVsCodeApi = () => ({
    getState: () => JSON.parse(sessionStorage.getItem('kept')),
    setState: kept => sessionStorage.setItem('kept', JSON.stringify(kept)),
    postMessage: message => { log.push(message); hear(message).catch(() => say({id: message.id, status: 0})) },
  })
  window.lead = go => say({go})
  window.break = () => [...streams.values()].forEach(each => each.abort())
})
"""


def _inside(person: Person) -> Any:
    person.context.add_init_script(f"({STANDS_IN})('{person.door.people.ticket()}')")
    page = person.page
    page.goto(f"{person.door.address}/")
    page.wait_for_selector(".connection.live")
    return page


def test_inside_an_editor_the_page_asks_by_message_only(person: Person, room: Room) -> None:
    """The board, a deed, the log as it grows, and a link; and nothing of the session within reach of the page."""
    room.ask("create_issue", "human", title="Split the lexer", status="ready")
    page = _inside(person)
    page.get_by_text("Split the lexer").first.wait_for()
    room.ask("create_issue", "human", title="Came by the stream", status="ready")
    page.get_by_text("Came by the stream").first.wait_for()
    page.locator("a[href$='~issue/ISSUE-1']").first.click()
    page.locator(".panel").get_by_text("Split the lexer").first.wait_for()
    field = page.locator(".panel textarea").first
    field.fill("said in a frame")
    field.locator("xpath=ancestor::form").locator("button").last.click()
    page.locator(".panel").get_by_text("said in a frame").first.wait_for()
    assert page.evaluate("window.fetched") is None
    assert page.evaluate("[document.cookie, localStorage.getItem('clearway-key')]") == ["", None]
    assert set(page.evaluate("asked.map(each => each.verb)")) <= {"rooms", "ask", "events", "here"}


def test_it_goes_on_where_its_stream_broke_keeps_its_place_and_wears_the_editors_theme(
    person: Person, room: Room
) -> None:
    room.ask("create_issue", "human", title="Split the lexer", status="ready")
    page = _inside(person)
    seen = page.evaluate("asked.find(each => each.verb === 'events').since")
    room.ask("create_issue", "human", title="Before it broke", status="ready")
    page.get_by_text("Before it broke").first.wait_for()
    page.evaluate("window.break()")
    page.wait_for_function("() => asked.filter(each => each.verb === 'events').length > 1")
    resumed = page.evaluate("asked.filter(each => each.verb === 'events').at(-1).since")
    assert resumed > seen
    project = room.rooms.of_folder(str(room.repo)).project
    page.evaluate("room => lead({room, panel: ['issue', 'ISSUE-1']})", project)
    page.locator(".panel").get_by_text("Split the lexer").first.wait_for()
    assert page.evaluate("JSON.parse(sessionStorage.getItem('kept')).place").endswith("~issue/ISSUE-1")
    for looks, theme in (
        ("vscode-dark", "dark"),
        ("vscode-light", "light"),
        ("vscode-high-contrast", "dark"),
        ("vscode-high-contrast vscode-high-contrast-light", "light"),
    ):
        page.evaluate("looks => { document.body.className = looks }", looks)
        page.locator(f"html[data-theme={theme}]").wait_for()

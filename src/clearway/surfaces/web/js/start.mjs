// The beginning: a link with a ticket logs in, then the room that the address names is entered.
import {html, render, useState, useEffect} from './vdom.mjs'
import {logIn, loggedIn, rooms, renewNowAndThen} from './wire.mjs'
import {inside, lead} from './bridge.mjs'
import {set, use, enter, state} from './store.mjs'
import {parse, replace, usePlace, place, go} from './place.mjs'
import {Shell} from './shell.mjs'
import {mark} from './marks.mjs'
import './keys.mjs'

const theme = localStorage.getItem('clearway-theme')
if (theme && !inside) document.documentElement.dataset.theme = theme

function Door({why}) {
  return html`<main class="door"><h1>${mark} Clearway</h1>
    ${why && html`<p class="failure" role="alert">${why}</p>`}
    <p>This is the room of the agents that work on this machine. To come in, run</p>
    <pre>clearway web --open</pre>
    <p class="dim">in one of your repositories. It opens this page with a link that lets one browser in, once.</p></main>`
}

function App() {
  const [out, leave] = useState(''), [ready, come] = useState(false)
  const known = use(now => now.rooms), here = use(now => now.room), at = usePlace()
  useEffect(() => {
    const gone = () => { leave('You are logged out.'); come(false) }
    addEventListener('clearway-out', gone)
    begin().then(() => come(true), refused => leave(refused.status === 401 && !refused.ticket ? ' ' : refused.message))
    return () => removeEventListener('clearway-out', gone)
  }, [])
  useEffect(() => {
    if (!ready || !known) return
    const named = known.find(each => each.slug === at.room) || known[0]
    if (named && named.slug !== at.room) replace({room: named.slug})
    if (named && state.room !== named) enter(named)
  }, [ready, known, at.room])
  if (out) return html`<${Door} why=${out.trim()} />`
  if (!ready) return html`<p class="still">Clearway</p>`
  if (!known.length) return html`<main class="door"><h1>${mark} Clearway</h1><p>No repository on this machine has a room yet. In one of yours, run</p><pre>clearway init
clearway connect --write</pre><p class="dim">This page goes on by itself.</p></main>`
  return here && html`<${Shell} />`
}

async function begin() {
  const asked = new URLSearchParams(location.hash.slice(1))
  const ticket = location.hash.startsWith('#ticket=') && asked.get('ticket')
  let project = ''
  if (ticket) {
    project = asked.get('room') || ''
    history.replaceState(null, '', location.pathname)
    try { await logIn(ticket) } catch (refused) {
      if (!loggedIn()) { refused.ticket = true; throw refused }
    }
  } else if (!loggedIn()) {
    throw Object.assign(new Error(''), {status: 401})
  }
  await renewNowAndThen()
  let found = await rooms()
  while (!found.length) {
    set({rooms: []})
    render(html`<${Waiting} />`, document.getElementById('room'))
    await new Promise(done => setTimeout(done, 3000))
    found = await rooms()
  }
  const taken = new Map()
  for (const room of found) {
    const count = (taken.get(room.name) || 0) + 1
    taken.set(room.name, count)
    room.slug = count > 1 ? `${room.name}-${count}` : room.name
  }
  set({rooms: found})
  const named = found.find(room => room.project === project)
  const was = parse(location.hash)
  replace({...was, at: named ? null : was.at, room: named ? named.slug : was.room || found[0].slug})
  lead(({room, panel = null}) => {
    const there = found.find(each => each.project === room)
    if (there) go({room: there.slug, view: place.room === there.slug ? place.view : 'board', panel})
  })
}
const Waiting = () => html`<main class="door"><h1>${mark} Clearway</h1><p>No repository on this machine has a room yet. In one of yours, run</p><pre>clearway init
clearway connect --write</pre><p class="dim">This page goes on by itself.</p></main>`

render(html`<${App} />`, document.getElementById('room'))

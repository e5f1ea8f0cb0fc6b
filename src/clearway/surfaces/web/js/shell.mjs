// The frame: counters on top, agents and what is held at the side, what needs the human first, the view, the feed.
import {html, useState, useEffect, useRef} from './vdom.mjs'
import {use, set, state} from './store.mjs'
import {logOut} from './wire.mjs'
import {again} from './bridge.mjs'
import {usePlace, href, go} from './place.mjs'
import {Agent, Badge, Lease, Hour, Failure, Still, Issue, mark} from './marks.mjs'
import {plural, who, useTick, age} from './words.mjs'
import {Needs, needs} from './needs.mjs'
import {Feed} from './feed.mjs'
import {Board} from './board.mjs'
import {Replay} from './replay.mjs'
import {Aloud} from './aloud.mjs'

const TABS = [['board', 'Board'], ['list', 'List'], ['graph', 'Graph'], ['map', 'Map'], ['messages', 'Messages'], ['reviews', 'Reviews'], ['figures', 'Figures']]
const LATER = {list: './list.mjs', graph: './graph.mjs', map: './map.mjs', messages: './messages.mjs', reviews: './reviews.mjs', figures: './figures.mjs', search: './search.mjs'}
const loaded = {board: Board}

// A view is loaded when it is first looked at.
function useModule(name, from) {
  const [, draw] = useState(0), [refused, fail] = useState(null), found = loaded[name]
  useEffect(() => {
    fail(null)
    // It may have come since this was drawn, for one that is gone: then it is drawn all the same.
    if (!found && from) import(from).then(module => { loaded[name] = module.default; draw(n => n + 1) }, fail)
  }, [name, from])
  return [found, refused && {message: 'This part of the page could not be loaded; the host may just be starting again.', code: 'UNREACHABLE'}]
}

function View() {
  const at = usePlace()
  const [Found, refused] = useModule(at.view, LATER[at.view])
  if (refused) return html`<${Failure} of=${refused} retry=${again} />`
  return Found ? html`<${Found} key=${at.view} place=${at} />` : html`<${Still} />`
}

function Panel() {
  const at = usePlace(), room = use(now => now.room)
  const [Found, refused] = useModule('panel', at.panel ? './panel.mjs' : null)
  const box = useRef(null), before = useRef(null)
  // Until the room that the address names is entered, every question would go to the one before it.
  const key = at.room === room.slug && at.panel ? [room.project, ...at.panel].join('/') : ''
  useEffect(() => {
    if (!key) { before.current?.focus?.(); before.current = null; return }
    before.current ||= document.activeElement
    box.current?.focus({preventScroll: true})
    if (box.current) box.current.scrollTop = 0
  }, [key, Boolean(Found)])
  if (!key) return null
  return html`<section class="panel" ref=${box} tabindex="-1" aria-label=${at.panel.join(' ')}>
    <a class="close" href=${href({panel: null})} aria-label="Close" title="Close (esc)">×</a>
    ${Found ? html`<${Found} kind=${at.panel[0]} id=${at.panel[1]} key=${key} />` : refused ? html`<${Failure} of=${refused} retry=${again} />` : html`<${Still} />`}</section>`
}

function Dialog() {
  const open = use(now => now.dialog)
  const [Found] = useModule('dialog', open ? './dialogs.mjs' : null)
  const box = useRef(null), before = useRef(null)
  useEffect(() => {
    if (open) { before.current ||= document.activeElement; box.current?.showModal?.() } else { before.current?.focus?.(); before.current = null }
  }, [Boolean(open), Boolean(Found)])
  if (!open || !Found) return null
  return html`<dialog ref=${box} onCancel=${event => { event.preventDefault(); set({dialog: null}) }} onClick=${event => event.target === box.current && set({dialog: null})}>
    <${Found} ...${open} key=${JSON.stringify([open.kind, open.id])} /></dialog>`
}

// What went wrong is told at once, what was done when there is a pause.
const SAYS = [['done', 'status'], ['refused', 'alert']]
function Said() {
  const said = use(now => now.said)
  useEffect(() => {
    if (!said) return
    const over = setTimeout(() => set({said: null}), said.kind === 'refused' ? 9000 : 4000)
    return () => clearTimeout(over)
  }, [said])
  return SAYS.map(([kind, role]) => html`<div class=${`said ${kind}`} role=${role} key=${kind}>${said?.kind === kind && html`<p>${said.text} <button class="text" onClick=${() => set({said: null})} aria-label="Close this">×</button></p>`}</div>`)
}

const CONNECTION = {new: 'connecting', live: 'connected', lost: 'connection lost, trying again', out: 'logged out'}

function Top() {
  const rooms = use(now => now.rooms), room = use(now => now.room), connection = use(now => now.connection)
  const board = use(now => now.board), holdings = use(now => now.holdings), refused = use(now => now.refusedToday)
  use(now => now.roster); use(now => now.overdue); use(now => now.tasks)
  const replayed = use(now => now.replay)
  const mine = needs(state)
  const count = mine.length
  useEffect(() => { document.title = (count ? `(${count}) ` : '') + `${room.name} · Clearway` }, [count, room])
  const [query, type] = useState('')
  const seek = event => { event.preventDefault(); document.activeElement.blur(); if (query.trim()) go({view: 'search', rest: [query.trim()]}) }
  const theme = () => {
    const dark = (document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
    document.documentElement.dataset.theme = dark ? 'light' : 'dark'
    localStorage.setItem('clearway-theme', dark ? 'light' : 'dark')
  }
  const paths = replayed?.reply ? replayed.reply.paths.length : holdings?.paths.length
  const live = replayed?.reply ? replayed.reply.counts.in_progress || 0 : board?.counts.live
  return html`<header class="top">
    <button class="drawer-opener" aria-label="Agents and held paths" aria-expanded=${Boolean(state.drawer)} onClick=${() => set({drawer: !state.drawer})}><i></i><i></i><i></i></button>
    <a class="logo" href=${href({view: 'board'})} aria-label="Clearway, board">${mark}<b>Clearway</b></a>
    ${rooms.length > 1 ? html`<select class="rooms" aria-label="Room" value=${room.slug} onChange=${event => go({room: event.target.value, view: 'board'})}>${rooms.map(each => html`<option value=${each.slug} title=${each.folder}>${each.slug}</option>`)}</select>`
      : html`<span class="rooms" title=${room.folder}>${room.name}</span>`}
    <form class="seek" role="search" onSubmit=${seek}><input id="search" type="search" placeholder="Search" aria-label="Search" value=${query} onInput=${event => type(event.target.value)} /><kbd aria-hidden="true">/</kbd></form>
    <dl class="counts">
      <div class=${count ? 'needs' : ''}><dt>needs you</dt><dd>${count}</dd></div>
      <div><dt>live</dt><dd class="live">${live ?? '–'}</dd></div>
      <div><dt>held</dt><dd>${paths ?? '–'}</dd></div>
      <div class="refusals"><dt>refused today</dt><dd class=${refused ? 'refused' : ''}>${refused}</dd></div>
    </dl>
    <span class=${'connection ' + connection} role="img" aria-label=${CONNECTION[connection]} title=${CONNECTION[connection]}><i></i><span>${CONNECTION[connection]}</span></span>
    <button class="icon" onClick=${() => set({dialog: {kind: 'issue'}})} title="New issue (n)">+ <span>Issue</span></button>
    <button class="icon" onClick=${theme} title="Light or dark" aria-label="Light or dark"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M8 1.5a6.5 6.5 0 1 0 0 13z" /><circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" /></svg></button>
    <button class="icon" onClick=${() => set({dialog: {kind: 'keys'}})} title="Keys (?)" aria-label="Keys">?</button>
    <button class="icon out" onClick=${logOut} title="Log this browser out">Log out</button>
  </header>`
}

const ORDER = ['busy', 'limited', 'stalled', 'idle', 'offline']

export function agentsOf(now) {
  if (now.replay?.reply) {
    const held = new Map(now.replay.reply.issues.filter(each => each.session).map(each => [each.session, each.display_id]))
    return now.replay.reply.agents.filter(each => each.agent !== 'human').map(each => ({...each, presence: 'here', issue: held.get(each.session), replayed: true}))
  }
  const live = new Map((now.board?.columns.live || []).filter(card => card.live).map(card => [card.live.session, card]))
  return (now.roster?.agents || []).map(each => ({...each, card: live.get(each.session), presence: each.limited_until || each.presence === 'rate-limited' ? 'limited' : each.presence}))
    .sort((one, two) => ORDER.indexOf(one.presence) - ORDER.indexOf(two.presence) || one.agent.localeCompare(two.agent) || one.session.localeCompare(two.session))
}

function Agents() {
  const roster = use(now => now.roster), failure = use(now => now.failures.roster)
  use(now => now.board); use(now => now.replay)
  useTick(30e3)
  const agents = agentsOf(state)
  return html`<section class="agents" aria-labelledby="agents"><h2 id="agents">Agents <span>${agents.length || ''}</span></h2>
    <${Failure} of=${failure} />
    ${!roster && !state.replay ? html`<${Still} />` : !agents.length && html`<p class="dim quiet">Nobody is here. An agent that was connected comes in with its first prompt.</p>`}
    <ul data-list="agents">${agents.map(each => html`<li key=${each.session}><a class=${'one ' + each.presence} data-item href=${href({panel: ['agent', each.session]})}>
      <${Badge} agent=${each.agent} session=${each.session} />
      <span class="about"><span class="line"><b>${who(each.agent, each.session)}</b>${each.issue ? html`<span class="issue-id">${each.issue}</span>` : html`<span class="dim">${each.presence}</span>`}</span>
        ${each.doing && html`<span class="dim doing">${each.doing}</span>`}
        ${each.presence === 'limited' && html`<span class="stall">at its provider's limit${each.limited_until ? html` until <${Hour} at=${each.limited_until} />` : ''}</span>`}
        ${each.hooks && html`<span class="advisory" title="The hooks of this client cannot refuse an edit, or were not seen to">advisory only</span>`}
        ${each.presence === 'stalled' && html`<span class="stall">silent for ${age(each.seen_at)}</span>`}
        ${each.card?.live && html`<${Lease} until=${each.card.live.until} seconds=${each.card.live.lease_seconds} />`}
      </span></a></li>`)}</ul>
    ${roster?.ended ? html`<p class="dim quiet">${plural(roster.ended, 'session')} ended lately</p>` : null}</section>`
}

// Where there is little room, the folder gives way before the name.
function ShortPath({path}) {
  const end = path.lastIndexOf('/') + 1
  return html`<a class="path short" href=${href({panel: ['path', path]})} data-path=${path}><span class="front">${path.slice(0, end)}</span><span class="end">${path.slice(end)}</span></a>`
}

const HELD_SHOWN = 60
// What is held, by whom: a name once, and below it the paths with what is left of each lease.
function Held() {
  const holdings = use(now => now.holdings), replay = use(now => now.replay), failure = use(now => now.failures.holdings)
  const paths = replay?.reply ? replay.reply.paths : holdings?.paths
  const several = new Set((paths || []).map(each => each.checkout)).size > 1
  const branch = new Map((holdings?.checkouts || []).map(each => [each.checkout, each.branch])), holders = new Map()
  for (const each of (paths || []).slice(0, HELD_SHOWN)) {
    const key = `${each.session} ${each.checkout}`
    holders.set(key, [...(holders.get(key) || []), each])
  }
  return html`<section class="held" aria-labelledby="held"><h2 id="held">Held <span>${paths?.length || ''}</span></h2>
    <${Failure} of=${failure} />
    ${!paths ? html`<${Still} />` : !paths.length && html`<p class="dim quiet">No path is held.</p>`}
    <ul>${[...holders].map(([key, items]) => html`<li key=${key}><p class="holder"><${Agent} agent=${items[0].agent} session=${items[0].session} />${several && branch.get(items[0].checkout) && html` <span class="branch">${branch.get(items[0].checkout)}</span>`}</p>
      <ul>${items.map(each => html`<li key=${each.path + each.mode}><${ShortPath} path=${each.path} />
        ${each.elsewhere ? html`<span class="overlap" title="Held in another checkout, too">⋈<span class="hidden"> also in another checkout</span></span>` : null}
        ${each.until && html`<${Lease} until=${each.until} seconds=${each.lease_seconds} />`}</li>`)}</ul></li>`)}</ul>
    ${paths?.length > HELD_SHOWN && html`<p><a href=${href({view: 'map'})}>All ${paths.length} on the map</a></p>`}</section>`
}

export function Shell() {
  const at = usePlace(), room = use(now => now.room)
  const drawer = use(now => now.drawer), guard = use(now => now.roster?.guard), replay = use(now => now.replay)
  const known = use(now => Boolean(now.board || now.failures.board))
  useEffect(() => { set({drawer: false}) }, [at.view, at.panel?.join('/')])
  useEffect(() => {
    // The small card is loaded when somebody begins to look around.
    const wake = event => import('./hover.mjs').then(hover => hover.begin(event))
    addEventListener('pointermove', wake, {once: true})
    addEventListener('keydown', wake, {once: true})
  }, [])
  useEffect(() => { document.querySelector('.tabs .here')?.scrollIntoView({block: 'nearest', inline: 'nearest'}) }, [at.view, known])
  const tab = at.view === 'search' ? '' : at.view
  const side = useRef(null), was = useRef(false)
  useEffect(() => {
    if (drawer) side.current?.focus()
    else if (was.current && !at.panel) document.querySelector('.drawer-opener').focus()
    was.current = drawer
  }, [drawer])
  return html`<div class=${'frame' + (replay ? ' replaying' : '') + ` at-${at.view}` + (at.panel ? ' with-panel' : '')}>
    <a class="skip" href="#view" onClick=${event => { event.preventDefault(); document.getElementById('view').focus() }}>To the view</a>
    <${Top} />
    <aside class=${'side' + (drawer ? ' open' : '')} ref=${side} tabindex="-1" aria-label="Agents and held paths">${known && html`<${Agents} /><${Held} />`}</aside>
    ${drawer && html`<div class="veil" onClick=${() => set({drawer: false})}></div>`}
    ${!known ? html`<main key="soon" aria-busy="true"><div class="view"><${Still} /></div></main>` : html`<main key="here"><h1 class="hidden">${room.name}, ${TABS.find(([view]) => view === at.view)?.[1] || 'Search'}</h1>
      ${guard && html`<p class="guard-off" role="status">The guard is switched off: every edit passes${guard.until ? html` until ${guard.until}` : ''}. <code>clearway on</code> switches it on.</p>`}
      ${!replay && html`<${Needs} />`}
      <nav class="tabs" aria-label="Views">${TABS.map(([view, name]) => html`<a href=${href({view})} class=${tab === view ? 'here' : ''} aria-current=${tab === view ? 'page' : undefined}>${name}</a>`)}</nav>
      <div id="view" class=${'view view-' + at.view} tabindex="-1"><${View} /></div>
      ${(at.view === 'board') && html`<${Feed} />`}
    </main>`}
    <${Panel} />
    <${Replay} />
    <${Dialog} /><${Said} /><${Aloud} />
  </div>`
}

// What the page knows of one room, and how it is kept true: each slice is asked for once, and again only when an event
// says that it may have changed, or when a lease that is shown is due to be renewed. An idle room is not asked at all.
import {ask, listen, chooseRoom} from './wire.mjs'
import {useState, useEffect} from './vdom.mjs'

const FEED_KEPT = 400
export const state = {
  rooms: null, room: null, board: null, holdings: null, roster: null, tasks: null, overdue: null,
  events: [], connection: 'new', failures: {}, replay: null, narrow: false, said: null, refusedToday: 0,
}
const watchers = new Set()
let drawing = false

export function set(change) {
  Object.assign(state, change)
  if (drawing) return
  drawing = true
  queueMicrotask(() => { drawing = false; for (const look of [...watchers]) look() })
}

// A component draws again when what it picked is another thing.
export function use(pick) {
  const [picked, draw] = useState(() => pick(state))
  useEffect(() => {
    const look = () => draw(() => pick(state))
    watchers.add(look)
    look()
    return () => watchers.delete(look)
  }, [])
  return picked
}

const READ = {
  board: () => ask('get_board', {cards: cards}),
  holdings: () => ask('get_holdings'),
  roster: () => ask('room'),
  tasks: () => ask('list_tasks', {states: ['pending', 'leased', 'started', 'needs_review', 'failed', 'dead_letter'], limit: 100}),
  overdue: () => ask('overdue', {seconds: 120}),
}
let cards = 60
const BEAT_MS = 500 // between two questions for the same slice, however much happens
const waiting = {}

export function moreCards() {
  const shown = Math.max(...Object.values(state.board?.columns || {}).map(each => each.length), 60)
  if (cards > shown) return // asked for already
  cards = Math.min(500, cards + 120)
  touch('board')
}

// A slice may have changed: ask at once, then at most twice a second, and not while nobody looks.
export function touch(...names) {
  for (const name of names) {
    const slot = waiting[name] ||= {busy: false, again: false, last: 0}
    if (slot.busy) { slot.again = true; continue }
    slot.busy = true
    setTimeout(() => read(name, slot), Math.max(0, slot.last + BEAT_MS - Date.now()))
  }
}

async function read(name, slot) {
  const of = state.room
  slot.last = Date.now()
  slot.again = false
  if (document.visibilityState === 'hidden' && state[name]) {
    slot.busy = false
    stale.add(name)
    return
  }
  try {
    const reply = await READ[name]()
    if (state.room === of) set({[name]: reply, failures: {...state.failures, [name]: null}})
  } catch (refused) {
    if (state.room === of) set({failures: {...state.failures, [name]: refused}})
  }
  slot.busy = false
  if (slot.again) touch(name)
}

const stale = new Set()
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible') return
  touch(...stale)
  stale.clear()
})

const SLICES = [
  [/^(paths_|overlap|path_|resource)/, ['holdings', 'roster']],
  [/^(session_|agent_|guard_|client_|limit)/, ['roster', 'board', 'holdings']],
  [/^(issue_|attempt_|status_|labels?_|relation|review_|decision|plan|reserved|blocked|project)/, ['board']],
  [/^attempt_(started|completed|failed|interrupted|expired|adopted)/, ['roster', 'holdings']],
  [/^message_/, ['roster', 'overdue']],
  [/^(task_|message_sent)/, ['tasks', 'roster']],
]

function hear(events) {
  const names = new Set()
  for (const event of events) for (const [types, slices] of SLICES) if (types.test(event.type)) slices.forEach(name => names.add(name))
  touch(...names)
  const kept = state.events.concat(events).slice(-FEED_KEPT)
  set({events: kept, refusedToday: state.refusedToday + refusals(events)})
  for (const event of events) for (const tell of listeners) tell(event)
}

const listeners = new Set()
export function onEvent(tell) { listeners.add(tell); return () => listeners.delete(tell) }

const refusals = events => {
  const midnight = new Date().setHours(0, 0, 0, 0)
  return events.filter(event => event.type === 'refused' && Date.parse(event.at) >= midnight).length
}

let stop = null
export async function enter(room) {
  stop?.()
  stop = null
  chooseRoom(room.project)
  set({room, board: null, holdings: null, roster: null, tasks: null, overdue: null, events: [], connection: 'new', failures: {}, replay: null, refusedToday: 0})
  const names = Object.keys(READ)
  const found = await Promise.allSettled(names.map(name => READ[name]()))
  if (state.room !== room) return
  // All at once, so that nothing on the page moves when it comes.
  const first = {failures: {}}
  found.forEach((each, n) => { if (each.status === 'fulfilled') first[names[n]] = each.value; else first.failures[names[n]] = each.reason })
  const board = first.board
  if (!board) {
    set({failures: first.failures, connection: 'lost'})
    setTimeout(() => state.room === room && !state.board && enter(room), 3000)
    return
  }
  const latest = board.latest_event_id
  set(first)
  stop = listen(latest, hear, connection => set({connection}))
  const since = Math.max(0, latest - 200)
  const [past, refused] = await Promise.all([
    ask('get_changes', {since_event_id: since, limit: 200}).catch(() => ({events: []})),
    ask('stats', {days: 1}).catch(() => null),
  ])
  if (state.room !== room) return
  const known = new Set(state.events.map(event => event.id))
  const before = past.events.filter(event => !known.has(event.id) && event.id <= latest)
  set({events: before.concat(state.events), refusedToday: refused ? refused.refusals.total : refusals(before)})
}

// A lease that is shown is carried on by signs of life that no event tells: look again when half of it is over.
setInterval(() => {
  if (document.visibilityState === 'hidden' || !state.room || state.replay) return
  const due = each => {
    const left = Date.parse(each.until) - Date.now(), asked = each.asked || 0
    if (left > each.lease_seconds * 500 || Date.now() - asked < each.lease_seconds * 150) return false
    each.asked = Date.now()
    return true
  }
  if ((state.board?.columns.live || []).some(card => card.live && due(card.live))) touch('board')
  if ((state.holdings?.paths || []).some(due)) touch('holdings')
}, 5000)

export function say(text, kind = 'done') {
  set({said: {text, kind, at: Date.now()}})
}

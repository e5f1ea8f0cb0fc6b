// Asking the host: operations, the stream of events, logging in and out. Whoever asks shows the key that the page keeps;
// the cookie goes along by itself. A refusal is thrown as it was said.
import {inside, carried} from './bridge.mjs'

const KEY = 'clearway-key'
let room = ''

export class Refused extends Error {
  constructor(status, said) {
    super(said.message || 'The host does not answer.')
    this.status = status
    this.code = said.code || 'UNREACHABLE'
    this.facts = said
  }
}

export const loggedIn = () => inside || Boolean(localStorage.getItem(KEY))
export function chooseRoom(project) { room = project }

async function fetched(path, options = {}) {
  const headers = {...(!inside && {'Clearway-Page': localStorage.getItem(KEY) || ''}), ...(room && {'Clearway-Room': room}), ...options.headers}
  try {
    return await (inside ? carried : fetch)(path, {...options, headers, credentials: 'same-origin', cache: 'no-store'})
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new Refused(0, {code: 'UNREACHABLE', message: 'The host does not answer. The page tries again by itself.'})
  }
}

async function answered(response) {
  const said = await response.json().catch(() => ({}))
  if (response.ok) return said
  if (response.status === 401 && said.code === 'UNAUTHORIZED') dispatchEvent(new Event('clearway-out'))
  throw new Refused(response.status, said)
}

export const ask = async (operation, given = {}) => answered(await fetched(`/ask/${operation}`, {method: 'POST', body: JSON.stringify(given)}))
export const rooms = async () => (await answered(await fetched('/rooms'))).rooms

export async function logIn(ticket) {
  const said = await answered(await fetched('/session', {method: 'POST', body: JSON.stringify({ticket})}))
  localStorage.setItem(KEY, said.key)
  localStorage.setItem(KEY + '-since', Date.now())
}

// A session's halves are made new now and then, so that what was copied once is not good for long.
export async function renewNowAndThen() {
  if (inside) return
  const since = Number(localStorage.getItem(KEY + '-since') || 0)
  if (Date.now() - since < 6 * 3600e3) return
  localStorage.setItem(KEY + '-since', Date.now())
  try {
    localStorage.setItem(KEY, (await answered(await fetched('/session', {method: 'PUT'}))).key)
  } catch { /* the old ones are still good, or the next question says so */ }
}

export async function logOut() {
  try { await fetched('/session', {method: 'DELETE'}) } finally {
    localStorage.removeItem(KEY)
    dispatchEvent(new Event('clearway-out'))
  }
}

const STALLED_MS = 40e3 // the host breathes every 15 s
const pause = ms => new Promise(done => setTimeout(done, ms))

// Hear the log from an event on, across lost connections and sleep. `hear` gets lists of events, `state` says how it is.
export function listen(since, hear, state) {
  let over = false, tries = 0, control = null, wake = null, heard = Date.now()
  // A machine that slept, or changed its network, has a stream that may never say anything again.
  const soon = () => { tries = 0; control?.abort(); wake?.() }
  const seen = () => { if (document.visibilityState === 'visible' && Date.now() - heard > 20e3) soon() }
  addEventListener('online', soon)
  document.addEventListener('visibilitychange', seen)
  async function run() {
    while (!over) {
      try {
        await stream()
        state('lost')
      } catch (error) {
        if (over) return
        state(error.status === 401 ? 'out' : 'lost')
      }
      if (over) return
      await Promise.race([pause(Math.min(3e3, 300 * 1.5 ** tries++)), new Promise(done => { wake = done })])
    }
  }
  async function stream() {
    control = new AbortController()
    let alarm = setTimeout(() => control.abort(), STALLED_MS)
    const response = await fetched('/events', {headers: {'Last-Event-ID': String(since)}, signal: control.signal})
    if (!response.ok) await answered(response)
    tries = 0
    state('live')
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    try {
      for (;;) {
        const {value, done} = await reader.read()
        if (done) return
        heard = Date.now()
        clearTimeout(alarm)
        alarm = setTimeout(() => control.abort(), STALLED_MS)
        const parts = (rest + value).split('\n\n')
        rest = parts.pop()
        const events = parts.map(told).filter(Boolean)
        if (events.length) {
          since = events.at(-1).id
          hear(events)
        }
      }
    } finally { clearTimeout(alarm) }
  }
  run()
  return () => {
    over = true
    control?.abort()
    wake?.()
    removeEventListener('online', soon)
    document.removeEventListener('visibilitychange', seen)
  }
}

function told(part) {
  const line = part.split('\n').find(each => each.startsWith('data: '))
  try { return line && JSON.parse(line.slice(6)) } catch { return null }
}

// Where one is: the address bar has the room, the view and the open panel, so every place is a link and Back works.
// #/ROOM[@EVENT]/VIEW[/more...]~KIND/ID; with an event it is the room as it was after that.
import {useState, useEffect} from './vdom.mjs'

export const VIEWS = ['board', 'list', 'graph', 'map', 'messages', 'reviews', 'figures', 'search']
const part = encodeURIComponent
const plain = text => { try { return decodeURIComponent(text) } catch { return text } }

export function parse(hash) {
  const [main, panel] = hash.replace(/^#\/?/, '').split('~')
  const [first, ...parts] = main.split('/'), [room = '', view = 'board', ...rest] = [first.split('@')[0], ...parts].map(plain)
  const found = {room, at: Number(/@(\d{1,15})$/.exec(first)?.[1]) || null, view: VIEWS.includes(view) ? view : 'board', rest, panel: null}
  if (panel) {
    const [kind, ...id] = panel.split('/').map(plain)
    if (kind && id.length) found.panel = [kind, id.join('/')]
  }
  return found
}

export let place = parse(location.hash)
const watchers = new Set()
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#ticket=')) { location.reload(); return }
  place = parse(location.hash)
  for (const look of [...watchers]) look()
})

export function href(change = {}) {
  const to = {...place, ...change}
  if ('view' in change && !('rest' in change)) to.rest = []
  if ('view' in change && !('panel' in change)) to.panel = null
  if ('room' in change && !('at' in change)) to.at = null
  const main = [part(to.room) + (to.at ? `@${to.at}` : ''), ...[to.view, ...to.rest].map(part)].join('/')
  return `#/${main}${to.panel ? '~' + to.panel.map(part).join('/') : ''}`
}
export const go = change => { location.hash = href(change) }
export function replace(change) {
  history.replaceState(null, '', href(change))
  place = parse(location.hash)
  for (const look of [...watchers]) look()
}

export function usePlace() {
  const [, draw] = useState(0)
  useEffect(() => {
    const look = () => draw(n => n + 1)
    watchers.add(look)
    return () => watchers.delete(look)
  }, [])
  return place
}

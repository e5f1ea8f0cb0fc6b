// Everything by keyboard. `g b` board, `g m` map, `/` search, `j k` move, `enter` open, `.` actions, `?` help.
import {go, place} from './place.mjs'
import {set, state} from './store.mjs'

export const KEYS = [
  ['g b', 'board'], ['g l', 'list'], ['g g', 'graph'], ['g m', 'map'], ['g w', 'messages'], ['g r', 'reviews'], ['g f', 'figures'],
  ['/', 'search'], ['n', 'new issue'], ['c', 'write a message'], ['j k', 'next, previous'], ['h l', 'column to the left, right'],
  ['enter', 'show it at the side'], ['.', 'actions'], ['esc', 'close'], ['?', 'these keys'],
  ['+ - 0', 'in the graph: larger, smaller, all'], ['← →', 'in the graph: along the lines'], ['ctrl+space', 'complete what is being written'],
]
const VIEW = {b: 'board', l: 'list', g: 'graph', m: 'map', w: 'messages', r: 'reviews', f: 'figures'}
let leader = 0

addEventListener('keydown', event => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const at = event.target
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || at.isContentEditable
  if (event.key === 'Escape') {
    if (state.dialog) set({dialog: null})
    else if (typing) at.blur()
    else if (state.drawer) set({drawer: false})
    else if (place.panel) go({panel: null})
    return
  }
  if (typing || state.dialog) return
  const done = () => event.preventDefault()
  if (leader && Date.now() - leader < 1200 && VIEW[event.key]) { leader = 0; done(); return go({view: VIEW[event.key]}) }
  leader = 0
  switch (event.key) {
    case 'g': leader = Date.now(); break
    case '/': done(); document.querySelector('#search')?.focus(); break
    case '?': done(); set({dialog: {kind: 'keys'}}); break
    case 'n': done(); set({dialog: {kind: 'issue'}}); break
    case 'c': done(); go({view: 'messages'}); reach('#to'); break
    case 'j': done(); move(1); break
    case 'k': done(); move(-1); break
    case 'h': done(); across(-1); break
    case 'l': done(); across(1); break
    case 'Enter': if (at.matches('[data-item]:not(a)')) at.querySelector('a[href]')?.click(); break
    case '.': {
      const id = current()?.dataset.id || (place.panel?.[0] === 'issue' && place.panel[1])
      if (id) { done(); set({dialog: {kind: 'actions', id}}) }
    }
  }
})

// A view may have to be loaded before anything in it can be reached.
function reach(selector, tries = 60) {
  const found = document.querySelector(selector)
  if (found) found.focus()
  else if (tries) setTimeout(reach, 50, selector, tries - 1)
}

const items = () => [...document.querySelectorAll('[data-item]')].filter(each => each.offsetParent)
const current = () => document.activeElement?.closest?.('[data-item]')
function move(step) {
  const all = items(), here = current(), view = document.getElementById('view')
  const list = here ? all.filter(each => each.closest('[data-list]') === here.closest('[data-list]')) : all.filter(each => view?.contains(each)).concat(all)
  focus(here ? list[list.indexOf(here) + step] : list[0])
}
function across(step) {
  const lists = [...document.querySelectorAll('[data-list]')].filter(each => each.offsetParent && each.querySelector('[data-item]'))
  const here = current()?.closest('[data-list]')
  focus(lists[here ? lists.indexOf(here) + step : 0]?.querySelector('[data-item]'))
}
function focus(item) {
  item?.focus()
  item?.scrollIntoView({block: 'nearest'})
}

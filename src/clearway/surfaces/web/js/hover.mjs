// The small card: what is known of the thing that the pointer rests on, or that the keys have reached. It comes after a
// moment, never lies under the pointer, stays while the pointer is on it, and goes with Escape. On touch there is none.
import {html, render, useLayoutEffect, useRef, useState, useEffect} from './vdom.mjs'
import {use} from './store.mjs'
import {parse} from './place.mjs'
import {About} from './about.mjs'

const WAIT_MS = 250, LINGER_MS = 160, GAP = 5, EDGE = 8
const POINTED = 'time[datetime], [data-until], a[href*="~"]', REACHED = 'a[href*="~"], [data-item][data-id]'
const KEPT_OPEN = /^(Escape|Enter)$/ // after these keys the page moves the focus, not the person

let shown = null, asked = null, passed = null, coming = 0, going = 0, lastKey = '', touched = false
let draw = () => {}

function what(anchor) {
  if (anchor.matches('time[datetime]')) return {kind: 'time', id: anchor.getAttribute('datetime')}
  if (anchor.dataset.until) return {kind: 'lease', id: anchor.dataset.until, seconds: Number(anchor.dataset.seconds)}
  const link = anchor.getAttribute('href')
  if (!link) return {kind: 'issue', id: anchor.dataset.id}
  const [kind, id] = parse(link).panel || []
  return kind ? {kind, id} : null
}

function ask(anchor, by) {
  clearTimeout(going)
  if (asked === anchor) return
  clearTimeout(coming)
  asked = anchor
  coming = setTimeout(() => {
    const found = anchor.isConnected && what(anchor)
    if (found) show({anchor, by, ...found})
  }, WAIT_MS)
}

function show(next) {
  shown?.anchor.removeAttribute('aria-describedby')
  shown = next
  shown?.anchor.setAttribute('aria-describedby', 'small-card')
  draw()
}

function hide() {
  clearTimeout(coming)
  clearTimeout(going)
  asked = null
  if (shown) show(null)
}

function leave() {
  clearTimeout(coming)
  asked = shown?.anchor || null
  clearTimeout(going)
  going = setTimeout(hide, LINGER_MS)
}

// What was under the pointer, or had the focus, before this was loaded.
export function begin(event) {
  if (event.type === 'pointermove') over(event)
  else if (event.type === 'keydown') { lastKey = event.key; reached(document.activeElement) }
}

function over(event) {
  if (event.pointerType === 'touch') return
  touched = false
  const anchor = event.target.closest?.(POINTED)
  if (event.target.closest?.('#small-card')) return clearTimeout(going)
  if (anchor !== passed) passed = null
  if (anchor && anchor !== passed && !anchor.closest('dialog')) ask(anchor, 'pointer')
  else if (shown?.by !== 'keys' || passed) leave()
}
addEventListener('pointerover', over)
addEventListener('pointerdown', event => {
  touched = event.pointerType === 'touch'
  if (event.target.closest?.('#small-card')) return
  passed = event.target.closest?.(POINTED) || null
  hide()
})
document.addEventListener('pointerleave', () => shown?.by === 'pointer' && leave())
function reached(at) {
  if (touched || KEPT_OPEN.test(lastKey) || !at?.matches?.(REACHED) || !at.matches(':focus-visible')) return
  ask(at, 'keys')
}
addEventListener('focusin', event => reached(event.target))
addEventListener('focusout', event => { if (asked === event.target || shown?.anchor === event.target) hide() })
addEventListener('resize', hide)
addEventListener('hashchange', hide)
// Before everything else that listens: what Escape closes first is the card.
addEventListener('keydown', event => {
  lastKey = event.key
  touched = false
  if (event.key === 'Escape' && shown) { hide(); event.preventDefault(); event.stopImmediatePropagation() } else if (event.key === 'Enter') hide()
}, true)

// Below what it is about, or above, or beside: wherever there is room.
function place(box, anchor) {
  const at = anchor.getBoundingClientRect(), wide = box.offsetWidth, high = box.offsetHeight
  const within = (value, size, most) => Math.max(EDGE, Math.min(value, most - size - EDGE))
  const below = innerHeight - at.bottom - GAP - EDGE, above = at.top - GAP - EDGE
  let left = within(at.left, wide, innerWidth), top
  if (high <= below) top = at.bottom + GAP
  else if (high <= above) top = at.top - GAP - high
  else {
    top = within(at.top, high, innerHeight)
    if (at.right + GAP + wide + EDGE <= innerWidth) left = at.right + GAP
    else if (at.left - GAP - wide >= EDGE) left = at.left - GAP - wide
    else top = below > above ? Math.min(at.bottom + GAP, innerHeight - EDGE - 24) : EDGE
    box.style.maxHeight = `${below > above ? below : above}px`
  }
  box.style.left = `${Math.round(left)}px`
  box.style.top = `${Math.round(top)}px`
}

function Small() {
  const [, again] = useState(0), box = useRef(null)
  draw = () => again(n => n + 1)
  use(now => now.board); use(now => now.holdings); use(now => now.roster)
  const gone = shown && (!shown.anchor.isConnected || what(shown.anchor)?.id !== shown.id)
  useEffect(() => { if (gone) hide() })
  useLayoutEffect(() => {
    if (!shown || gone || !box.current) return
    const {anchor} = shown, put = () => box.current && place(box.current, anchor)
    put()
    const scrolled = event => {
      if (box.current?.contains(event.target)) return
      const at = anchor.getBoundingClientRect()
      if (at.bottom < 0 || at.top > innerHeight || shown?.by === 'pointer') hide()
      else put()
    }
    const grown = new ResizeObserver(put)
    grown.observe(box.current)
    addEventListener('scroll', scrolled, true)
    return () => { grown.disconnect(); removeEventListener('scroll', scrolled, true) }
  }, [shown, gone])
  if (!shown || gone) return null
  return html`<div id="small-card" role="tooltip" ref=${box} key=${`${shown.kind} ${shown.id}`}><${About} ...${shown} /></div>`
}

const root = document.createElement('div')
document.body.append(root)
render(html`<${Small} />`, root)

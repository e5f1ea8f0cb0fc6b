// Issues as a list, page by page, however many there are. Of the pages that were read those near what is in view stand in
// the document; the others are kept as room of their height.
import {html, useState, useEffect, useLayoutEffect, useRef, useMemo} from './vdom.mjs'
import {ask} from './wire.mjs'
import {onEvent} from './store.mjs'
import {href, go, usePlace} from './place.mjs'
import {Agent, Ago, Status, Priority, Failure, Still} from './marks.mjs'
import {COLUMNS} from './words.mjs'

const ASKED = {open: ['open'], ready: ['ready'], live: ['in_progress'], blocked: ['blocked'], review: ['review'], done: ['done', 'cancelled']}
const PAGE = 100, ROW = 27, NEAR = 900 // rows of one question; about how high one is; so far around the view, in pixels

export default function List({place}) {
  const kind = place.rest[0] || 'all', label = place.rest[1] || ''
  const [pages, put] = useState(null), [cursor, point] = useState(null), [refused, fail] = useState(null), [news, hear] = useState(false)
  const turn = useRef(0), asked = useRef(null)
  const read = async from => {
    if (from && from === asked.current) return
    const mine = from ? turn.current : ++turn.current
    asked.current = from
    try {
      const reply = await ask('list_issues', {limit: PAGE, ...(ASKED[kind] && {effective_statuses: ASKED[kind]}), ...(label && {labels: [label]}), ...(from && {cursor: from})})
      if (mine !== turn.current) return
      put(before => from ? [...before, reply.items] : [reply.items])
      point(reply.next_cursor || null)
      fail(null)
      if (!from) hear(false)
    } catch (error) { if (mine === turn.current) { asked.current = null; fail(error) } }
  }
  useEffect(() => { put(null); read() }, [kind, label])
  useEffect(() => onEvent(event => event.display_id && hear(true)), [])
  return html`<div class="filters" role="group" aria-label="Status">${['all', ...Object.keys(ASKED)].map(each => html`<button class=${each === kind ? 'here' : ''} aria-pressed=${each === kind} onClick=${() => go({view: 'list', rest: each === 'all' ? [] : [each]})}>${each === 'all' ? 'All' : COLUMNS[each]}</button>`)}${label && html`<a class="button" href=${href({view: 'list', rest: [kind]})}>label ${label} ×</a>`}${news && html`<button class="text" onClick=${() => read()}>Something has changed: read again</button>`}</div>
    <${Failure} of=${refused} retry=${() => read(cursor)} />
    ${!pages ? !refused && html`<${Still} />` : html`<${Table} pages=${pages} kind=${kind} further=${cursor && (() => read(cursor))} />
      ${!pages[0].length && html`<p class="dim">There is none.</p>`}${cursor && html`<p class="further"><button onClick=${() => read(cursor)}>More</button></p>`}`}`
}

function Table({pages, kind, further}) {
  const table = useRef(null), heights = useRef([])
  const [[first, last], show] = useState([0, 0])
  const height = n => heights.current[n] || pages[n].length * ROW
  const look = () => {
    let top = table.current.getBoundingClientRect().top, from = pages.length - 1, to = 0
    for (let n = 0; n < pages.length; n++) {
      const bottom = top + height(n)
      if (bottom > -NEAR) from = Math.min(from, n)
      if (top < innerHeight + NEAR) to = n
      top = bottom
    }
    show(before => before[0] === from && before[1] === to ? before : [from, to])
    if (further && top < innerHeight + NEAR) further()
  }
  useLayoutEffect(() => {
    for (const page of table.current.querySelectorAll('[data-page]')) heights.current[page.dataset.page] = page.offsetHeight
    look()
  }, [pages, first, last])
  useEffect(() => {
    let frame = 0
    const soon = () => { frame ||= requestAnimationFrame(() => { frame = 0; look() }) }
    // What scrolls is the view, or all of it where there is little room.
    document.addEventListener('scroll', soon, true)
    addEventListener('resize', soon)
    return () => { cancelAnimationFrame(frame); document.removeEventListener('scroll', soon, true); removeEventListener('resize', soon) }
  })
  const space = (from, to) => { let sum = 0; for (let n = from; n < to; n++) sum += height(n); return sum ? html`<tbody aria-hidden="true" key=${'space' + from}><tr><td colspan="7" style=${{height: `${sum}px`}}></td></tr></tbody>` : null }
  const shown = pages.slice(first, last + 1).map((items, n) => html`<${Page} items=${items} n=${first + n} kind=${kind} key=${first + n} />`)
  return html`<table class="list" ref=${table} data-list="list" aria-rowcount=${pages.reduce((sum, page) => sum + page.length, 0)}><thead><tr><th>Issue</th><th>Title</th><th>Status</th><th>With</th><th>Labels</th><th>Waits</th><th>Changed</th></tr></thead>${space(0, first)}${shown}${space(last + 1, pages.length)}</table>`
}

// One page; drawn once for as long as it is there and nobody goes elsewhere.
function Page({items, n, kind}) {
  usePlace()
  const here = href({panel: null})
  return useMemo(() => html`<tbody data-page=${n}>${items.map(issue => html`<${Row} issue=${issue} kind=${kind} key=${issue.display_id} />`)}</tbody>`, [items, kind, here])
}

const Row = ({issue, kind}) => html`<tr data-item data-id=${issue.display_id} tabindex="0">
  <td class="fit"><a class="issue-id" tabindex="-1" href=${href({panel: ['issue', issue.display_id]})}>${issue.display_id}</a></td><td class="title">${issue.title} <${Priority} value=${issue.priority} />${issue.type !== 'task' ? html` <span class="label">${issue.type}</span>` : ''}${issue.needs_human ? html` <span class="chip refused">needs you</span>` : ''}</td>
  <td class="fit"><${Status} issue=${issue} /></td><td class="fit">${issue.held_by && html`<${Agent} agent=${issue.held_by} />`}</td><td>${(issue.labels || []).slice(0, 3).map(each => html`<a class="label" href=${href({view: 'list', rest: [kind, each]})}>${each}</a> `)}</td><td class="fit dim">${issue.open_blockers || ''}</td><td class="fit dim"><${Ago} at=${issue.updated_at} bare /></td></tr>`

// A field that completes what is being written from what the page knows: @agent, ISSUE-, paths, #label. A list box after
// the combobox pattern: arrows, enter and tab, escape, the mouse and the finger. Only issues that the page has not loaded
// are asked for, a few and once; and the labels, once.
import {html, useState, useEffect, useLayoutEffect, useRef} from './vdom.mjs'
import {ask} from './wire.mjs'
import {state, use} from './store.mjs'
import {Badge} from './marks.mjs'
import {agentsOf} from './shell.mjs'
import {who, nick, PRESENCE} from './words.mjs'

const SHOWN = 8, EACH = 4, PAUSE_MS = 180, KEPT = 60
const BEFORE = String.raw`(?:^|[\s(\[{"'\x60,;:])`

// --- what there is ----------------------------------------------------------------------------------------------------

const low = text => text.toLowerCase()
// What begins so comes before what has it somewhere.
function ranked(all, word, names) {
  const first = [], then = []
  for (const each of all) {
    const said = names(each).map(low)
    if (said.some(name => name.startsWith(word))) first.push(each)
    else if (word && said.some(name => name.includes(word))) then.push(each)
  }
  return [...first, ...then]
}

function agents(word) {
  const seen = new Map()
  for (const each of agentsOf(state)) if (!seen.has(each.agent)) seen.set(each.agent, each)
  return ranked([...seen.values()], word, each => [each.agent, nick(each.agent)]).map(each => ({kind: 'agent', key: '@' + each.agent, agent: each.agent, session: each.session, text: each.agent, about: PRESENCE[each.presence] || each.presence}))
}

// To whom something can be said: an agent, one of its sessions where it has several, or everybody.
function addresses(word) {
  const all = agentsOf(state), count = new Map()
  for (const each of all) count.set(each.agent, (count.get(each.agent) || 0) + 1)
  const sessions = all.filter(each => count.get(each.agent) > 1).map(each => ({kind: 'agent', key: each.session, agent: each.agent, session: each.session, text: `${each.agent}#${each.session}`, about: `${who(each.agent, each.session)}, ${each.presence}`}))
  return [...agents(word), ...ranked(sessions, word, each => [each.text]), ...ranked([{kind: 'all', key: '*', text: 'everybody', about: 'all who are here'}], word, each => [each.text])]
}

function issues(word) {
  const cards = Object.values(state.board?.columns || {}).flat()
  return ranked(cards, word, card => [card.display_id.slice(card.display_id.lastIndexOf('-') + 1), card.title]).map(issue)
}
const issue = ({display_id, title}) => ({kind: 'issue', key: display_id, text: display_id, about: title})

function paths(word) {
  const known = new Map()
  for (const held of state.holdings?.paths || []) if (!held.path.startsWith('@') && held.path !== '.') known.set(held.path, `held by ${who(held.agent, held.session)}`)
  for (const event of [...state.events].reverse()) {
    const named = [...(event.data?.paths || []).map(each => each.path ?? each), ...(event.type === 'refused' ? [event.data.subject] : [])]
    for (const path of named) if (path && path.includes('/') && !known.has(path)) known.set(path, '')
  }
  return ranked([...known], word, ([path]) => [path, path.slice(path.lastIndexOf('/') + 1)]).map(([path, about]) => ({kind: 'path', key: path, text: path, about}))
}

function labels(word) {
  const known = new Map()
  for (const card of Object.values(state.board?.columns || {}).flat()) for (const label of card.labels || []) known.set(label, (known.get(label) || 0) + 1)
  for (const label of kept('labels')?.items || []) if (!known.has(label.name)) known.set(label.name, 0)
  return ranked([...known.keys()].sort((one, two) => known.get(two) - known.get(one)), word, label => [label]).map(label => ({kind: 'label', key: label, text: label, about: ''}))
}

// --- what is asked for ------------------------------------------------------------------------------------------------

const replies = new Map()
const kept = name => replies.get(`${state.room?.project} ${name}`)
async function once(name, read) {
  const key = `${state.room?.project} ${name}`
  if (replies.has(key)) return false
  replies.set(key, null)
  if (replies.size > KEPT) replies.delete(replies.keys().next().value)
  try { replies.set(key, await read()) } catch { replies.set(key, {items: []}) }
  return true
}

// Issues that the board does not show: the one of that number, or a few of which the words are found.
function moreIssues(word) {
  if (/^\d+$/.test(word)) return once('issue ' + word, async () => ({items: [await ask('get_issue', {issue_id: word})]}))
  if (/^\p{L}[\p{L}\p{N}]+$/u.test(word)) return once('issue ' + word, () => ask('search', {query: word + '*', entity_types: ['issue'], limit: SHOWN, snippet_length: 40}))
  return Promise.resolve(false)
}
const foundIssues = word => (kept('issue ' + word)?.items || []).filter(each => each.display_id && each.title).map(issue)

// --- what is being written --------------------------------------------------------------------------------------------
// Each: what it looks like up to the caret, what of it is looked for, what is offered, and what is put in its place.

const AGENT = {shape: new RegExp(BEFORE + String.raw`(@[\p{L}\p{N}_.-]*)$`, 'u'), bare: word => word.slice(1), offer: agents, put: each => `@${each.text} `}
const LABEL = {shape: new RegExp(BEFORE + String.raw`(#\p{L}[\p{L}\p{N}_.:-]*)$`, 'u'), bare: word => word.slice(1), offer: labels, put: each => `#${each.text} `, asks: () => once('labels', () => ask('list_labels', {limit: 100}))}
const ISSUE = {shape: new RegExp(BEFORE + String.raw`(ISSUE-[\p{L}\p{N}]*)$`, 'iu'), bare: word => word.slice(6), offer: word => [...issues(word), ...foundIssues(word)], put: each => `${each.text} `, asks: moreIssues}
const PATH = {shape: new RegExp(BEFORE + String.raw`((?:\.?/)?[\p{L}\p{N}_.@+-]*(?:/[\p{L}\p{N}_.@+-]*)+|\./)$`, 'u'), bare: word => word.replace(/^\.?\//, ''), offer: paths, put: each => `${each.text} `}
const whole = (offer, more = {}) => ({shape: /^\s*(.*)$/, bare: word => word, offer, put: each => each.text, ...more})
const KNOWN = {
  text: [AGENT, LABEL, ISSUE, PATH],
  to: [whole(addresses)],
  agent: [whole(agents)],
  issue: [whole(word => ISSUE.offer(word.replace(/^issue-/, '')), {asks: word => moreIssues(word.replace(/^issue-/, ''))})],
  labels: [{...LABEL, shape: /(?:^|[,\s])([^,\s]*)$/, bare: word => word, put: each => `${each.text}, `}],
  paths: [{...PATH, shape: /(?:^|\n)[ \t]*(.*)$/, bare: word => word.trim().replace(/^\.?\//, ''), put: each => each.text}],
}
// Asked for by Ctrl+Space: whatever the page knows that goes on so.
const ANY = {
  shape: /([^\s]*)$/, bare: word => word.replace(/^[@#]|^\.?\//, '').replace(/^issue-/, ''), asks: word => moreIssues(word),
  offer: word => [agents, word => ISSUE.offer(word), paths, labels].flatMap(each => each(word).slice(0, word ? EACH : 3)),
  put: each => `${each.kind === 'agent' ? '@' : each.kind === 'label' ? '#' : ''}${each.text} `,
}

function written(box, kinds) {
  const before = box.value.slice(0, box.selectionStart)
  for (const kind of kinds) {
    const word = kind.shape.exec(before)?.[1]
    if (word !== undefined && !word.includes('://')) return {kind, word, bare: low(kind.bare(word))}
  }
  return null
}

function offered(now, most = SHOWN) {
  if (!now) return []
  const seen = new Set(), found = now.kind.offer(now.bare).filter(each => !seen.has(each.key) && seen.add(each.key)).slice(0, now.kind === ANY ? 2 * SHOWN : most)
  return found.length === 1 && low(now.kind.put(found[0]).trim()) === low(now.word) ? [] : found // it is written already
}

// --- the field --------------------------------------------------------------------------------------------------------

let count = 0
// knows: text, to, agent, issue, labels or paths. set: is given the whole text whenever it changes.
export function Completed({label, as = 'textarea', knows = 'text', value, set, picked, kind = '', id, onKeyDown, ...rest}) {
  const box = useRef(null), list = useRef(null), name = useRef(''), timer = useRef(0)
  name.current ||= id || `field-${++count}`
  use(now => now.roster); use(now => now.board); use(now => now.holdings) // who comes meanwhile is offered, too
  const [now, seek] = useState(null), [at, point] = useState(0), [above, turn] = useState(false), [, draw] = useState(0)
  const offers = offered(now)
  const open = offers.length > 0
  const look = next => {
    clearTimeout(timer.current)
    seek(next)
    point(0)
    if (next?.kind.asks) timer.current = setTimeout(() => next.kind.asks(next.bare).then(news => news && draw(n => n + 1)), next.bare ? PAUSE_MS : 0)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  useLayoutEffect(() => {
    if (!open) return
    const frame = box.current.getBoundingClientRect()
    turn(innerHeight - frame.bottom < 250 && frame.top > 250)
  }, [open])
  useEffect(() => { if (open) list.current?.children[at]?.scrollIntoView({block: 'nearest'}) }, [open, at])
  const input = event => { set(event.target.value); if (!event.isComposing) look(written(event.target, KNOWN[knows])) }
  const take = each => {
    const field = box.current, here = field.selectionStart, start = here - now.word.length, put = now.kind.put(each)
    field.focus()
    field.setSelectionRange(start, here)
    // Put in as if it were typed, so that it can be taken back as typing can.
    if (!document.execCommand('insertText', false, put)) { field.setRangeText(put, start, here, 'end'); set(field.value) }
    look(null)
    picked?.(each)
  }
  const keys = event => {
    if (event.key === ' ' && event.ctrlKey) { event.preventDefault(); return look(written(box.current, knows === 'text' ? [ANY] : KNOWN[knows])) }
    if (!open && as === 'input' && event.key === 'ArrowDown' && !event.altKey) { event.preventDefault(); return look(written(box.current, KNOWN[knows])) }
    if (open && !event.isComposing && !event.ctrlKey && !event.metaKey) {
      const way = {ArrowDown: 1, ArrowUp: -1}[event.key]
      if (way) { event.preventDefault(); return point((at + way + offers.length) % offers.length) }
      if (event.key === 'Enter' || (event.key === 'Tab' && !event.shiftKey)) { event.preventDefault(); return take(offers[at]) }
      if (event.key === 'Escape') { event.preventDefault(); event.stopPropagation(); return look(null) }
      if (/^(Arrow(Left|Right)|Home|End|Page)/.test(event.key)) look(null)
    }
    onKeyDown?.(event)
  }
  const shape = {
    ...rest, id: name.current, value, ref: box, onInput: input, onKeyDown: keys, onBlur: () => look(null), onClick: () => look(null),
    autocomplete: 'off', 'aria-autocomplete': 'list',
    ...((open || as === 'input') && {role: 'combobox', 'aria-expanded': String(open), 'aria-haspopup': 'listbox'}),
    ...(open && {'aria-controls': `${name.current}-list`, 'aria-activedescendant': `${name.current}-${at}`}),
  }
  return html`<div class=${'completed ' + kind}><label for=${name.current}>${label}</label>${as === 'input' ? html`<input type="text" ...${shape} />` : html`<textarea ...${shape}></textarea>`}
    ${open && html`<ul class=${'offers' + (above ? ' above' : '')} role="listbox" id=${`${name.current}-list`} ref=${list} aria-label="What goes on so">${offers.map((each, n) => html`<li role="option" key=${each.key} id=${`${name.current}-${n}`} class=${each.kind} aria-selected=${n === at ? 'true' : 'false'} onPointerDown=${event => event.preventDefault()} onClick=${() => take(each)}>
      ${each.kind === 'agent' && html`<${Badge} agent=${each.agent} session=${each.session} small />`}<span class=${/path|issue/.test(each.kind) ? each.kind === 'path' ? 'path' : 'issue-id' : each.kind === 'label' ? 'label' : 'text'}>${each.text}</span>${each.about && html` <span class="dim">${each.about}</span>`}</li>`)}</ul>`}
    <span class="hidden" role="status">${open ? `${offers.length} to choose from; arrows choose, enter takes` : ''}</span></div>`
}

// The small things that every view is made of: badges, bars, links, chips, buttons that ask once.
import {html, useState, useEffect, useRef} from './vdom.mjs'
import {use, state, say} from './store.mjs'
import {href, go} from './place.mjs'
import {hue, initials, who, age, left, useTick, number, kindOf, COLUMNS, hour, cut} from './words.mjs'

export const mark = html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path d="M4 22h9l6-12h9" /><path class="through" d="M4 22h24" /><circle class="go" cx="13" cy="22" r="3.6" /><circle class="wait" cx="25" cy="10" r="3.2" /></svg>`

export const Badge = ({agent, session, small}) => html`<span class=${'badge' + (small ? ' small' : '')} style=${{'--hue': hue(session || agent)}} aria-hidden="true">${initials(agent)}</span>`

// Named without a session, an agent is the only one of that name that is here.
export function sessionOf(agent) {
  const found = (state.roster?.agents || []).filter(each => each.agent === agent)
  return found.length === 1 ? found[0].session : undefined
}
export const Agent = ({agent, session = sessionOf(agent), plain}) => html`<a class="agent" href=${href({panel: ['agent', session || agent]})}>
  ${!plain && html`<${Badge} agent=${agent} session=${session} small />`}<span class="name">${who(agent, session)}</span></a>`

export const Path = ({path}) => html`<a class="path" href=${href({panel: ['path', path]})}>${breakable(path)}</a>`
// A path may break after a slash, and only there.
export const breakable = path => String(path).split(/(?<=\/)/).flatMap((part, n) => n ? [html`<wbr />`, part] : [part])

export const Issue = ({id}) => html`<a class="issue-id" href=${href({panel: ['issue', id]})}>${id}</a>`
// Of the newest messages the words are known.
export function MessageLink({id}) {
  const known = state.roster?.messages.find(each => each.message_id === id)
  return html`<a class="issue-id" href=${href({panel: ['message', String(id)]})}>#${id}</a>${known?.text && html` <q class="dim">${cut(known.text, 90)}</q>`}`
}

export function Ago({at, bare}) {
  useTick(20e3)
  return at ? html`<time datetime=${at}>${age(at)}${bare ? '' : ' ago'}</time>` : null
}
export const Hour = ({at}) => html`<time datetime=${at}>${hour(at)}</time>`

// A lease that drains. A sign of life refills it; one that is over fades.
const STEPS = 64 // in which a bar drains: what it shows changes seldom, and so does the page
export function Lease({until, seconds, quiet}) {
  useTick(seconds > 120 ? 10e3 : 2e3)
  const ms = Date.parse(until) - Date.now()
  const part = Math.round(STEPS * Math.max(0, Math.min(1, ms / (seconds * 1000)))) / STEPS
  const text = ms > 0 ? left(until) : 'over'
  return html`<span class=${'lease' + (ms <= 0 ? ' over' : '')} data-until=${until} data-seconds=${seconds}>
    <span class="bar" role="img" aria-label=${`lease, ${text} left`}><i style=${{transform: `scaleX(${part})`}}></i></span>${!quiet && html`<small>${text}</small>`}</span>`
}

export const Chip = ({kind, children}) => html`<span class=${'chip ' + kind}>${children}</span>`
// An issue that is ready but waits for another cannot be taken: that is what its mark says.
export const Status = ({issue}) => {
  const status = issue.effective_status || issue.status || '', kind = kindOf(issue)
  return html`<span class=${'chip ' + kind}>${kind === 'blocked' && status !== 'blocked' ? 'waits' : status.replace('_', ' ')}</span>`
}
const RANK = {critical: ['‼', 'critical'], high: ['!', 'high'], low: ['↓', 'low']}
export const Priority = ({value}) => RANK[value] ? html`<span class=${'priority ' + value}>${RANK[value][0]}<span class="hidden"> ${RANK[value][1]} priority</span></span>` : null

export const Failure = ({of, retry}) => of ? html`<p class="failure" role="alert">${of.message} <span class="code">${of.code}</span>${retry && html` <button class="text" onClick=${retry}>Try again</button>`}</p>` : null
export const Empty = ({children}) => html`<div class="empty">${children}</div>`
export const Still = () => html`<div class="still-lines" aria-hidden="true"><i></i><i></i><i></i></div>`

// Ask the host for one thing whenever what it depends on changes, and again when an event touches it.
export function useAsked(read, depends, touchedBy) {
  const [found, put] = useState({reply: null, refused: null})
  const turn = useRef(0)
  const again = () => {
    const mine = ++turn.current
    read().then(reply => mine === turn.current && put({reply, refused: null}), refused => mine === turn.current && put(before => ({reply: before.reply, refused})))
  }
  useEffect(() => { put({reply: null, refused: null}); again(); return () => { turn.current++ } }, depends)
  const last = use(now => now.events.at(-1)?.id)
  const seen = useRef(last), timer = useRef(0)
  useEffect(() => {
    if (!touchedBy || last === seen.current) return
    const news = state.events.filter(event => event.id > (seen.current || 0))
    seen.current = last
    if (news.some(touchedBy) && !timer.current) timer.current = setTimeout(() => { timer.current = 0; again() }, 300)
  }, [last])
  return {...found, again}
}

// A button that says what it will do to whom, and does it when it is pressed a second time.
export function Act({children, sure, act, kind = '', title, disabled}) {
  const [asking, ask] = useState(false), [busy, work] = useState(false), [refused, fail] = useState(null)
  useEffect(() => { if (asking) { const over = setTimeout(() => ask(false), 6000); return () => clearTimeout(over) } }, [asking])
  const run = async () => {
    if (sure && !asking) return ask(true)
    ask(false)
    work(true)
    fail(null)
    try { const done = await act(); if (typeof done === 'string') say(done) } catch (error) { fail(error) }
    work(false)
  }
  return html`<span class="act"><button class=${kind + (asking ? ' asking' : '')} onClick=${run} disabled=${busy || disabled} title=${title || sure}>${asking ? 'Yes, do it' : children}</button>
    ${asking && html`<span class="sure" role="alert">${sure} <button class="text" onClick=${() => ask(false)}>No</button></span>`}${refused && html`<span class="sure failure" role="alert">${refused.message} <span class="code">${refused.code}</span> <button class="text" onClick=${() => fail(null)} aria-label="Close this">×</button></span>`}</span>`
}

export function Parts({parts}) {
  return parts.map(part => typeof part === 'string' ? part
    : part.issue ? html`<${Issue} id=${part.issue} />`
    : part.path ? html`<${Path} path=${part.path} />`
    : part.agent ? (part.agent === '*' ? 'everybody' : html`<${Agent} agent=${part.agent} session=${part.session} />`)
    : part.message ? html`<${MessageLink} id=${part.message} />`
    : part.quote ? html`<q>${part.quote}</q>`
    : part.dim ? html`<span class="dim">${part.dim}</span>` : null)
}
export {number, COLUMNS, go}

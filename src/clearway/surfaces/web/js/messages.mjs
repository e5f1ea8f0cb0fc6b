// What is said in the room, by pair, with receipts; and a composer that knows agents and issues.
import {html, useState, useMemo} from './vdom.mjs'
import {ask} from './wire.mjs'
import {say, state} from './store.mjs'
import {href} from './place.mjs'
import {Agent, Ago, Hour, Issue, Failure, Still, Chip, useAsked, Act} from './marks.mjs'
import {nick, cut} from './words.mjs'
import {Completed} from './completing.mjs'
import * as deeds from './deeds.mjs'

const RECEIPT = {queued: 'not seen yet', seen: 'seen', taking: 'seen, taking', done: 'done', undeliverable: 'could not be delivered'}
const EVERYBODY = 'everybody'
const other = message => message.to === '*' ? [EVERYBODY] : [message.from, message.to.split('#')[0]].sort()
const TOUCHES = event => /^(message_|task_)/.test(event.type)

// Which conversation the address names: everything, of one agent, between two, to everybody, or about an issue.
function chosen([first = '', one, two]) {
  if (first === 'with') return {pair: [one, two].filter(Boolean), asks: one === EVERYBODY ? {} : {agent: [one, two].find(name => name !== 'human') || one}}
  if (first === 'about') return {issue: one, asks: {issue_id: one}}
  return {agent: first, asks: first ? {agent: first} : {}}
}

export default function Messages({place}) {
  const key = place.rest.join('/'), {agent} = chosen(place.rest)
  const all = useAsked(() => ask('list_messages', {limit: 100}), [], TOUCHES)
  const [pairs, issues] = useMemo(() => conversations(all.reply?.items || []), [all.reply])
  if (!all.reply) return html`<${Failure} of=${all.refused} retry=${all.again} />${!all.refused && html`<${Still} />`}`
  const one = (rest, name, of) => { const here = rest.join('/') === key; return html`<a key=${rest.join('/')} class=${here ? 'here' : ''} aria-current=${here ? 'true' : undefined} href=${href({view: 'messages', rest, panel: place.panel})}><span>${name}</span><span class="count">${of.length}${!rest.length && all.reply.has_more ? '+' : ''}</span>${rest.length && of[0] ? html`<span class="last">${cut(of[0].text, 60)}</span>` : ''}</a>` }
  return html`<div class="talk"><nav class="pairs" aria-label="Conversations"><button class="write" onClick=${() => document.getElementById('to')?.focus()}>Write</button>
      ${one([], html`<b>All</b>`, all.reply.items)}${agent && one([agent], `all of ${nick(agent)}`, all.reply.items.filter(each => other(each).includes(agent)))}
      ${[...pairs].map(([name, of]) => one(['with', ...other(of[0])], name, of))}
      ${issues.size ? html`<h2>About</h2>` : null}${[...issues].map(([id, of]) => one(['about', id], id, of))}</nav>
    <${Thread} rest=${place.rest} key=${key} whole=${all} /></div>`
}

// One conversation and the composer below it. whole: all that is said, which is one, too.
function Thread({rest, whole}) {
  const {pair, issue, agent, asks} = chosen(rest)
  const some = useAsked(() => rest.length ? ask('list_messages', {limit: 100, ...asks}) : Promise.resolve(null), [], TOUCHES)
  const [older, more] = useState([]), [end, close] = useState(false), [failed, fail] = useState(null)
  const found = rest.length ? some : whole
  const items = useMemo(() => { const seen = new Set(); return [...(found.reply?.items || []), ...older].filter(each => !seen.has(each.message_id) && seen.add(each.message_id)).filter(each => !pair || other(each).join() === pair.join()) }, [found.reply, older])
  const again = () => { whole.again(); if (rest.length) some.again() }
  const further = () => ask('list_messages', {limit: 100, before: (older.at(-1) || found.reply.items.at(-1)).message_id, ...asks}).then(next => { more([...older, ...next.items]); close(!next.has_more); fail(null) }, fail)
  return html`<div class="thread"><div class="letters" tabindex="0" aria-label="Messages, newest last"><${Failure} of=${failed || found.refused} retry=${found.again} />${!found.reply && !found.refused && html`<${Still} />`}${items.map(message => html`<${Letter} message=${message} key=${message.message_id} again=${again} />`)}
      ${found.reply && !items.length && html`<p class="dim">Nothing has been said ${issue ? `about ${issue} ` : ''}yet.</p>`}${found.reply?.has_more && !end && html`<p><button onClick=${further}>earlier</button></p>`}</div>
      <${Compose} to=${agent || pair?.find(name => name !== 'human') || ''} about=${issue} again=${again} draft=${[state.room.project, ...rest].join('/')} /></div>`
}

// By whom it is said to whom, and what it is about; the one in which something was said last comes first.
function conversations(items) {
  const pairs = new Map(), issues = new Map()
  for (const message of items) {
    const name = message.to === '*' ? 'to everybody' : other(message).map(nick).join(' – ')
    pairs.set(name, [...(pairs.get(name) || []), message])
    if (message.issue_id) issues.set(message.issue_id, [...(issues.get(message.issue_id) || []), message])
  }
  return [pairs, issues]
}

function Letter({message, again}) {
  const note = message.note ? ` “${message.note}”` : ''
  return html`<article class=${'letter' + (message.from === 'human' ? ' mine' : '')} data-item tabindex="-1"><header><a class="issue-id" href=${href({panel: ['message', String(message.message_id)]})}>#${message.message_id}</a> <${Agent} agent=${message.from} session=${message.session} /> → ${message.to === '*' ? 'everybody' : html`<${Agent} agent=${message.to.split('#')[0]} session=${message.to.split('#')[1]} />`} <${Hour} at=${message.at} />
      ${message.kind !== 'chat' && message.kind !== 'broadcast' && html`<${Chip} kind="">${message.kind}<//>`}${message.priority && html`<${Chip} kind="">${message.priority}<//>`}${message.issue_id && html`<${Issue} id=${message.issue_id} />`}${message.reply_to && html`<span>answers <a class="issue-id" href=${href({panel: ['message', String(message.reply_to)]})}>#${message.reply_to}</a></span>`}</header>
    <p class="words">${message.text}${message.truncated ? '…' : ''}</p>
    ${message.to !== '*' && html`<p class=${'receipt ' + message.state}>${message.held_back && message.state === 'queued' ? html`held back for you: ${message.held_back} <${Act} kind="text" sure=${`${nick(message.to)} will read it.`} act=${async () => { const said = await deeds.passMessage(message); again(); return said }}>let through<//>` : html`${message.state === 'queued' ? '○' : message.state === 'seen' ? '◐' : message.state === 'undeliverable' ? '✕' : '●'} ${RECEIPT[message.state]}${note}${message.taken_at || message.seen_at ? html` <${Ago} at=${message.taken_at || message.seen_at} />` : ''}`}</p>`}</article>`
}

const drafts = new Map() // what was begun in each conversation of each room, for whoever looks something up meanwhile

function Compose({to: first, about, again, draft}) {
  const [to, address] = useState(first || ''), [text, put] = useState(drafts.get(draft) || ''), [kind, choose] = useState('chat'), [priority, rank] = useState('medium')
  const [refused, fail] = useState(null), [busy, work] = useState(false)
  const type = next => { put(next); drafts.set(draft, next) }
  const submit = async event => {
    event.preventDefault()
    if (busy || !to.trim() || !text.trim()) return
    work(true)
    const issue = about || /\b[A-Z][A-Z0-9]*-\d+\b/.exec(text)?.[0]
    try {
      const name = to.trim() === EVERYBODY ? '*' : to.trim(), given = {to: name, text, ...(name !== '*' && {kind}), priority}
      const reply = await deeds.send({...given, ...(issue && {issue_id: issue})}).catch(error => error.code === 'ISSUE_NOT_FOUND' ? deeds.send(given) : Promise.reject(error))
      type('')
      fail(null)
      say(reply.warnings?.[0] || `Sent; ${nick(to)} reads it at its next turn.`)
      again()
    } catch (error) { fail(error) }
    work(false)
  }
  return html`<form class="compose" onSubmit=${submit}>
    <div class="row"><${Completed} as="input" label="To" knows="to" id="to" value=${to} set=${address} placeholder="an agent, or everybody" required />
      <label>As<select value=${kind} onChange=${event => choose(event.target.value)}><option value="chat">a message</option><option value="task">a task</option><option value="control">an instruction</option></select></label>
      <label>Priority<select value=${priority} onChange=${event => rank(event.target.value)}>${['low', 'medium', 'high', 'critical'].map(each => html`<option value=${each}>${each}</option>`)}</select></label></div>
    <${Completed} label="Message" rows="3" value=${text} set=${type} picked=${each => each.agent && !to && address(each.agent)} onKeyDown=${event => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit(event)} placeholder="@ names an agent, ISSUE- an issue, src/ a path, # a label; Ctrl+Space whatever goes on so" required />
    <${Failure} of=${refused} /><p><button class="first" disabled=${busy || !to.trim() || !text.trim()}>${to.trim() ? `Send to ${nick(to.trim())}` : 'Send'}</button> <span class="dim">${about ? `about ${about} · ` : ''}Ctrl+Enter · it appears in the log as the human's</span></p></form>`
}

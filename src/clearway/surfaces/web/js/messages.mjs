// What is said in the room, by pair, with receipts; and a composer that knows agents and issues.
import {html, useState, useEffect, useMemo} from './vdom.mjs'
import {ask} from './wire.mjs'
import {say} from './store.mjs'
import {href, go} from './place.mjs'
import {Agent, Ago, Hour, Issue, Failure, Still, Chip, useAsked, Act} from './marks.mjs'
import {nick, plural, cut, renamed} from './words.mjs'
import {Completed} from './completing.mjs'
import * as deeds from './deeds.mjs'

const RECEIPT = {queued: 'not seen yet', seen: 'seen', taking: 'seen, taking', done: 'done', undeliverable: 'could not be delivered'}
const other = message => [message.from, message.to.split('#')[0]].sort().join(' – ')

export default function Messages({place}) {
  const only = place.rest[0] || ''
  const [older, more] = useState([]), [end, close] = useState(false)
  const {reply, refused, again} = useAsked(() => ask('list_messages', {limit: 100, ...(only && {agent: only})}), [only], event => /^(message_|task_)/.test(event.type))
  useEffect(() => { more([]); close(false) }, [only])
  const [pair, choose] = useState('')
  const all = useMemo(() => { const seen = new Set(); return [...(reply?.items || []), ...older].filter(each => !seen.has(each.message_id) && seen.add(each.message_id)) }, [reply, older])
  const pairs = new Map()
  for (const message of all) { const key = message.to === '*' ? 'to everybody' : other(message); pairs.set(key, [...(pairs.get(key) || []), message]) }
  const shown = pair ? pairs.get(pair) || [] : all
  const further = async () => { const found = await ask('list_messages', {limit: 100, before: all.at(-1).message_id, ...(only && {agent: only})}); more([...older, ...found.items]); close(!found.has_more) }
  if (!reply) return html`<${Failure} of=${refused} retry=${again} />${!refused && html`<${Still} />`}`
  return html`<div class="talk"><div class="pairs" role="group" aria-label="Conversations">
      <button class=${pair ? '' : 'here'} aria-pressed=${!pair} onClick=${() => choose('')}><b>All</b><span class="count">${all.length}${reply.has_more ? '+' : ''}</span></button>
      ${[...pairs].map(([key, items]) => html`<button key=${key} class=${pair === key ? 'here' : ''} aria-pressed=${pair === key} onClick=${() => choose(key)}><span>${renamed(key)}</span><span class="count">${items.length}</span><span class="last">${cut(items[0].text, 60)}</span></button>`)}
      ${only && html`<a class="button" href=${href({view: 'messages'})}>everybody's</a>`}</div>
    <div class="thread"><div class="letters" tabindex="0" aria-label="Messages, newest last">${shown.map(message => html`<${Letter} message=${message} key=${message.message_id} again=${again} />`)}
      ${!shown.length && html`<p class="dim">Nothing has been said yet.</p>`}${reply.has_more && !end && html`<p><button onClick=${further}>earlier</button></p>`}</div>
      <${Compose} to=${only || (pair && pair !== 'to everybody' ? pair.split(' – ').find(name => name !== 'human') : '')} again=${again} /></div></div>`
}

function Letter({message, again}) {
  const note = message.note ? ` “${message.note}”` : ''
  return html`<article class=${'letter' + (message.from === 'human' ? ' mine' : '')} data-item tabindex="-1"><header><a class="issue-id" href=${href({panel: ['message', String(message.message_id)]})}>#${message.message_id}</a> <${Agent} agent=${message.from} session=${message.session} /> → ${message.to === '*' ? 'everybody' : html`<${Agent} agent=${message.to.split('#')[0]} session=${message.to.split('#')[1]} />`} <${Hour} at=${message.at} />
      ${message.kind !== 'chat' && message.kind !== 'broadcast' && html`<${Chip} kind="">${message.kind}<//>`}${message.priority && html`<${Chip} kind="">${message.priority}<//>`}${message.issue_id && html`<${Issue} id=${message.issue_id} />`}${message.reply_to && html`<span>answers <a class="issue-id" href=${href({panel: ['message', String(message.reply_to)]})}>#${message.reply_to}</a></span>`}</header>
    <p class="words">${message.text}${message.truncated ? '…' : ''}</p>
    ${message.to !== '*' && html`<p class=${'receipt ' + message.state}>${message.held_back && message.state === 'queued' ? html`held back for you: ${message.held_back} <${Act} kind="text" sure=${`${nick(message.to)} will read it.`} act=${async () => { const said = await deeds.passMessage(message); again(); return said }}>let through<//>` : html`${message.state === 'queued' ? '○' : message.state === 'seen' ? '◐' : message.state === 'undeliverable' ? '✕' : '●'} ${RECEIPT[message.state]}${note}${message.taken_at || message.seen_at ? html` <${Ago} at=${message.taken_at || message.seen_at} />` : ''}`}</p>`}</article>`
}

function Compose({to: first, again}) {
  const [to, address] = useState(first || ''), [text, type] = useState(''), [kind, choose] = useState('chat'), [priority, rank] = useState('medium')
  const [refused, fail] = useState(null), [busy, work] = useState(false)
  useEffect(() => { if (first) address(first) }, [first])
  const submit = async event => {
    event.preventDefault()
    if (busy || !to.trim() || !text.trim()) return
    work(true)
    const issue = /\b[A-Z][A-Z0-9]*-\d+\b/.exec(text)?.[0]
    try {
      const reply = await deeds.send({to: to.trim() === 'everybody' ? '*' : to.trim(), text, ...(to.trim() !== '*' && to.trim() !== 'everybody' && {kind}), priority, ...(issue && {issue_id: issue})})
        .catch(error => error.code === 'ISSUE_NOT_FOUND' ? deeds.send({to: to.trim(), text, kind, priority}) : Promise.reject(error))
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
    <${Failure} of=${refused} /><p><button class="first" disabled=${busy || !to.trim() || !text.trim()}>${to.trim() ? `Send to ${nick(to.trim())}` : 'Send'}</button> <span class="dim">Ctrl+Enter · it appears in the log as the human's</span></p></form>`
}

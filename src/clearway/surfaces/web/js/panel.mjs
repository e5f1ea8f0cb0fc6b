// The panel at the side: one issue, agent, path or message, whole, with what can be done about it.
import {html, useState} from './vdom.mjs'
import {ask} from './wire.mjs'
import {use, state, set, say} from './store.mjs'
import {href} from './place.mjs'
import {Agent, Path, Issue, Ago, Hour, Lease, Chip, Status, Priority, Failure, Still, Act, Parts, useAsked, breakable} from './marks.mjs'
import {who, nick, told, loudness, span, hour, reason} from './words.mjs'
import {Markdown} from './markdown.mjs'
import {Completed} from './completing.mjs'
import {Attempts} from './attempts.mjs'
import {Brief} from './brief.mjs'
import {OneAgent} from './agent.mjs'
import {OneEvent, OneAttempt} from './moment.mjs'
import * as deeds from './deeds.mjs'

export default function Panel({kind, id}) {
  if (kind === 'issue') return html`<${OneIssue} id=${id} />`
  if (kind === 'agent') return html`<${OneAgent} id=${id} />`
  if (kind === 'path') return html`<${OnePath} path=${id} />`
  if (kind === 'message') return html`<${OneMessage} id=${Number(id)} />`
  if (kind === 'event') return html`<${OneEvent} id=${Number(id)} />`
  if (kind === 'attempt') return html`<${OneAttempt} id=${id} />`
  return html`<p class="failure">There is no ${kind} here.</p>`
}

// --- an issue ---------------------------------------------------------------------------------------------------------

function OneIssue({id}) {
  const mine = event => event.display_id === id
  const {reply: issue, refused, again} = useAsked(() => ask('get_issue', {issue_id: id}), [id], mine)
  const attempts = useAsked(() => ask('list_attempts', {issue_id: id, limit: 20}), [id], event => mine(event) && /^attempt|late/.test(event.type))
  const notes = useAsked(() => ask('get_issue_activity', {issue_id: id, types: ['attempt_notes'], limit: 60}), [id], event => mine(event) && /note|checkpoint/.test(event.type))
  const graph = useAsked(() => ask('get_issue_graph', {root_issue_id: id, depth: 1, max_bytes: 40000}), [id], event => /relation|status|attempt_c/.test(event.type))
  const reviews = useAsked(() => ask('list_review_requests', {issue_id: id, limit: 5}), [id], event => mine(event) && /review|status/.test(event.type))
  if (!issue) return html`<${Failure} of=${refused} retry=${again} />${!refused && html`<${Still} />`}`
  const live = issue.attempt
  const waiting = (reviews.reply?.items || []).find(each => each.status === 'open' || each.status === 'claimed')
  const failed = (attempts.reply?.items || []).filter(each => each.status === 'failed' || each.status === 'expired').slice(0, 3)
  return html`<article>
    <p class="over-title"><span class="issue-id">${issue.display_id}</span> ${issue.type} <${Status} issue=${issue} /> <${Priority} value=${issue.priority} /> ${issue.labels.map(label => html`<span class="label">${label}</span>`)} ${issue.archived_at && html`<span class="chip">put away</span>`}</p>
    <h1>${issue.title}</h1>
    <${Failure} of=${refused} />
    ${issue.needs_human && html`<p class="failure">Failed again and again: one more attempt will hardly do better. Below are the last briefs, side by side.</p>`}
    <dl class="facts">
      ${live && html`<dt>in the hands of</dt><dd><${Agent} agent=${live.agent} session=${live.session} /> ${live.kind === 'review' ? '(review) ' : ''}until <${Hour} at=${live.lease_expires_at} /></dd>`}
      ${issue.open_blockers ? html`<${WaitsFor} graph=${graph.reply} of=${issue.display_id} />` : null}
      ${issue.blocked_reason && html`<dt>blocked</dt><dd>${issue.blocked_reason}</dd>`}
      ${issue.reserved_for && html`<dt>kept for</dt><dd><${Agent} agent=${issue.reserved_for} /></dd>`}
      ${issue.parent && html`<dt>part of</dt><dd><${Issue} id=${issue.parent.display_id || issue.parent} /> ${issue.parent.title || ''}</dd>`}
      ${issue.children && html`<dt>children</dt><dd>${Object.entries(issue.children).filter(([, count]) => count).map(([name, count]) => `${count} ${name.replace('_', ' ')}`).join(', ') || 'none'}</dd>`}
      ${issue.paths?.length ? html`<dt>will change</dt><dd>${issue.paths.flatMap((path, n) => [n ? ', ' : '', html`<${Path} path=${path} />`])}</dd>` : null}
      ${issue.needs?.length ? html`<dt>needs</dt><dd>${issue.needs.join(', ')}</dd>` : null}
      <dt>written</dt><dd>${issue.created_by ? html`<${Agent} agent=${issue.created_by} /> ` : ''}<${Ago} at=${issue.created_at} />, version ${issue.version}</dd>
    </dl>
    <${IssueDeeds} issue=${issue} review=${waiting} />
    ${failed.length > 1 && issue.needs_human && html`<${Briefs} attempts=${failed} />`}
    ${issue.description && html`<h2>What</h2><${Markdown} text=${issue.description} />`}
    ${issue.acceptance_criteria && html`<h2>Done when</h2><${Markdown} text=${issue.acceptance_criteria} />`}
    <${Relations} graph=${graph.reply} of=${issue.display_id} />
    ${(reviews.reply?.items || []).length ? html`<h2>Reviews</h2><ul class="story">${reviews.reply.items.map(each => html`<li><${Hour} at=${each.created_at} /><span class="what"><${Chip} kind=${each.stale ? 'blocked' : /open|claimed/.test(each.status) ? 'review' : ''}>${each.stale ? 'out of date' : each.status === 'open' ? 'waits' : each.status.replace('_', ' ')}<//> of version ${each.target_issue_version}, asked by <${Agent} agent=${each.requested_by} />${each.reviewer && html`, made by <${Agent} agent=${each.reviewer} />`}</span>${each.findings && html`<${Markdown} text=${each.findings} />`}</li>`)}</ul>` : null}
    <h2>Attempts</h2><${Attempts} found=${attempts} notes=${notes.reply?.items} />
    <${Brief} id=${id} />
    <h2>Activity</h2><${Activity} id=${id} />
    <${Say} id=${id} question=${issue.type === 'question'} />
  </article>`
}

function IssueDeeds({issue, review}) {
  const id = issue.display_id, live = issue.attempt
  const open = kind => set({dialog: {kind, id, issue, review: review?.review_request_id}})
  const over = issue.status === 'done' || issue.status === 'cancelled'
  return html`<div class="deeds">
    ${review && review.status === 'open' && !review.stale && html`<button class="first" onClick=${() => open('approve')}>Approve…</button><button onClick=${() => open('changes')}>Ask for changes…</button>`}
    ${review?.stale && html`<${Act} sure="A new review of what there is now takes its place." act=${() => deeds.askReview(id)}>Ask for a new review<//>`}
    ${live && html`<${Act} kind="danger" sure=${`${who(live.agent, live.session)} loses ${id} and the paths it took for it; its next edit there will be refused.`} act=${() => deeds.releaseAttempt(live.attempt_id, id, live.agent)}>Release from ${who(live.agent, live.session)}<//>`}
    ${!over && issue.type !== 'epic' && html`<button onClick=${() => open('reassign')}>${live ? 'Reassign…' : 'Keep for…'}</button>`}
    ${issue.needs_human && !live && !over && html`<button onClick=${() => open('retry')}>Try again…</button>`}
    ${!live && !over && issue.status !== 'ready' && html`<${Act} act=${() => deeds.setStatus(id, 'ready')}>Make ready<//>`}
    ${!live && !over && issue.status !== 'blocked' && html`<button onClick=${() => open('park')}>Block…</button>`}
    ${!live && issue.status === 'ready' && !review && issue.type !== 'epic' && html`<${Act} act=${() => deeds.askReview(id)}>Ask for a review<//>`}
    ${!live && !over && html`<${Act} act=${() => deeds.setStatus(id, 'done')} sure=${`${id} is done, and what waits for it goes on.`}>Done<//>`}
    ${!live && !over && html`<${Act} act=${() => deeds.setStatus(id, 'cancelled')} sure=${`Nobody will work on ${id}; what waits for it goes on.`}>Cancel<//>`}
    ${over && html`<${Act} act=${() => deeds.setStatus(id, 'open')}>Back to Open<//>`}
    <button onClick=${() => open('edit')}>Edit…</button><button onClick=${() => open('link')}>Link…</button><button onClick=${() => open('decide')}>Decide…</button>
    ${over && !issue.archived_at && html`<${Act} act=${() => deeds.archive(id)} sure=${`${id} is hidden and keeps its history.`}>Put away<//>`}
    ${issue.archived_at && html`<${Act} act=${() => deeds.archive(id, false)}>Bring back<//>`}
  </div>`
}

const Briefs = ({attempts}) => html`<div class="figures">${attempts.map(each => html`<div class="figure"><p><${Agent} agent=${each.agent} session=${each.session} /> <span class="dim"><${Ago} at=${each.finished_at} /></span></p><p class="failure">${(each.failure_code || each.status).replaceAll('_', ' ')}</p><p>${each.result_summary || each.reason_details || 'left nothing'}</p></div>`)}</div>`

// Why nobody can take it yet, and in whose hands that is.
function WaitsFor({graph, of}) {
  const live = use(now => now.board)?.columns.live || []
  const from = new Set((graph?.edges || []).filter(edge => edge.target === of && edge.type === 'blocks').map(edge => edge.source))
  const open = (graph?.nodes || []).filter(node => from.has(node.display_id) && node.status !== 'done' && node.status !== 'cancelled')
  return html`<dt>waits for</dt><dd>${open.map(node => {
    const hands = live.find(card => card.display_id === node.display_id)?.live
    return html`<div key=${node.display_id}><${Issue} id=${node.display_id} /> <q>${node.title}</q>${hands ? html`, in the hands of <${Agent} agent=${hands.agent} session=${hands.session} />` : html` <${Status} issue=${node} />`}</div>`
  })}</dd>`
}

function Relations({graph, of}) {
  if (!graph) return null
  const title = new Map(graph.nodes.map(node => [node.display_id, node]))
  const rows = graph.edges.filter(edge => edge.source === of || edge.target === of)
  if (!rows.length) return null
  const HOW = {blocks: ['blocks', 'waits for'], related_to: ['belongs with', 'belongs with'], duplicates: ['duplicates', 'duplicated by'], parent: ['contains', 'part of'], child_of: ['part of', 'contains']}
  const row = edge => {
    const out = edge.source === of, other = out ? edge.target : edge.source, node = title.get(other)
    return html`<li key=${other + edge.type}><span class="how">${(HOW[edge.type] || [edge.type, edge.type])[out ? 0 : 1]}</span><${Issue} id=${other} /><span class="text">${node?.title}</span>${node && html`<${Status} issue=${node} />`}${HOW[edge.type] && /blocks|related|dupl/.test(edge.type) && html`<${Act} kind="text" sure=${`${edge.source} and ${edge.target} are no longer linked.`} act=${() => deeds.link(edge.source, edge.target, edge.type, 'remove')}>unlink<//>`}</li>`
  }
  return html`<h2>Relations</h2><ul class="relations">${rows.map(row)}</ul>`
}

function Activity({id}) {
  const {reply, refused} = useAsked(() => ask('get_issue_activity', {issue_id: id, limit: 40}), [id], event => event.display_id === id)
  if (!reply) return html`<${Failure} of=${refused} />${!refused && html`<${Still} />`}`
  const line = each => {
    const event = {id: each.event_id, type: each.event_type, at: each.occurred_at, agent: each.agent, session: each.session, display_id: null, data: each}
    const parts = told({...event, display_id: id}).map(part => part.issue === id ? 'it' : part)
    return html`<li class=${loudness(event)} key=${each.event_id}><a class="when" href=${href({panel: ['event', String(each.event_id)]})}>${hour(each.occurred_at)}</a><span class="what">${each.agent === 'clearway' ? 'the room' : html`<${Agent} agent=${each.agent} session=${each.session} />`} <${Parts} parts=${parts} /></span>${(each.content || each.result_summary || each.findings || each.summary) && html`<${Markdown} text=${each.content || each.result_summary || each.findings || each.summary} />`}</li>`
  }
  return html`<ol class="story">${reply.items.map(line)}</ol>${reply.has_more && html`<p class="dim">There is more; <code>clearway issue activity ${id}</code> has all of it.</p>`}`
}

function Say({id, question}) {
  const [text, type] = useState(''), [refused, fail] = useState(null), [busy, work] = useState(false)
  const submit = async event => {
    event.preventDefault()
    if (!text.trim() || busy) return
    work(true)
    try { say(await deeds.comment(id, text)); type(''); fail(null) } catch (error) { fail(error) }
    work(false)
  }
  return html`<form class="stack" onSubmit=${submit}><${Completed} label=${`${question ? 'Answer' : 'Comment'}, for whoever works on it next`} rows="3" value=${text} set=${type} onKeyDown=${event => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit(event)} /><${Failure} of=${refused} /><p><button disabled=${busy || !text.trim()}>${question ? 'Answer' : 'Comment'}</button> <span class="dim">Ctrl+Enter</span></p></form>`
}

// --- a task ---------------------------------------------------------------------------------------------------------

export function Task({task, bare}) {
  const open = ['pending', 'leased', 'started'].includes(task.state)
  const waits = task.waiting
  return html`${!bare && html`<a class="issue-id" href=${href({panel: ['message', String(task.task_id)]})}>#${task.task_id}</a> <span class="text">${task.text}</span>`} <${Chip} kind=${task.state === 'started' || task.state === 'leased' ? 'live' : task.state === 'pending' ? 'ready' : task.state === 'needs_review' ? 'review' : 'refused'}>${task.state.replace('_', ' ')}<//>
    ${waits && html`<span class="dim">waits: ${waits.reason}${waits.path ? html` <${Path} path=${waits.path} />` : ''}${waits.agent ? html`, <${Agent} agent=${waits.agent} session=${waits.session} />` : ''}${waits.seconds_left != null ? `, ${span(waits.seconds_left * 1000)} left` : ''}</span>`}
    ${open ? html`<${Act} kind="text" sure=${`${nick(task.agent || task.to)} is told to stop.`} act=${() => deeds.cancelTask(task)}>cancel<//>` : html`<${Act} kind="text" sure=${`${nick(task.to)} is asked again.`} act=${() => deeds.retryTask(task)}>retry<//>`}`
}

// --- a path -----------------------------------------------------------------------------------------------------------

function OnePath({path}) {
  use(now => now.holdings)
  const held = (state.holdings?.paths || []).filter(each => each.path === path || path.startsWith(each.path + '/') || each.path.startsWith(path + '/') || each.path === '.')
  const root = state.holdings?.checkouts.find(each => each.checkout === held[0]?.checkout)?.root || state.room.folder
  const asked = path.startsWith('@') || path.startsWith('/') ? path : `${root}/${path}`
  const {reply, refused} = useAsked(() => ask('path_history', {path: asked, limit: 60}), [path, root], event => /^(paths_|refused|path_|overlap)/.test(event.type))
  return html`<article><p class="over-title">path ${reply && html`<span class=${'chip ' + (reply.free ? 'ready' : 'live')}>${reply.free ? 'free' : 'held'}</span>`}</p>
    <h1 class="path">${breakable(path)}</h1>
    ${held.map(each => html`<dl class="facts" key=${each.session + each.checkout}>
      <dt>held by</dt><dd><${Agent} agent=${each.agent} session=${each.session} /> ${each.path !== path ? html`as <code>${each.path}</code>` : ''}</dd>
      <dt>for</dt><dd>${each.mode === 'run' ? 'a run over it' + (each.purpose ? `: ${each.purpose}` : '') : each.purpose || 'editing'}</dd>${each.issue && html`<dt>issue</dt><dd><${Issue} id=${each.issue} /></dd>`}
      <dt>since</dt><dd><${Ago} at=${each.since} /></dd><dt>lease</dt><dd><${Lease} until=${each.until} seconds=${each.lease_seconds} /></dd>
      <dt>checkout</dt><dd><code>${state.holdings.checkouts.find(one => one.checkout === each.checkout)?.root}</code></dd></dl>
      <div class="deeds"><${Act} kind="danger" sure=${`${each.path}, held by ${who(each.agent, each.session)}, is free then; its next edit there will be refused if somebody else takes it.`} act=${() => deeds.releasePath(each)}>Release ${each.path} from ${who(each.agent, each.session)}<//></div>`)}
    <${Failure} of=${refused} />
    <h2>Its story</h2>${!reply && !refused ? html`<${Still} />` : null}
    <ol class="story">${(reply?.events || []).map(event => html`<li class=${loudness({...event, data: event})} key=${event.id}><a class="when" href=${href({panel: ['event', String(event.id)]})}>${hour(event.at)}</a><span class="what"><${Agent} agent=${event.agent} session=${event.session} /> ${HISTORY[event.type] || event.type.replaceAll('_', ' ')}${event.path !== path ? html` <code>${event.path}</code>` : ''}${event.why && !/^(release)$/.test(event.why) ? html` <span class="dim">(${event.why.replaceAll('_', ' ')})</span>` : ''}${event.type === 'refused' ? html`<${Parts} parts=${reason({...event, subject: event.path})} />${event.until && html`<span class="dim">, with a lease until ${hour(event.until)} as it stood then</span>`}` : event.message || event.purpose ? html` <span class="dim">${event.message || event.purpose}</span>` : ''}</span></li>`)}</ol>
    ${reply && !reply.events.length && html`<p class="dim">Nothing is known of it yet.</p>`}
  </article>`
}
const HISTORY = {paths_claimed: 'took it', paths_released: 'gave it back', refused: 'was refused', path_leaked: 'changed it although another held it', path_restored: 'brought it back', overlap_noted: 'works on it in another checkout, too', path_changed_outside: 'changed from outside', work_rescued: 'work was saved before a command'}

// --- a message --------------------------------------------------------------------------------------------------------

function OneMessage({id}) {
  const {reply, refused, again} = useAsked(() => ask('list_messages', {before: id + 1, limit: 1}), [id], event => event.data?.message === id || event.data?.task === id)
  const kind = reply?.items[0]?.message_id === id ? reply.items[0].kind : ''
  const task = useAsked(() => kind === 'task' ? ask('list_tasks', {task_id: id}) : Promise.resolve({items: []}), [id, kind], event => event.data?.task === id)
  const [text, type] = useState(''), [failed, fail] = useState(null)
  const message = reply?.items.find(each => each.message_id === id)
  if (!message) return html`<${Failure} of=${refused} retry=${again} />${reply ? html`<p class="failure">There is no message #${id} any more.</p>` : !refused && html`<${Still} />`}`
  const answer = async event => {
    event.preventDefault()
    try { await deeds.send({to: message.from, text, reply_to: message.to === 'human' ? id : undefined}); type(''); fail(null); say(`Sent to ${nick(message.from)}.`); again() } catch (error) { fail(error) }
  }
  const mine = task.reply?.items[0]
  return html`<article><p class="over-title"><span class="issue-id">#${id}</span> ${message.kind} <span class="chip">${message.state}</span> ${message.priority && html`<${Priority} value=${message.priority} />`}</p>
    <h1><${Agent} agent=${message.from} session=${message.session} /> → ${message.to === '*' ? 'everybody' : html`<${Agent} agent=${message.to} />`}</h1>
    <dl class="facts"><dt>sent</dt><dd><${Ago} at=${message.at} /></dd>${message.seen_at && html`<dt>seen</dt><dd><${Ago} at=${message.seen_at} /></dd>`}${message.taken_at && html`<dt>taken</dt><dd><${Ago} at=${message.taken_at} />${message.note ? ` “${message.note}”` : ''}</dd>`}
      ${message.issue_id && html`<dt>about</dt><dd><${Issue} id=${message.issue_id} /></dd>`}${message.reply_to && html`<dt>answers</dt><dd><a class="issue-id" href=${href({panel: ['message', String(message.reply_to)]})}>#${message.reply_to}</a></dd>`}
      ${message.held_back && html`<dt>held back</dt><dd class="failure">${message.held_back}</dd>`}</dl>
    <p class="letter words plain">${message.text}</p>
    ${mine && html`<h2>Task</h2><ul class="relations"><li><${Task} task=${mine} bare />${mine.agent && html`<span>in the hands of <${Agent} agent=${mine.agent} session=${mine.session} />, until <${Hour} at=${mine.lease_expires_at} /></span>`}</li></ul>${mine.late_result && html`<p class="dim">Came too late: ${mine.late_result}</p>`}`}
    <div class="deeds">${message.to === 'human' && ['queued', 'seen'].includes(message.state) && html`<${Act} act=${async () => { const said = await deeds.acceptMessage(message); again(); return said }}>I take it<//>`}
      ${message.held_back && message.state === 'queued' && html`<${Act} sure=${`${nick(message.to)} will read it.`} act=${() => deeds.passMessage(message)}>Let it through<//>`}</div>
    ${message.from !== 'human' && message.from !== 'clearway' && html`<form class="stack" onSubmit=${answer}><${Completed} label=${`Answer ${nick(message.from)}`} rows="3" value=${text} set=${type} onKeyDown=${event => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && answer(event)} /><${Failure} of=${failed} /><p><button disabled=${!text.trim()}>Send</button></p></form>`}
  </article>`
}

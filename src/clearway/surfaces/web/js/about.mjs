// What the small card says of an issue, path, agent, message, event, attempt or time: from what the page knows, else from
// one small question that is not put again until an event touches what it was about.
import {html, useState, useEffect} from './vdom.mjs'
import {ask} from './wire.mjs'
import {state, onEvent} from './store.mjs'
import {Badge, Lease, Chip, Status, Priority, sessionOf} from './marks.mjs'
import {who, nick, inWords, exact, inUtc, age, left, span, cut, plural, COLUMNS, PRESENCE} from './words.mjs'
import {agentsOf} from './shell.mjs'

export function About({kind, id, seconds}) {
  const Kind = KINDS[kind]
  return Kind ? html`<${Kind} id=${id} seconds=${seconds} />` : null
}

const KEPT_MAX = 60, AGAIN_MS = 10e3
const kept = new Map()
const keyOf = (kind, id) => `${state.room?.project} ${kind} ${id}`
onEvent(event => {
  for (const id of [event.display_id, event.data?.message, event.data?.task]) for (const kind of ['issue', 'message']) kept.delete(keyOf(kind, id))
  if (event.display_id) for (const key of kept.keys()) if (key.startsWith(keyOf('attempt', event.display_id + '/'))) kept.delete(key)
})

// One answer for what the page does not know of itself.
function useKept(kind, id, known, read) {
  const [, draw] = useState(0), key = keyOf(kind, id)
  useEffect(() => onEvent(() => draw(n => n + 1)), []) // it may be asked for anew while somebody reads it
  useEffect(() => {
    if (known || kept.has(key)) return
    let here = true
    const put = found => {
      kept.set(key, found)
      if (found.refused) setTimeout(() => kept.delete(key), AGAIN_MS)
      if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value)
      if (here) draw(n => n + 1)
    }
    read().then(reply => put({reply}), refused => put({refused}))
    return () => { here = false }
  }, [key, Boolean(known), kept.has(key)])
  return known ? {reply: known} : kept.get(key) || {}
}

const Facts = ({of}) => html`<dl class="facts">${of.filter(([, value]) => value).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
const Named = ({agent, session = sessionOf(agent)}) => html`<span class="agent"><${Badge} agent=${agent} session=${session} small /><span class="name">${who(agent, session)}</span></span>`
const Moment = ({at}) => html`${exact(at)} <span class="dim">(${age(at)} ago)</span>`
const Silent = ({refused, what}) => html`<p class="dim">${refused ? `${what}: ${refused.message}` : `${what} …`}</p>`

// --- an issue ---------------------------------------------------------------------------------------------------------

function onBoard(id) {
  for (const [name, cards] of Object.entries(state.board?.columns || {})) {
    const card = cards.find(each => each.display_id === id)
    if (card) return {...card, column: name}
  }
}

function AnIssue({id}) {
  const past = state.replay?.reply?.issues.find(each => each.display_id === id)
  const {reply, refused} = useKept('issue', id, past || onBoard(id), () => ask('get_issue', {issue_id: id}))
  if (!reply) return html`<${Silent} what=${id} refused=${refused} />`
  const live = reply.live || (reply.attempt && {...reply.attempt, until: reply.attempt.lease_expires_at}), column = reply.column
  const waits = reply.waits_for?.map(other => { const card = onBoard(other); return card ? `${other} “${cut(card.title, 40)}”` : other })
  return html`<p class="over-title"><span class="issue-id">${id}</span> ${reply.type && reply.type !== 'task' ? `${reply.type} ` : ''}${column ? html`<${Chip} kind=${column}>${reply.status === 'cancelled' ? 'cancelled' : COLUMNS[column].toLowerCase()}<//>` : html`<${Status} issue=${reply} />`}<${Priority} value=${reply.priority} />${reply.priority && reply.priority !== 'medium' ? html`<span>${reply.priority}</span>` : ''}</p>
    <p><b>${reply.title}</b></p>
    ${reply.needs_human && html`<p class="fails">failed again and again</p>`}
    <${Facts} of=${[
      ['with', (live || reply.held_by) && html`<${Named} agent=${live?.agent || reply.held_by} session=${live?.session || reply.session} />${live?.kind === 'review' ? ' (review)' : ''}`],
      ['since', live?.since && html`<${Moment} at=${live.since} />`],
      ['lease', live?.until && (live.lease_seconds ? html`<${Lease} until=${live.until} seconds=${live.lease_seconds} />` : `until ${exact(live.until)}`)],
      ['waits for', waits?.map((line, n) => html`<span key=${n}>${n ? html`<br />` : ''}${line}</span>`) || (reply.open_blockers ? plural(reply.open_blockers, 'issue') : '')],
      ['blocked', reply.blocked_reason],
      ['review', reply.review && (reply.review.stale ? 'out of date: the issue has changed since' : `of version ${reply.review.issue_version}, ${reply.review.status === 'claimed' ? 'being made' : 'not taken yet'}`)],
      ['kept for', reply.reserved_for && nick(reply.reserved_for)],
      ['labels', reply.labels?.join(', ')],
      ['changed', reply.updated_at && html`<${Moment} at=${reply.updated_at} />`],
    ]} />`
}

// --- an agent, a path -------------------------------------------------------------------------------------------------

function AnAgent({id}) {
  const all = agentsOf(state), same = all.filter(each => each.agent === id)
  const one = all.find(each => each.session === id) || (same.length === 1 ? same[0] : null)
  const last = state.events.findLast(event => event.session === id || event.agent === id)
  const agent = one?.agent || same[0]?.agent || last?.agent || id, session = one?.session || (id === agent ? undefined : id)
  const paths = (state.holdings?.paths || []).filter(each => one ? each.session === one.session : each.agent === agent)
  return html`<p><b><${Named} agent=${agent} session=${session} /></b> <span class="dim">${agent === 'human' ? 'whoever sits before this page' : session ? `${agent}, session ${session}` : same.length > 1 ? plural(same.length, 'session') : agent}</span></p>
    ${one?.doing && html`<p>${cut(one.doing, 160)}</p>`}
    <${Facts} of=${[
      ['presence', one ? `${PRESENCE[one.presence] || one.presence}${one.seen_at ? `, seen ${age(one.seen_at)} ago` : ''}` : agent === 'human' || same.length ? '' : 'not here'],
      ['works on', one?.issue && `${one.issue}${onBoard(one.issue) ? ` “${cut(onBoard(one.issue).title, 60)}”` : ''}`],
      ['lease', one?.card?.live && html`<${Lease} until=${one.card.live.until} seconds=${one.card.live.lease_seconds} />`],
      ['holds', paths.length ? html`<code>${paths.slice(0, 3).map(each => each.path).join(', ')}</code>${paths.length > 3 ? ` and ${paths.length - 3} more` : ''}` : ''],
      ['limit', one?.limited_until && `at its provider's limit until ${exact(one.limited_until)}`],
      ['hooks', one && agent !== 'human' && (one.hooks ? 'advisory only: an edit of what others hold is not refused' : 'enforced')],
      ['last', last && `${inWords(last)}, ${age(last.at)} ago`],
    ]} />`
}

function APath({id}) {
  const replayed = state.replay?.reply?.paths, paths = replayed || state.holdings?.paths || []
  const held = paths.filter(each => each.path === id || id.startsWith(each.path + '/') || each.path.startsWith(id + '/') || each.path === '.')
  const branch = each => (state.holdings?.checkouts || []).length > 1 && state.holdings.checkouts.find(one => one.checkout === each.checkout)?.branch
  const wanted = state.events.findLast(event => event.type === 'refused' && event.data.subject === id)
  return html`<p><code>${id}</code> ${!held.length && html`<${Chip} kind="ready">free<//>`}</p>
    ${held.slice(0, 3).map(each => html`<${Facts} key=${each.session + each.path} of=${[
      ['held by', html`<${Named} agent=${each.agent} session=${each.session} />${each.path === id ? '' : html` as <code>${each.path}</code>`}`],
      ['for', each.mode === 'run' ? 'a run over it' : each.purpose],
      ['issue', each.issue], ['branch', branch(each)],
      ['since', each.since && html`<${Moment} at=${each.since} />`],
      ['lease', each.until && html`<${Lease} until=${each.until} seconds=${each.lease_seconds} />`],
    ]} />`)}
    ${held.length > 3 && html`<p class="dim">and ${held.length - 3} more below it</p>`}
    ${wanted && html`<p class="dim">${who(wanted.agent, wanted.session)} was refused it ${age(wanted.at)} ago</p>`}`
}

// --- what happened ----------------------------------------------------------------------------------------------------

function AMessage({id}) {
  const known = state.roster?.messages?.find(each => each.message_id === Number(id)) || state.roster?.waiting_for_you?.find(each => each.message_id === Number(id))
  const {reply, refused} = useKept('message', id, known, () => ask('list_messages', {before: Number(id) + 1, limit: 1}).then(found => found.items.find(each => each.message_id === Number(id)) || Promise.reject({message: 'is not kept any more'})))
  if (!reply) return html`<${Silent} what=${`#${id}`} refused=${refused} />`
  return html`<p class="over-title"><span class="issue-id">#${id}</span> ${reply.kind !== 'chat' ? reply.kind : ''} <${Chip} kind="">${reply.state === 'queued' ? 'not seen yet' : reply.state}<//><${Priority} value=${reply.priority} /></p>
    <p><${Named} agent=${reply.from} session=${reply.session} /> → ${!reply.to || reply.to === '*' ? 'everybody' : html`<${Named} agent=${reply.to.split('#')[0]} session=${reply.to.split('#')[1]} />`}</p>
    <p class="words">${cut(reply.text || '', 320)}</p>
    <${Facts} of=${[['about', reply.issue_id], ['answers', reply.reply_to && `#${reply.reply_to}`], ['note', reply.note], ['held back', reply.held_back], ['sent', html`<${Moment} at=${reply.at} />`]]} />`
}

function AnEvent({id}) {
  const known = state.events.find(each => each.id === Number(id))
  const {reply, refused} = useKept('event', id, known, () => ask('get_changes', {since_event_id: Number(id) - 1, limit: 1}).then(found => found.events[0]))
  if (!reply) return html`<${Silent} what=${`event ${id}`} refused=${refused} />`
  return html`<p class="over-title">event ${reply.id} <code>${reply.type}</code></p>
    <p>${reply.agent === 'clearway' ? 'the room' : html`<${Named} agent=${reply.agent} session=${reply.session} />`} ${inWords(reply)}</p>
    <${Time} id=${reply.at} />`
}

function AnAttempt({id}) {
  const [issue, attempt] = id.split('/')
  const live = onBoard(issue)?.live
  const known = live?.attempt_id === attempt && {...live, status: 'active', started_at: live.since, lease_expires_at: live.until}
  const {reply, refused} = useKept('attempt', id, known, () => ask('list_attempts', {issue_id: issue, limit: 100}).then(found => found.items.find(each => each.attempt_id === attempt) || Promise.reject({message: 'is not among the last hundred'})))
  if (!reply) return html`<${Silent} what="this attempt" refused=${refused} />`
  return html`<p class="over-title">${reply.kind === 'review' ? 'review' : 'attempt'} on <span class="issue-id">${issue}</span> <${Chip} kind=${{active: 'live', completed: '', failed: 'refused'}[reply.status] ?? 'blocked'}>${reply.status}<//></p>
    <p><${Named} agent=${reply.agent} session=${reply.session} /></p>
    ${(reply.result_summary || reply.reason_details) && html`<p>${cut(reply.result_summary || reply.reason_details, 240)}</p>`}
    <${Facts} of=${[
      ['why', (reply.failure_code || reply.interruption_code)?.replaceAll('_', ' ')],
      ['began', html`<${Moment} at=${reply.started_at} />`],
      ['ended', reply.finished_at && `${exact(reply.finished_at)}, after ${span(Date.parse(reply.finished_at) - Date.parse(reply.started_at))}`],
      ['lease', !reply.finished_at && reply.lease_expires_at && `until ${exact(reply.lease_expires_at)}`],
    ]} />`
}

// --- times ------------------------------------------------------------------------------------------------------------

const Time = ({id}) => {
  const ahead = Date.parse(id) > Date.now()
  return html`<p>${exact(id)} <span class="dim">${ahead ? `in ${left(id)}` : `${age(id)} ago`}</span></p><p class="dim"><code>${inUtc(id)}</code></p>`
}
function ALease({id, seconds}) {
  const over = Date.parse(id) < Date.now()
  return html`<p>The lease ${over ? 'ended' : 'ends'} ${exact(id)} <span class="dim">${over ? `${age(id)} ago` : `in ${left(id)}`}</span></p>
    <p class="dim"><code>${inUtc(id)}</code></p>${seconds ? html`<p class="dim">Of ${span(seconds * 1000)}; a sign of life refills it.</p>` : null}`
}

const KINDS = {issue: AnIssue, agent: AnAgent, path: APath, message: AMessage, event: AnEvent, attempt: AnAttempt, time: Time, lease: ALease}

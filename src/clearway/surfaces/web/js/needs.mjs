// What needs the human: one line each, the action beside it. All quiet looks quiet.
import {html} from './vdom.mjs'
import {use, state, set} from './store.mjs'
import {href} from './place.mjs'
import {Issue, Agent, Ago, Act, MessageLink} from './marks.mjs'
import {cut, plural, age, nick, renamed} from './words.mjs'
import {acceptMessage, passMessage, retryTask} from './deeds.mjs'

// Every kind of thing that waits for a person, from what the page knows already.
export function needs(now) {
  const found = []
  const cards = now.board ? Object.values(now.board.columns).flat() : []
  for (const card of cards) if (card.needs_human) found.push({kind: 'failed', key: 'f' + card.display_id, card})
  for (const card of cards) {
    if (card.type === 'question' && !card.live && card.status !== 'cancelled' && !now.board.columns.done.includes(card)) found.push({kind: 'question', key: 'q' + card.display_id, card})
    if (card.review?.stale) found.push({kind: 'stale', key: 's' + card.display_id, card})
    else if (card.review && card.review.status === 'open' && !card.live) found.push({kind: 'review', key: 'r' + card.display_id, card})
  }
  const told = new Set()
  for (const message of now.roster?.waiting_for_you || []) { told.add(message.message_id); found.push({kind: 'message', key: 'm' + message.message_id, message}) }
  for (const message of [...(now.roster?.messages || []), ...(now.overdue?.items || [])]) {
    if (told.has(message.message_id)) continue
    if (message.held_back && message.state === 'queued') { told.add(message.message_id); found.push({kind: 'held back', key: 'h' + message.message_id, message}) }
    else if (message.to === 'human' && (message.state === 'queued' || message.state === 'seen')) { told.add(message.message_id); found.push({kind: 'message', key: 'm' + message.message_id, message}) }
  }
  for (const task of now.tasks?.items || []) if (['failed', 'needs_review', 'dead_letter'].includes(task.state) && (task.from === 'human' || task.state === 'dead_letter')) found.push({kind: 'task', key: 't' + task.task_id, task})
  for (const each of now.roster?.agents || []) if (each.presence === 'stalled') found.push({kind: 'stalled', key: 'a' + each.session, agent: each})
  for (const each of now.roster?.needs_you || []) found.push({kind: 'other', key: each.key, other: each})
  return found
}

const SIGN = {limit: '~', blocked: '‖', moved: '›', stuck: '~', failed: '!', question: '?', message: '›', 'held back': '‖', task: '!', stalled: '~', review: '◇', stale: '◇', other: '!'}
const LINES = {
  failed: ({card}) => html`<span><${Issue} id=${card.display_id} /> failed again and again <q>${cut(card.title, 70)}</q></span><span class="do"><a class="button" href=${href({panel: ['issue', card.display_id]})}>look</a><button onClick=${() => set({dialog: {kind: 'park', id: card.display_id}})}>park</button></span>`,
  question: ({card}) => html`<span><${Issue} id=${card.display_id} /> asks <q>${cut(card.title, 90)}</q></span><span class="do"><a class="button" href=${href({panel: ['issue', card.display_id]})}>answer</a></span>`,
  review: ({card}) => html`<span><${Issue} id=${card.display_id} /> waits for a review <q>${cut(card.title, 70)}</q></span><span class="do"><a class="button" href=${href({panel: ['issue', card.display_id]})}>look</a><button onClick=${() => set({dialog: {kind: 'approve', id: card.display_id, review: card.review.review_request_id}})}>approve</button></span>`,
  stale: ({card}) => html`<span>The review of <${Issue} id=${card.display_id} /> is out of date: it has changed since <q>${cut(card.title, 50)}</q></span><span class="do"><a class="button" href=${href({panel: ['issue', card.display_id]})}>look</a></span>`,
  message: ({message}) => html`<span><${Agent} agent=${message.from} /> to you: <q>${cut(message.text, 110)}</q> <${Ago} at=${message.at} /></span><span class="do"><a class="button" href=${href({panel: ['message', String(message.message_id)]})}>answer</a><${Act} act=${() => acceptMessage(message)}>taken<//></span>`,
  'held back': ({message}) => html`<span><${MessageLink} id=${message.message_id} /> from <${Agent} agent=${message.from} /> to <${Agent} agent=${message.to} /> is held back for you (${message.held_back}): <q>${cut(message.text, 70)}</q></span><span class="do"><a class="button" href=${href({panel: ['message', String(message.message_id)]})}>read</a><${Act} sure=${`${nick(message.to)} will read it.`} act=${() => passMessage(message)}>let through<//></span>`,
  task: ({task}) => html`<span>Task <${MessageLink} id=${task.task_id} /> for <${Agent} agent=${task.to} /> ${task.state === 'needs_review' ? 'wants to be looked at' : task.state === 'dead_letter' ? 'was given up' : 'failed'}: <q>${cut(task.text, 70)}</q></span><span class="do"><a class="button" href=${href({panel: ['message', String(task.task_id)]})}>look</a><${Act} sure=${`${nick(task.to)} is asked again.`} act=${() => retryTask(task)}>retry<//></span>`,
  stalled: ({agent}) => html`<span><${Agent} agent=${agent.agent} session=${agent.session} /> is in a turn and silent for ${age(agent.seen_at)}${agent.issue ? html`, on <${Issue} id=${agent.issue} />` : ''}</span><span class="do"><a class="button" href=${href({panel: ['agent', agent.session]})}>look</a></span>`,
  other: ({other}) => html`<span>${other.issue_id && html`<${Issue} id=${other.issue_id} /> `}${plain(other)}${other.at && html` <${Ago} at=${other.at} />`}</span><span class="do">${other.issue_id ? html`<a class="button" href=${href({panel: ['issue', other.issue_id]})}>look</a>` : other.task_id || other.message_id ? html`<a class="button" href=${href({panel: ['message', String(other.task_id || other.message_id)]})}>look</a>` : other.agent ? html`<a class="button" href=${href({panel: ['agent', other.agent]})}>look</a>` : other.next && html`<code>${other.next}</code>`}</span>`,
}

// What the room says of it, without the name that stands before it as a link.
const plain = other => renamed(other.issue_id && other.text.startsWith(other.issue_id) ? other.text.slice(other.issue_id.length).trim() : other.text)

export function Needs() {
  use(now => now.board); use(now => now.roster); use(now => now.overdue); use(now => now.tasks)
  const found = needs(state), most = 6, all = use(now => now.allNeeds)
  const shown = all ? found : found.slice(0, most)
  if (!found.length) return state.roster ? html`<p class="all-quiet">Nothing needs you.</p>` : html`<p class="all-quiet"> </p>`
  return html`<section class="needs" aria-labelledby="needs"><h2 id="needs">Needs you <span>${found.length}</span></h2>
    <ul data-list="needs">${shown.map(each => html`<li key=${each.key} class=${each.kind.replace(' ', '-')} data-item data-id=${(each.card || each.other)?.display_id || each.other?.issue_id} tabindex="-1"><i aria-hidden="true">${SIGN[each.other?.kind] || SIGN[each.kind]}</i>${LINES[each.kind](each)}</li>`)}</ul>
    ${found.length > most && html`<button class="text" onClick=${() => set({allNeeds: !all})}>${all ? 'Show fewer' : plural(found.length - most, 'more', 'more')}</button>`}</section>`
}

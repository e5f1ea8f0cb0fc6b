// Attempts as a timeline: who worked, from when until when, the checkpoints and notes on the way, and what it came to.
import {html} from './vdom.mjs'
import {Agent, Issue, Ago, Hour, Failure, Still} from './marks.mjs'
import {span, hour} from './words.mjs'
import {href} from './place.mjs'
import {Markdown} from './markdown.mjs'

const words = text => text.replaceAll('_', ' ')

// found: of list_attempts; notes: of get_issue_activity, those that were left during an attempt. named: with the issue.
export function Attempts({found, notes, named}) {
  const items = found.reply?.items
  if (!items) return html`<${Failure} of=${found.refused} />${!found.refused && html`<${Still} />`}`
  if (!items.length) return html`<p class="dim">Nobody has worked on it yet.</p>`
  return html`<ol class="attempts">${items.map(each => html`<li class=${each.status} key=${each.attempt_id}>
    <p class="line">${named ? html`<${Issue} id=${each.display_id} />` : html`<${Agent} agent=${each.agent} session=${each.session} />`} <a href=${href({panel: ['attempt', `${each.display_id}/${each.attempt_id}`]})}>${each.kind === 'review' ? 'review, ' : ''}${each.status}${each.failure_code ? `: ${words(each.failure_code)}` : ''}${each.interruption_code ? `: ${words(each.interruption_code)}` : ''}</a> <span class="dim"><${Hour} at=${each.started_at} />${each.finished_at ? html` – <${Hour} at=${each.finished_at} />, ${span(Date.parse(each.finished_at) - Date.parse(each.started_at))}` : each.lease_expires_at && html`, leased until <${Hour} at=${each.lease_expires_at} />`}</span></p>
    <${Points} notes=${notesOf(each, notes)} />
    ${each.result_summary && html`<${Markdown} text=${each.result_summary} />`}${each.reason_details && html`<${Markdown} text=${each.reason_details} />`}
    ${each.verification && html`<p class="dim">Checked: ${each.verification.join(' · ')}</p>`}
    ${each.next_steps && html`<p class="dim">Next: ${each.next_steps.join(' · ')}</p>`}
    ${(each.artifacts || []).map(artifact => html`<p><span class="label">${artifact.type}</span> <code>${artifact.uri}</code> ${artifact.title || ''}</p>`)}
    ${(each.late_results || []).map(late => html`<p class="dim">Came too late, <${Ago} at=${late.at} />: ${late.result_summary}</p>`)}</li>`)}</ol>`
}

// A note belongs to the attempt in which its session worked when it was left. Oldest first, as they came.
function notesOf(attempt, notes) {
  const from = Date.parse(attempt.started_at), until = attempt.finished_at ? Date.parse(attempt.finished_at) : Infinity
  return (notes || []).filter(note => note.session === attempt.session && Date.parse(note.occurred_at) >= from && Date.parse(note.occurred_at) <= until).reverse()
}

const Points = ({notes}) => notes.length ? html`<ol class="points">${notes.map(note => html`<li key=${note.event_id} class=${note.kind}><p class="line"><a class="when" href=${href({panel: ['event', String(note.event_id)]})}>${hour(note.occurred_at)}</a> <b>${words(note.kind)}</b>${note.automatic ? html` <span class="dim">automatic</span>` : ''}${note.important ? html` <span class="priority high">!</span>` : ''}</p><${Markdown} text=${note.content} />${note.next_steps && html`<p class="dim">Next: ${note.next_steps.join(' · ')}</p>`}</li>`)}</ol>` : null

// The brief of an issue, as the next agent would get it: in its order, to be read; and word for word, as it is sent.
import {html, useState} from './vdom.mjs'
import {ask} from './wire.mjs'
import {Agent, Issue, Ago, Failure, Still} from './marks.mjs'
import {Markdown} from './markdown.mjs'

const words = text => String(text).replaceAll('_', ' ')

export function Brief({id}) {
  const [found, put] = useState(null), [whole, show] = useState(false), [open, turn] = useState(false)
  // Asked for each time it is opened: it changes with all that happens to the issue.
  const toggle = event => { turn(event.currentTarget.open); if (event.currentTarget.open) ask('get_work_context', {issue_id: id}).then(reply => put({reply}), refused => put({refused})) }
  return html`<details class="brief-of" onToggle=${toggle}><summary>The brief, as the next agent would get it</summary>${!found ? open && html`<${Still} />` : html`<${Failure} of=${found.refused} />${found.reply && html`<${Sections} of=${found.reply} />
    <p class="dim">${new TextEncoder().encode(JSON.stringify(found.reply)).length.toLocaleString()} bytes${found.reply.truncated ? `; cut to fit: ${found.reply.truncated_sections.map(words).join(', ')}` : ''}. <button class="text" aria-expanded=${whole} onClick=${() => show(!whole)}>${whole ? 'Not word for word' : 'Word for word'}</button></p>
    ${whole && html`<pre class="brief" tabindex="0">${JSON.stringify(found.reply, null, 2)}</pre>`}`}`}</details>`
}

// Its texts stand above, in the panel itself, and are not said again.
function Sections({of}) {
  const part = (name, content) => html`<dt>${name}</dt><dd>${content}</dd>`
  const note = each => html`<${Markdown} text=${each.content} />${each.next_steps && html`<p class="dim">Next: ${each.next_steps.join(' · ')}</p>`}`
  const signed = each => html`<p class="dim"><${Agent} agent=${each.agent} /> <${Ago} at=${each.at || each.ended_at} /></p>`
  const before = of.previous_attempt
  return html`<dl class="facts sections">
    <dt>texts</dt><dd>title, description and criteria, as above</dd>
    ${(of.warnings || []).map(each => part('mind', each.message || words(each.code || each)))}
    ${(of.blockers || []).map(each => part('waits for', html`<${Issue} id=${each.display_id} /> ${each.title} <span class="dim">${words(each.status)}</span>`))}
    ${of.checkpoint && part('checkpoint', [signed(of.checkpoint), note(of.checkpoint)])}
    ${of.since_checkpoint && part('since then', [signed(of.since_checkpoint), note(of.since_checkpoint)])}
    ${(of.decisions || []).map(each => part('decided', html`<b>${each.title}</b> ${each.summary}`))}
    ${(of.answers || []).map(each => part('answer', html`<${Issue} id=${each.display_id} /> <q>${each.title}</q> ${each.answer}`))}
    ${of.review && part('review', html`${words(of.review.status || '')} ${of.review.findings && html`<${Markdown} text=${of.review.findings} />`}`)}
    ${before && part('last attempt', html`${signed(before)}<p>${words(before.status)}${before.failure_code || before.interruption_code ? `: ${words(before.failure_code || before.interruption_code)}` : ''}</p>${['result_summary', 'reason_details'].map(name => before[name] && html`<${Markdown} text=${before[name]} />`)}${before.verification && html`<p class="dim">Checked: ${before.verification.join(' · ')}</p>`}${before.next_steps && html`<p class="dim">Next: ${before.next_steps.join(' · ')}</p>`}`)}
    ${(of.notes || []).map(each => part(words(each.kind), note(each)))}
    ${(of.comments || []).map(each => part('said', [signed(each), html`<${Markdown} text=${each.content} />`]))}
    ${(of.changes || []).map(each => part('changed', html`${words(each.type)} by <${Agent} agent=${each.agent} /> <${Ago} at=${each.at} />${each.changed_fields ? `: ${each.changed_fields.map(words).join(', ')}` : ''}`))}
    ${(of.neighbours || []).map(each => part('near', html`<${Agent} agent=${each.agent} /> is on <${Issue} id=${each.display_id} /> <span class="dim">${each.title}</span>`))}
  </dl>`
}

// At the side: one event of the log, or one attempt with its checkpoints, whole.
import {html} from './vdom.mjs'
import {ask} from './wire.mjs'
import {use} from './store.mjs'
import {href} from './place.mjs'
import {Agent, Path, Issue, Ago, Hour, Chip, Failure, Still, Parts, useAsked} from './marks.mjs'
import {told, loudness, exact, inUtc, hour, span} from './words.mjs'
import {Markdown} from './markdown.mjs'
import {look} from './replay.mjs'

const KINDS = {loud: 'refused', fading: 'blocked'}
const THEN = {holder_session: true, holder: true, until: true, message: true, code: true, subject: true, paths: true}
const plain = value => Array.isArray(value) ? value.map(plain).join(', ') : value && typeof value === 'object' ? JSON.stringify(value) : String(value)

export function OneEvent({id}) {
  const events = use(now => now.events)
  const known = events.find(each => each.id === id)
  const found = useAsked(() => known ? Promise.resolve({events: [known]}) : ask('get_changes', {since_event_id: id - 1, limit: 1}), [id])
  const event = known || found.reply?.events.find(each => each.id === id)
  if (!event) return html`<${Failure} of=${found.refused} retry=${found.again} />${found.reply ? html`<p class="failure">There is no event ${id}, or it is no longer kept.</p>` : !found.refused && html`<${Still} />`}`
  const {data} = event, paths = (data.paths || []).map(each => each.path ?? each)
  const rest = Object.entries(data).filter(([name, value]) => !THEN[name] && value != null && value !== '' && !Array.isArray(value) || name === 'changed_fields')
  const latest = events.at(-1)?.id || 0
  return html`<article>
    <p class="over-title">event ${id} <${Chip} kind=${KINDS[loudness(event)] || ''}>${event.type.replaceAll('_', ' ')}<//></p>
    <h1 class="happened">${event.agent === 'clearway' ? 'The room' : html`<${Agent} agent=${event.agent} session=${event.session} />`} <${Parts} parts=${told(event)} /></h1>
    <dl class="facts">
      <dt>when</dt><dd>${exact(event.at)} <span class="dim">(<${Ago} at=${event.at} />)</span><br /><code>${inUtc(event.at)}</code></dd>
      ${event.display_id && html`<dt>issue</dt><dd><${Issue} id=${event.display_id} /></dd>`}
      ${data.holder && html`<dt>in the way</dt><dd><${Agent} agent=${data.holder} session=${data.holder_session} />${data.until && html`, whose lease ran until <time datetime=${data.until}>${hour(data.until)}</time> as it stood then`}</dd>`}
      ${data.message && typeof data.message === 'string' && html`<dt>was told</dt><dd><q>${data.message}</q></dd>`}
      ${paths.length ? html`<dt>paths</dt><dd>${paths.map(path => html`<div key=${path}><${Path} path=${path} /></div>`)}</dd>` : null}
      ${rest.map(([name, value]) => html`<dt>${name.replaceAll('_', ' ')}</dt><dd><code>${plain(value)}</code></dd>`)}
    </dl>
    <div class="deeds"><button onClick=${() => look(id)}>Show the room as it was then</button>
      ${id > 1 && html`<a class="button" href=${href({panel: ['event', String(id - 1)]})}>the event before</a>`}${id < latest && html`<a class="button" href=${href({panel: ['event', String(id + 1)]})}>the event after</a>`}</div>
  </article>`
}

const ENDED = {active: 'live', completed: '', failed: 'refused'}

export function OneAttempt({id}) {
  const [issue, attempt] = id.split('/')
  const mine = event => event.display_id === issue
  const {reply, refused, again} = useAsked(() => ask('list_attempts', {issue_id: issue, limit: 100}), [id], event => mine(event) && /^attempt|late/.test(event.type))
  const told = useAsked(() => ask('get_issue_activity', {issue_id: issue, types: ['attempt_notes'], limit: 100}), [id], event => mine(event) && /note|checkpoint/.test(event.type))
  const one = reply?.items.find(each => each.attempt_id === attempt)
  if (!one) return html`<${Failure} of=${refused} retry=${again} />${reply ? html`<p class="failure">This attempt is not among the last hundred on ${issue}.</p>` : !refused && html`<${Still} />`}`
  const from = Date.parse(one.started_at), to = one.finished_at ? Date.parse(one.finished_at) : Infinity
  const notes = (told.reply?.items || []).filter(each => each.session === one.session && Date.parse(each.occurred_at) >= from && Date.parse(each.occurred_at) <= to)
  return html`<article>
    <p class="over-title">${one.kind === 'review' ? 'review' : 'attempt'} <${Chip} kind=${ENDED[one.status] ?? 'blocked'}>${one.status}<//></p>
    <h1><${Agent} agent=${one.agent} session=${one.session} /> on <${Issue} id=${issue} /></h1>
    <dl class="facts">
      <dt>began</dt><dd>${exact(one.started_at)} <span class="dim">(<${Ago} at=${one.started_at} />)</span></dd>
      ${one.finished_at && html`<dt>ended</dt><dd>${exact(one.finished_at)}, after ${span(to - from)}</dd>`}
      ${!one.finished_at && one.lease_expires_at && html`<dt>lease</dt><dd>until <${Hour} at=${one.lease_expires_at} /></dd>`}
      ${(one.failure_code || one.interruption_code) && html`<dt>why</dt><dd>${(one.failure_code || one.interruption_code).replaceAll('_', ' ')}</dd>`}
      ${one.verification?.length ? html`<dt>checked</dt><dd>${one.verification.join(' · ')}</dd>` : null}
      ${one.next_steps?.length ? html`<dt>next</dt><dd>${one.next_steps.join(' · ')}</dd>` : null}
      ${(one.artifacts || []).map(each => html`<dt>${each.type}</dt><dd><code>${each.uri}</code> ${each.title || ''}</dd>`)}
    </dl>
    ${(one.result_summary || one.reason_details) && html`<h2>Result</h2><${Markdown} text=${one.result_summary || one.reason_details} />`}
    <h2>Checkpoints and notes <span>${notes.length || ''}</span></h2><${Failure} of=${told.refused} />
    ${notes.length ? html`<ol class="story">${notes.map(each => html`<li key=${each.event_id}><a class="when" href=${href({panel: ['event', String(each.event_id)]})}>${hour(each.occurred_at)}</a><span class="what">${each.kind || 'note'}</span><${Markdown} text=${each.content} />${each.next_steps?.length ? html`<p class="dim md">Next: ${each.next_steps.join(' · ')}</p>` : null}</li>`)}</ol>` : told.reply && html`<p class="dim">It left none.</p>`}
  </article>`
}

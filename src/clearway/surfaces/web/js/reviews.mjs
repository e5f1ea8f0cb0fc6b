// Reviews: what waits, what is out of date, what was found.
import {html} from './vdom.mjs'
import {ask} from './wire.mjs'
import {use, set} from './store.mjs'
import {Agent, Ago, Issue, Chip, Failure, Still, Empty, Act, useAsked} from './marks.mjs'
import {Markdown} from './markdown.mjs'
import * as deeds from './deeds.mjs'

export default function Reviews() {
  const cards = Object.values(use(now => now.board)?.columns || {}).flat()
  const {reply, refused, again} = useAsked(() => ask('list_review_requests', {limit: 60}), [], event => /^(review_|status|attempt_|issue_)/.test(event.type))
  if (!reply) return html`<${Failure} of=${refused} retry=${again} />${!refused && html`<${Still} />`}`
  if (!reply.items.length) return html`<${Empty}><h2>No review was asked for</h2><p class="dim">An agent that finishes with the status review, or calls create_review_request, asks another session to look. So can you, in the panel of an issue.</p><//>`
  const open = reply.items.filter(each => each.status === 'open' || each.status === 'claimed'), over = reply.items.filter(each => !open.includes(each))
  return html`<${Failure} of=${refused} />${open.length ? html`<h2>Waiting <span>${open.length}</span></h2><${Table} items=${open} cards=${cards} />` : html`<p class="dim">No review waits.</p>`}${over.length ? html`<h2>Over</h2><${Table} items=${over} cards=${cards} />` : null}`
}

const Table = ({items, cards}) => html`<table class="list reviews"><thead><tr><th>Issue</th><th>State</th><th>Asked by</th><th>Reviewer</th><th>Of</th><th>Findings</th><th><span class="hidden">What can be done</span></th></tr></thead><tbody data-list="reviews">${items.map(each => html`<tr key=${each.review_request_id} data-item data-id=${each.display_id} tabindex="0">
  <td class="of"><${Issue} id=${each.display_id} /> <span class="dim">${cards.find(card => card.display_id === each.display_id)?.title}</span></td><td class="fit"><${Chip} kind=${each.stale || each.status === 'blocked' ? 'blocked' : /open|claimed/.test(each.status) ? 'review' : ''}>${each.stale ? 'out of date' : each.status === 'open' ? 'waits' : each.status.replace('_', ' ')}<//></td>
  <td class="fit"><${Agent} agent=${each.requested_by} /> <span class="dim"><${Ago} at=${each.created_at} /></span></td><td class="fit">${each.reviewer && html`<${Agent} agent=${each.reviewer} />`}</td><td class="fit">version ${each.target_issue_version}</td><td class="title">${each.stale && html`<span class="dim">${each.display_id} has changed since it was asked for</span>`}${each.findings && html`<${Markdown} text=${each.findings} />`}${each.follow_up && html`goes on in <${Issue} id=${each.follow_up} />`}</td>
  <td class="fit">${each.status === 'open' && (each.stale ? html`<${Act} sure="A new review of what there is now takes its place." act=${() => deeds.askReview(each.display_id)}>ask again<//>` : html`<button onClick=${() => set({dialog: {kind: 'approve', id: each.display_id, review: each.review_request_id}})}>approve</button> <button onClick=${() => set({dialog: {kind: 'changes', id: each.display_id, review: each.review_request_id}})}>changes</button>`)}</td></tr>`)}</tbody></table>`

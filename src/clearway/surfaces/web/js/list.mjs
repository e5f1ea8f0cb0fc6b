// Issues as a list, page by page, however many there are.
import {html, useState, useEffect} from './vdom.mjs'
import {ask} from './wire.mjs'
import {onEvent} from './store.mjs'
import {href, go} from './place.mjs'
import {Agent, Ago, Status, Priority, Failure, Still} from './marks.mjs'
import {COLUMNS} from './words.mjs'

const ASKED = {open: ['open'], ready: ['ready'], live: ['in_progress'], blocked: ['blocked'], review: ['review'], done: ['done', 'cancelled']}

export default function List({place}) {
  const kind = place.rest[0] || 'all', label = place.rest[1] || ''
  const [items, put] = useState(null), [cursor, point] = useState(null), [refused, fail] = useState(null), [news, hear] = useState(false)
  const read = async from => {
    try {
      const reply = await ask('list_issues', {limit: 100, ...(ASKED[kind] && {effective_statuses: ASKED[kind]}), ...(label && {labels: [label]}), ...(from && {cursor: from})})
      put(before => from ? [...before, ...reply.items] : reply.items)
      point(reply.next_cursor || null)
      fail(null)
      if (!from) hear(false)
    } catch (error) { fail(error) }
  }
  useEffect(() => { put(null); read() }, [kind, label])
  useEffect(() => onEvent(event => event.display_id && hear(true)), [])
  const near = event => { const box = event.currentTarget; if (cursor && box.scrollTop + box.clientHeight > box.scrollHeight - 600) { const from = cursor; point(null); read(from) } }
  useEffect(() => {
    const box = document.getElementById('view')
    box.addEventListener('scroll', near)
    return () => box.removeEventListener('scroll', near)
  }, [cursor])
  return html`<div class="filters" role="group" aria-label="Status">${['all', ...Object.keys(ASKED)].map(each => html`<button class=${each === kind ? 'here' : ''} aria-pressed=${each === kind} onClick=${() => go({view: 'list', rest: each === 'all' ? [] : [each]})}>${each === 'all' ? 'All' : COLUMNS[each]}</button>`)}${label && html`<a class="button" href=${href({view: 'list', rest: [kind]})}>label ${label} ×</a>`}${news && html`<button class="text" onClick=${() => read()}>Something has changed: read again</button>`}</div>
    <${Failure} of=${refused} retry=${() => read()} />
    ${!items ? !refused && html`<${Still} />` : html`<table class="list"><thead><tr><th>Issue</th><th>Title</th><th>Status</th><th>With</th><th>Labels</th><th>Waits</th><th>Changed</th></tr></thead>
      <tbody data-list="list">${items.map(issue => html`<tr key=${issue.display_id} data-item data-id=${issue.display_id} tabindex="0">
        <td class="fit"><a class="issue-id" tabindex="-1" href=${href({panel: ['issue', issue.display_id]})}>${issue.display_id}</a></td><td class="title">${issue.title} <${Priority} value=${issue.priority} />${issue.type !== 'task' ? html` <span class="label">${issue.type}</span>` : ''}${issue.needs_human ? html` <span class="chip refused">needs you</span>` : ''}</td>
        <td class="fit"><${Status} issue=${issue} /></td><td class="fit">${issue.held_by && html`<${Agent} agent=${issue.held_by} />`}</td><td>${(issue.labels || []).slice(0, 3).map(each => html`<a class="label" href=${href({view: 'list', rest: [kind, each]})}>${each}</a> `)}</td><td class="fit dim">${issue.open_blockers || ''}</td><td class="fit dim"><${Ago} at=${issue.updated_at} bare /></td></tr>`)}</tbody></table>
      ${!items.length && html`<p class="dim">There is none.</p>`}${cursor && html`<p class="further"><button onClick=${() => read(cursor)}>More</button></p>`}`}`
}

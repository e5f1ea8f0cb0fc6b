// What was found by its words: issues, comments, notes, results, decisions, and messages.
import {html, useState, useEffect} from './vdom.mjs'
import {ask} from './wire.mjs'
import {href} from './place.mjs'
import {Issue, Failure, Still, Chip} from './marks.mjs'

export default function Search({place}) {
  const query = place.rest[0] || ''
  const [found, put] = useState(null), [letters, write] = useState(null), [refused, fail] = useState(null), [cursor, point] = useState(null)
  const read = from => ask('search', {query, limit: 30, ...(from && {cursor: from})}).then(reply => { put(before => from ? [...before, ...reply.items] : reply.items); point(reply.next_cursor || null); fail(null) }, fail)
  useEffect(() => {
    put(null)
    write(null)
    fail(null)
    if (!query) return
    read()
    ask('search', {query, limit: 10, messages: true}).then(reply => write(reply.items), () => write([]))
  }, [query])
  const said = /^[A-Z][A-Z0-9]*-\d+$/i.test(query) ? query.toUpperCase() : null
  return html`<h2>Found for <q>${query}</q></h2><${Failure} of=${refused} />
    ${said && html`<p class="hit"><span><${Issue} id=${said} /> by its name</span></p>`}
    ${!found ? !refused && html`<${Still} />` : html`<div data-list="search">${found.map(each => html`<a class="hit card open" data-item data-id=${each.display_id || each.issue_id} key=${each.entity_type + each.entity_id} href=${href({panel: ['issue', each.display_id || each.issue_id]})}><span><${Chip} kind="">${each.entity_type.replace('_', ' ')}<//> <span class="issue-id">${each.display_id || each.issue_id || ''}</span> ${each.title || ''}</span>${each.snippet && html`<span class="snippet">${marked(each.snippet, query)}</span>`}</a>`)}
      ${!found.length && html`<p class="dim">Nothing. Words are looked for whole: begin* finds what begins so, "a phrase" what stands together, -word leaves out.</p>`}</div>${cursor && html`<p><button onClick=${() => read(cursor)}>More</button></p>`}`}
    ${letters?.length ? html`<h2>Messages</h2>${letters.map(each => html`<a class="hit card open" data-item href=${href({panel: ['message', String(each.message_id || each.entity_id).replace('#', '')]})}><span class="issue-id">${'#' + String(each.message_id || each.entity_id).replace('#', '')}</span><span class="snippet">${marked(each.snippet || each.text || '', query)}</span></a>`)}` : null}`
}

// The words that were looked for, marked where they stand.
function marked(text, query) {
  const words = (query.match(/[\p{L}\p{N}_]{2,}/gu) || []).filter(word => word !== 'OR').slice(0, 12)
  if (!words.length) return text
  const any = new RegExp(`(${words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'giu')
  return text.split(any).map((part, n) => n % 2 ? html`<mark>${part}</mark>` : part)
}

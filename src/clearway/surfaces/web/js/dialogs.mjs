// What asks for a few words before it is done: a new issue, an edit, a link, a decision, a review, whom to give work to.
import {html, useState, useEffect} from './vdom.mjs'
import {ask} from './wire.mjs'
import {set, state, say} from './store.mjs'
import {go} from './place.mjs'
import {Failure, Still} from './marks.mjs'
import {Completed} from './completing.mjs'
import {KEYS} from './keys.mjs'
import {agentsOf} from './shell.mjs'
import {who} from './words.mjs'
import * as deeds from './deeds.mjs'

const close = () => set({dialog: null})
const FORMS = {keys: Keys, issue: NewIssue, edit: Edit, park: Park, retry: Retry, approve: Approve, changes: Changes, reassign: Reassign, link: Link, decide: Decide, actions: Actions}
export default props => FORMS[props.kind] ? html`<${FORMS[props.kind]} ...${props} />` : null

function Form({title, does, button, act, children, ready = true, kind = 'first'}) {
  const [refused, fail] = useState(null), [busy, work] = useState(false)
  const submit = async event => {
    event.preventDefault()
    if (busy || !ready) return
    work(true)
    try { const done = await act(); if (typeof done === 'string') say(done); close() } catch (error) { fail(error); work(false) }
  }
  return html`<form class="stack" onSubmit=${submit} onKeyDown=${event => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit(event)}><h1>${title}</h1>${does && html`<p class="dim">${does}</p>`}${children}<${Failure} of=${refused} /><p class="row"><button class=${kind} disabled=${busy || !ready}>${button}</button><button type="button" onClick=${close}>Not now</button></p></form>`
}
const Choice = ({label, value, among, choose}) => html`<label>${label}<select value=${value} onChange=${event => choose(event.target.value)}>${among.map(each => html`<option value=${each}>${each}</option>`)}</select></label>`
const useText = first => { const [text, type] = useState(first || ''); return [text, event => type(event.target.value), type] }
const words = text => text.split(/[,\s]+/).filter(Boolean)
const lines = text => text.split('\n').map(each => each.trim()).filter(Boolean)

function Keys() {
  return html`<h1>Keys</h1><dl class="keys">${KEYS.map(([keys, about]) => html`<dt>${keys.split(' ').map((key, n) => html`${n ? ' ' : ''}<kbd>${key}</kbd>`)}</dt><dd>${about}</dd>`)}</dl><p class="row"><button onClick=${close}>Close</button></p>`
}

const TYPES = ['task', 'bug', 'question', 'epic'], PRIORITIES = ['low', 'medium', 'high', 'critical']
function NewIssue() {
  const [title, typeTitle] = useText(), [what, typeWhat] = useState(''), [when, typeWhen] = useState(''), [labels, typeLabels] = useState(''), [paths, typePaths] = useState('')
  const [type, chooseType] = useState('task'), [priority, choose] = useState('medium'), [ready, make] = useState(true)
  const act = async () => {
    const made = await deeds.createIssue({title, type, priority, status: ready && type !== 'epic' ? 'ready' : 'open', ...(what && {description: what}), ...(when && {acceptance_criteria: when}), ...(words(labels).length && {labels: words(labels)}), ...(lines(paths).length && {paths: lines(paths)})})
    go({panel: ['issue', made.display_id]})
    return `${made.display_id} is written down.`
  }
  return html`<${Form} title="New issue" button="Write it down" act=${act} ready=${Boolean(title.trim())}>
    <label class="wide">Title<input type="text" required maxlength="300" value=${title} onInput=${typeTitle} autofocus /></label>
    <div class="row"><${Choice} label="Type" value=${type} among=${TYPES} choose=${chooseType} /><${Choice} label="Priority" value=${priority} among=${PRIORITIES} choose=${choose} /><${Completed} as="input" kind="wide" label="Labels" knows="labels" value=${labels} set=${typeLabels} placeholder="parser, docs" /></div>
    <${Completed} label="What" rows="5" value=${what} set=${typeWhat} />
    <${Completed} label="Done when" rows="3" value=${when} set=${typeWhen} />
    <${Completed} label="Paths it will change, one a line" knows="paths" rows="2" value=${paths} set=${typePaths} />
    <p><label class="row"><span><input type="checkbox" checked=${ready} onChange=${event => make(event.target.checked)} /> an agent may take it at once</span></label></p><//>`
}

function Edit({id, issue}) {
  const [title, typeTitle] = useText(issue.title), [what, typeWhat] = useState(issue.description || ''), [when, typeWhen] = useState(issue.acceptance_criteria || ''), [labels, typeLabels] = useState(issue.labels.join(', ')), [paths, typePaths] = useState((issue.paths || []).join('\n'))
  const [type, chooseType] = useState(issue.type), [priority, choose] = useState(issue.priority)
  const act = () => {
    const next = {title, type, priority, description: what || null, acceptance_criteria: when || null, labels: words(labels), paths: lines(paths)}
    const before = {title: issue.title, type: issue.type, priority: issue.priority, description: issue.description || null, acceptance_criteria: issue.acceptance_criteria || null, labels: issue.labels, paths: issue.paths || []}
    const changes = Object.fromEntries(Object.entries(next).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])))
    return Object.keys(changes).length ? deeds.changeIssue(id, issue.version, changes) : 'Nothing was changed.'
  }
  return html`<${Form} title=${`Edit ${id}`} button="Change it" act=${act} ready=${Boolean(title.trim())}>
    <label class="wide">Title<input type="text" required maxlength="300" value=${title} onInput=${typeTitle} /></label>
    <div class="row"><${Choice} label="Type" value=${type} among=${TYPES} choose=${chooseType} /><${Choice} label="Priority" value=${priority} among=${PRIORITIES} choose=${choose} /><${Completed} as="input" kind="wide" label="Labels" knows="labels" value=${labels} set=${typeLabels} /></div>
    <${Completed} label="What" rows="8" value=${what} set=${typeWhat} />
    <${Completed} label="Done when" rows="4" value=${when} set=${typeWhen} />
    <${Completed} label="Paths, one a line" knows="paths" rows="2" value=${paths} set=${typePaths} /><//>`
}

function Park({id}) {
  const [why, type] = useText()
  return html`<${Form} title=${`Block ${id}`} does="No agent takes it until you make it ready again." button="Block it" act=${() => deeds.setStatus(id, 'blocked', why)} ready=${Boolean(why.trim())}><label class="wide">Why<input type="text" value=${why} onInput=${type} placeholder="needs an API key" autofocus /></label><//>`
}
function Retry({id}) {
  const [said, type] = useState('')
  return html`<${Form} title=${`Let agents try ${id} again`} does="What failed before counts no more; whoever takes it reads first what you write here." button="Let them try" act=${() => deeds.retryIssue(id, said.trim())}><${Completed} label="What the next one should know" rows="4" value=${said} set=${type} autofocus /><//>`
}
function Approve({id, review}) {
  const [said, type] = useState('Looked at it; it is right.')
  return html`<${Form} title=${`Approve ${id}`} does="The review ends with your name, and the issue is done." button="Approve" act=${() => deeds.review(review, 'approved', said)} ready=${Boolean(said.trim())}><${Completed} label="What you looked at" rows="3" value=${said} set=${type} /><//>`
}
function Changes({id, review}) {
  const [said, type] = useState('')
  return html`<${Form} title=${`Ask for changes in ${id}`} does="The issue is ready again; whoever takes it reads this first." button="Ask for changes" act=${() => deeds.review(review, 'changes_requested', said)} ready=${Boolean(said.trim())}><${Completed} label="What is to be changed" rows="5" value=${said} set=${type} autofocus /><//>`
}

function Reassign({id, issue}) {
  const names = [...new Set(agentsOf(state).map(each => each.agent))]
  const [agent, type] = useState(names.find(name => name !== issue?.attempt?.agent) || '')
  const live = issue?.attempt
  return html`<${Form} title=${live ? `Reassign ${id}` : `Keep ${id} for an agent`} does=${live ? `${who(live.agent, live.session)} loses it, with the paths it took for it; its notes stay. For a day only the agent you name can take it.` : 'For a day only that agent can take it.'} button=${live ? 'Take it away and keep it' : 'Keep it'} kind=${live ? 'danger' : 'first'} act=${() => deeds.reassign(id, live?.attempt_id, agent.trim())} ready=${Boolean(agent.trim())}>
    <${Completed} as="input" kind="wide" label="Agent" knows="agent" value=${agent} set=${type} autofocus /><//>`
}

function Link({id}) {
  const [other, type] = useState(''), [how, choose] = useState('waits for')
  const act = () => how === 'waits for' ? deeds.link(other.trim(), id, 'blocks') : deeds.link(id, other.trim(), how.replace('belongs with', 'related_to'))
  return html`<${Form} title=${`Link ${id}`} button="Link" act=${act} ready=${Boolean(other.trim())}><div class="row"><${Choice} label=${id} value=${how} among=${['waits for', 'blocks', 'belongs with', 'duplicates']} choose=${choose} /><${Completed} as="input" kind="wide" label="Issue" knows="issue" value=${other} set=${type} placeholder="ISSUE-42" autofocus /></div><//>`
}
function Decide({id}) {
  const [title, typeTitle] = useText(), [summary, typeSummary] = useState(''), [content, typeContent] = useState('')
  return html`<${Form} title=${`Decide something for ${id}`} does="The summary stands in every brief of this issue." button="Record it" act=${() => deeds.decide({title, summary, content, issue_id: id})} ready=${Boolean(title.trim() && summary.trim())}><label class="wide">Title<input type="text" value=${title} onInput=${typeTitle} autofocus /></label><${Completed} label="What is decided" rows="2" value=${summary} set=${typeSummary} /><${Completed} label="Why" rows="4" value=${content} set=${typeContent} /><//>`
}

// `.` on a card: everything that its panel offers, by keyboard.
function Actions({id}) {
  const [issue, put] = useState(null), [refused, fail] = useState(null), [review, note] = useState(null)
  useEffect(() => {
    ask('get_issue', {issue_id: id}).then(put, fail)
    ask('list_review_requests', {issue_id: id, status: 'open', limit: 1}).then(found => note(found.items[0]), () => {})
  }, [])
  if (!issue) return html`<${Failure} of=${refused} />${!refused && html`<${Still} />`}`
  const live = issue.attempt, over = /done|cancelled/.test(issue.status)
  const open = kind => set({dialog: {kind, id, issue, review: review?.review_request_id}})
  const run = act => async () => { try { say(await act()); close() } catch (error) { fail(error) } }
  return html`<h1>${id} ${issue.title}</h1><${Failure} of=${refused} /><div class="menu">
    <button autofocus onClick=${() => { close(); go({panel: ['issue', id]}) }}>Open</button>
    ${review && !review.stale && html`<button onClick=${() => open('approve')}>Approve…</button><button onClick=${() => open('changes')}>Ask for changes…</button>`}
    ${live && html`<button class="danger" onClick=${() => open('reassign')}>Take it from ${who(live.agent, live.session)} and keep it for…</button>`}
    ${!live && !over && html`<button onClick=${() => open('reassign')}>Keep for…</button>`}
    ${issue.needs_human && !live && !over && html`<button onClick=${() => open('retry')}>Try again…</button>`}
    ${!live && !over && issue.status !== 'ready' && html`<button onClick=${run(() => deeds.setStatus(id, 'ready'))}>Make ready</button>`}
    ${!live && !over && issue.status !== 'blocked' && html`<button onClick=${() => open('park')}>Block…</button>`}
    <button onClick=${() => open('edit')}>Edit…</button><button onClick=${() => open('link')}>Link…</button><button onClick=${() => open('decide')}>Decide…</button>
    <button onClick=${close}>Nothing</button></div>`
}

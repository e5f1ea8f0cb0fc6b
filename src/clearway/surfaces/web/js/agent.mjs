// One agent: its session, what it holds, what it did, what waits for it, its limits, and whether its hooks can refuse.
import {html, useState, useRef} from './vdom.mjs'
import {ask} from './wire.mjs'
import {use, state} from './store.mjs'
import {href} from './place.mjs'
import {Agent, Badge, Path, Issue, Ago, Hour, Lease, Chip, Failure, Act, useAsked} from './marks.mjs'
import {who, nick, stretch, PRESENCE} from './words.mjs'
import {Line, gathered} from './feed.mjs'
import {Attempts} from './attempts.mjs'
import {Task} from './panel.mjs'
import {agentsOf} from './shell.mjs'
import * as deeds from './deeds.mjs'

export function OneAgent({id}) {
  use(now => now.roster); use(now => now.holdings); use(now => now.board); use(now => now.tasks)
  const events = use(now => now.events)
  const all = agentsOf(state)
  const here = all.find(each => each.session === id)
  const same = all.filter(each => each.agent === id)
  const agent = here?.agent || same[0]?.agent || events.findLast(event => event.session === id)?.agent || id
  const session = here?.session || (same.length === 1 ? same[0].session : id)
  const one = here || (same.length === 1 ? same[0] : null)
  const attempts = useAsked(() => ask('list_attempts', {limit: 60}), [id], event => /^attempt/.test(event.type))
  const work = (attempts.reply?.items || []).filter(each => each.session === session || (!here && each.agent === id))
  const paths = (state.holdings?.paths || []).filter(each => each.session === session || (!here && each.agent === id))
  return html`<article>
    <p class="over-title">agent ${one && html`<span class=${'chip ' + (one.presence === 'busy' ? 'live' : one.presence === 'stalled' || one.presence === 'limited' ? 'blocked' : '')}>${one.presence}</span>`}</p>
    <h1><${Badge} agent=${agent} session=${session} /> ${who(agent, session)}</h1>
    <dl class="facts">
      <dt>agent</dt><dd><code>${agent}</code>, session <code>${session}</code></dd>
      ${one ? html`<dt>presence</dt><dd>${PRESENCE[one.presence] || one.presence}${one.seen_at && html`, last seen <${Ago} at=${one.seen_at} />`}</dd>
      ${one.doing && html`<dt>doing</dt><dd>${one.doing}</dd>`}
      ${one.issue && html`<dt>works on</dt><dd><${Issue} id=${one.issue} /> ${one.card?.live && html`<${Lease} until=${one.card.live.until} seconds=${one.card.live.lease_seconds} />`}</dd>`}
      ${!one.replayed && html`<dt>hooks</dt><dd>${one.hooks ? html`<span class="advisory">advisory only: an edit of what others hold is not refused</span>` : 'enforced'}</dd>`}` : !same.length && html`<dt>presence</dt><dd>not here</dd>`}
      <${Limits} agent=${agent} />
    </dl>
    ${same.length > 1 && html`<ul class="relations">${same.map(each => html`<li><${Agent} agent=${each.agent} session=${each.session} /> ${each.presence}</li>`)}</ul>`}
    <div class="deeds"><a class="button" href=${href({view: 'messages', rest: [agent], panel: null})}>Write to ${nick(agent)}</a>
      ${one?.card?.live && html`<${Act} kind="danger" sure=${`${who(agent, session)} loses ${one.card.display_id} and the paths it took for it; its notes stay.`} act=${() => deeds.releaseAttempt(one.card.live.attempt_id, one.card.display_id, agent)}>Release ${one.card.display_id}<//>`}
      <${Act} sure=${`What waits for ${agent} goes back to who sent it. Sessions that run stay.`} act=${() => deeds.retire(agent)}>Take off the list<//></div>
    <h2>Holds <span>${paths.length || ''}</span></h2>
    ${paths.length ? html`<ul class="relations">${paths.map(each => html`<li key=${each.path + each.checkout + each.mode}><${Path} path=${each.path} /><span class="text dim">${each.mode === 'run' ? 'a run · ' : ''}${each.purpose}</span><${Lease} until=${each.until} seconds=${each.lease_seconds} /><${Act} kind="text" sure=${`${who(each.agent, each.session)} loses ${each.path}; its next edit there asks for it again.`} act=${() => deeds.releasePath(each)}>release<//></li>`)}</ul>` : html`<p class="dim">Nothing.</p>`}
    <${Queue} agent=${agent} />
    <h2>What it did</h2><${Did} session=${session} id=${id} key=${session} />
    <h2>Worked on</h2><${Attempts} named found=${{reply: attempts.reply && {items: work.slice(0, 12)}, refused: attempts.refused}} />
  </article>`
}

// Of its provider: at its limit or not, and who takes its tasks then; and what it has spent, where somebody told.
function Limits({agent}) {
  const limits = useAsked(() => ask('list_limits'), [agent], event => /^(limit_|failover|setting)/.test(event.type)).reply
  const spent = useAsked(() => ask('get_costs', {agent}), [agent], event => /^cost/.test(event.type)).reply?.total
  const mine = limits?.items.find(each => each.agent === agent), others = limits?.fallbacks.find(each => each.agent === agent)?.to
  return html`${mine ? html`<dt>limits</dt><dd><span class="stall">at its provider's limit since <${Hour} at=${mine.since} />${mine.until && html`, until <${Hour} at=${mine.until} />`}</span>${mine.reason ? html` <span class="dim">${mine.reason}</span>` : ''}${others ? html`; its tasks go to ${others.map(nick).join(', ')}` : ''}</dd>`
    : limits && html`<dt>limits</dt><dd>none was told of${others ? `; at one its tasks go to ${others.map(nick).join(', ')}` : ''}</dd>`}
    ${spent && (spent.input_tokens || spent.output_tokens) ? html`<dt>spent</dt><dd>${(spent.input_tokens + spent.output_tokens).toLocaleString()} tokens${spent.cost_usd == null ? '' : `, $${spent.cost_usd.toFixed(2)}`}</dd>` : null}`
}

// What waits for it: tasks, issues that are kept for it, and messages that it has not taken.
function Queue({agent}) {
  const letters = useAsked(() => ask('list_messages', {agent, limit: 60}), [agent], event => /^message_|^task_/.test(event.type))
  const untaken = (letters.reply?.items || []).filter(each => each.kind !== 'task' && each.to.split('#')[0] === agent && (each.state === 'queued' || each.state === 'seen'))
  const tasks = (state.tasks?.items || []).filter(each => each.to.split('#')[0] === agent)
  const kept = Object.values(state.board?.columns || {}).flat().filter(card => card.reserved_for === agent && !card.live)
  return html`<h2>Queue <span>${tasks.length + kept.length + untaken.length || ''}</span></h2><${Failure} of=${letters.refused} />
    ${tasks.length + kept.length + untaken.length ? html`<ul class="relations">${tasks.map(task => html`<li key=${'t' + task.task_id}><${Task} task=${task} /></li>`)}${kept.map(card => html`<li key=${card.display_id}><${Issue} id=${card.display_id} /><span class="text">${card.title}</span><${Chip} kind="ready">kept for it<//></li>`)}${untaken.map(each => html`<li key=${'m' + each.message_id}><a class="issue-id" href=${href({panel: ['message', String(each.message_id)]})}>#${each.message_id}</a><span class="text">${each.text}</span><span class="dim">${each.state === 'seen' ? 'seen' : 'not seen yet'}, <${Ago} at=${each.at} /></span></li>`)}</ul>` : letters.reply && html`<p class="dim">Nothing waits for it.</p>`}`
}

const SHOWN = 60
// What one agent did, newest first, with a line at every full hour; the room's log is read back when more is asked for.
function Did({session, id}) {
  const events = use(now => now.events)
  const seen = useRef(new Map()), [, draw] = useState(0), [most, grow] = useState(SHOWN), [busy, work] = useState(false), [refused, fail] = useState(null)
  for (const event of events) seen.current.set(event.id, event)
  const all = [...seen.current.values()].sort((one, two) => one.id - two.id)
  const mine = all.filter(event => event.session === session || event.agent === id)
  const lines = gathered(mine.slice(-most).reverse()), first = all[0]?.id || 1
  const earlier = async () => {
    grow(most + SHOWN)
    if (mine.length >= most + SHOWN || first <= 1) return
    work(true)
    try {
      let at = first, found = 0
      for (let page = 0; page < 5 && at > 1 && !found; page++) {
        const since = Math.max(0, at - 201)
        const past = (await ask('get_changes', {since_event_id: since, limit: 200})).events
        for (const event of past) if (!seen.current.has(event.id)) { seen.current.set(event.id, event); found += event.session === session || event.agent === id }
        at = since + 1
      }
      fail(null)
    } catch (error) { fail(error) }
    work(false)
    draw(n => n + 1)
  }
  return html`<ol class="did">${lines.flatMap((event, n) => {
    const next = lines[n + 1], line = html`<${Line} event=${event} key=${event.id} />`
    return next && stretch(next.at) !== stretch(event.at) ? [line, html`<li class="stretch" key=${'s' + event.id}><time>${stretch(event.at)}</time></li>`] : [line]
  })}${!lines.length && html`<li class="dim quiet">Nothing lately.</li>`}</ol>
    <${Failure} of=${refused} />${(first > 1 || mine.length > most) && html`<p><button class="text" onClick=${earlier} disabled=${busy}>earlier</button></p>`}`
}

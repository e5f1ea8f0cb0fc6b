// The board: what is ready, live, blocked and in review, one dense card each; what is open and done beside it.
import {html, useState, useEffect} from './vdom.mjs'
import {use, state, moreCards, set} from './store.mjs'
import {href, usePlace} from './place.mjs'
import {Badge, Lease, Chip, Priority, Failure, Still, Empty} from './marks.mjs'
import {COLUMNS, number, who, nick} from './words.mjs'

const NAMES = Object.keys(COLUMNS)

function Card({card, kind, chosen}) {
  const live = card.live
  return html`<a class=${`card ${kind}` + (card.needs_human ? ' failing' : '') + (card.status === 'cancelled' ? ' cancelled' : '')} aria-current=${chosen ? 'true' : undefined} data-item data-id=${card.display_id} href=${href({panel: ['issue', card.display_id]})}>
    <span class="title"><span class="id">${number(card.display_id)}</span><span class="text">${card.title}</span><${Priority} value=${card.priority} /></span>
    <span class="state">
      ${live && html`<${Badge} agent=${live.agent} session=${live.session} small /><span class="who">${who(live.agent, live.session)}${live.kind === 'review' ? ' reviews' : ''}</span><${Lease} until=${live.until} seconds=${live.lease_seconds} />`}
      ${card.needs_human && html`<span class="fails">failed again and again</span>`}
      ${card.waits_for && html`<span class="waits"><span class="hidden">waits for </span>← ${card.waits_for.map(number).join(', ')}${card.open_blockers > card.waits_for.length ? ` +${card.open_blockers - card.waits_for.length}` : ''}</span>`}
      ${card.blocked_reason && html`<span class="reason">${card.blocked_reason}</span>`}
      ${card.review && html`<${Chip} kind=${card.review.stale ? 'blocked' : 'review'}>${card.review.stale ? 'review out of date' : `v${card.review.issue_version} ${card.review.status === 'claimed' ? 'in review' : 'waits for review'}`}<//>`}
      ${card.reserved_for && html`<span class="dim">for ${nick(card.reserved_for)}</span>`}
      ${card.type && card.type !== 'task' && html`<span class="kind">${card.type}</span>`}
      ${(card.labels || []).slice(0, 2).map(label => html`<span class="label">${label}</span>`)}
    </span></a>`
}

function replayed(reply) {
  const columns = Object.fromEntries(NAMES.map(name => [name, []]))
  for (const each of reply.issues) {
    const kind = each.effective_status === 'in_progress' ? 'live' : each.status
    columns[kind]?.push({...each, card: true, held: each.held_by && {agent: each.held_by, session: each.session}})
  }
  return {columns, counts: {...Object.fromEntries(NAMES.map(name => [name, columns[name].length])), done: reply.counts.finished}}
}

const CARDS_FIRST = 60, CARDS_MORE = 120, CARDS_MAX = 500, COUNTED_MAX = 5000 // of one column; of what is counted

export function Board() {
  const at = usePlace(), chosen = at.panel?.[0] === 'issue' ? at.panel[1] : ''
  useEffect(() => { if (chosen) document.querySelector(`.board [data-id="${CSS.escape(chosen)}"]`)?.scrollIntoView({block: 'nearest', inline: 'nearest'}) }, [chosen])
  const now = use(now => now.board), failure = use(now => now.failures.board), replay = use(now => now.replay?.reply)
  const [open, choose] = useState(() => { try { return JSON.parse(localStorage.getItem('clearway-columns')) || {} } catch { return {} } })
  const [reached, reach] = useState({})
  const board = replay ? replayed(replay) : now
  if (!board) return html`<div class="board"><${Failure} of=${failure} />${!failure && NAMES.map(name => html`<section class=${'column ' + name}><h3><b>${COLUMNS[name]}</b></h3><${Still} /></section>`)}</div>`
  const total = NAMES.reduce((sum, name) => sum + board.counts[name], 0)
  if (!total && !replay) return html`<${Begin} />`
  // Of the cards that are known those stand in the page that somebody scrolled to: a deep column makes no other one deep.
  const most = name => reached[name] || CARDS_FIRST, shown = name => Math.min(most(name), board.columns[name].length)
  const rest = name => replay ? board.columns[name].length - shown(name) : board.counts[name] - shown(name)
  const more = name => { reach({...reached, [name]: Math.min(CARDS_MAX, most(name) + CARDS_MORE)}); if (!replay && board.columns[name].length < Math.min(most(name) + CARDS_MORE, board.counts[name])) moreCards() }
  const further = (box, name) => { if (rest(name) > 0 && shown(name) < CARDS_MAX && most(name) <= board.columns[name].length && box.scrollTop + box.clientHeight > box.scrollHeight - 240) more(name) }
  const toggle = name => { const next = {...open, [name]: !isOpen(name)}; choose(next); localStorage.setItem('clearway-columns', JSON.stringify(next)) }
  const isOpen = name => open[name] ?? (innerWidth > 2200 || (name !== 'open' && name !== 'done'))
  return html`<${Failure} of=${failure} /><div class="board">${NAMES.map(name => html`<section class=${`column ${name}` + (isOpen(name) ? '' : ' shut') + (board.columns[name].length ? '' : ' none')} key=${name} aria-label=${COLUMNS[name]}>
    <h3><button onClick=${() => toggle(name)} aria-expanded=${isOpen(name)} title=${isOpen(name) ? 'Fold this column' : 'Unfold this column'}><i class=${'sign ' + name} aria-hidden="true"></i><b>${COLUMNS[name]}</b> <span>${board.counts[name] >= COUNTED_MAX ? '5,000+' : board.counts[name]}</span></button></h3>
    ${isOpen(name) && html`<div class="cards" data-list=${name} tabindex="-1" onScroll=${event => further(event.currentTarget, name)}>${board.columns[name].slice(0, most(name)).map(card => card.held !== undefined || card.card ? html`<${Past} card=${card} kind=${name} key=${card.display_id} />` : html`<${Card} card=${card} kind=${name} chosen=${card.display_id === chosen} key=${card.display_id} />`)}
      ${replay && name === 'blocked' ? html`<p class="nothing">what only waits for others stands under Ready in the past</p>` : !board.columns[name].length && html`<p class="nothing">${NOTHING[name]}</p>`}
      ${rest(name) > 0 && html`<p class="further">${shown(name) < CARDS_MAX && html`<button class="text" onClick=${() => more(name)}>${board.counts[name] >= COUNTED_MAX ? 'more' : `${rest(name)} more`}</button>`} <a href=${href({view: 'list', rest: [name]})}>all as a list</a></p>`}</div>`}
  </section>`)}</div>`
}
const NOTHING = {open: 'nothing is only noted', ready: 'nothing can be taken now', live: 'nobody works on an issue', blocked: 'nothing waits', review: 'nothing is to be reviewed', done: 'nothing is finished yet'}

const Past = ({card, kind}) => html`<a class=${'card past ' + kind} data-item data-id=${card.display_id} href=${href({panel: ['issue', card.display_id]})}>
  <span class="title"><span class="id">${number(card.display_id)}</span><span class="text">${card.title}</span><${Priority} value=${card.priority} /></span>
  <span class="state">${card.held && html`<${Badge} agent=${card.held.agent} session=${card.held.session} small /><span class="who">${who(card.held.agent, card.held.session)}</span>`}</span></a>`

function Begin() {
  const roster = use(now => now.roster)
  const here = roster?.agents.length
  return html`<${Empty}><h2>${here ? 'There is no work yet' : 'This room is empty'}</h2>
    ${!here && html`<p>Two commands bring the first agent in:</p><pre>clearway connect --write
claude    # or codex, gemini, …</pre>`}
    <p>Then write down what is to be done, here or in a terminal:</p><pre>clearway issue create "Claim in one transaction" --status ready</pre>
    <p><button class="first" onClick=${() => set({dialog: {kind: 'issue'}})}>Write the first issue</button></p><p class="dim">The page goes on by itself when something happens.</p><//>`
}

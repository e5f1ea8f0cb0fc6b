// What happened, newest first, as it happens.
import {html, useState} from './vdom.mjs'
import {use} from './store.mjs'
import {Agent, Parts} from './marks.mjs'
import {href} from './place.mjs'
import {told, loudness, hour} from './words.mjs'

const KINDS = [['all', /./], ['exceptions', null], ['work', /^(issue_|attempt_|status|review|decision|comment|relation|labels|commit_made|checkpoint)/], ['paths', /^(paths_|refused|overlap|path_|work_rescued|commit_over)/], ['talk', /^(message_|task_)/]]

export function Line({event}) {
  return html`<li class=${loudness(event)} key=${event.id}><a class="when" href=${href({panel: ['event', String(event.id)]})}>${hour(event.at)}</a><span class="who">${event.agent === 'clearway' ? html`<span class="dim">room</span>` : html`<${Agent} agent=${event.agent} session=${event.session} />`}</span><span class="what"><${Parts} parts=${told(event)} /></span></li>`
}

// One line for what one agent did again and again within a moment.
export function gathered(events) {
  const found = []
  for (const event of events) {
    const last = found.at(-1)
    if (last && last.type === event.type && /^paths_(claimed|released)$/.test(event.type) && last.session === event.session && last.data.why === event.data.why && last.data.mode === event.data.mode && Math.abs(Date.parse(last.at) - Date.parse(event.at)) < 60e3) {
      found[found.length - 1] = {...last, data: {...last.data, paths: [...(last.data.paths || []), ...(event.data.paths || [])]}}
    } else found.push(event)
  }
  return found
}

export function Feed() {
  const events = use(now => now.events), replay = use(now => now.replay)
  use(now => now.roster) // which has the words of the newest messages
  const [kind, choose] = useState('all'), [most, grow] = useState(80)
  const types = KINDS.find(([name]) => name === kind)[1]
  let shown = replay ? events.filter(event => event.id <= replay.at) : events
  shown = shown.filter(event => types ? types.test(event.type) : /^(loud|fading)$/.test(loudness(event)))
  const lines = gathered(shown.slice(-most).reverse())
  return html`<section class="feed" aria-labelledby="feed"><h2 id="feed">Feed <span class="kinds" role="group" aria-label="Which events">${KINDS.map(([name]) => html`<button class=${kind === name ? 'here' : ''} aria-pressed=${kind === name} onClick=${() => choose(name)}>${name}</button>`)}</span></h2>
    <ol tabindex="0" aria-label="Newest events first">${lines.map(event => html`<${Line} event=${event} key=${event.id} />`)}
    ${!lines.length && html`<li class="dim quiet">Nothing has happened yet.</li>`}
    ${shown.length > most && html`<li><button class="text" onClick=${() => grow(most + 120)}>earlier</button></li>`}</ol></section>`
}

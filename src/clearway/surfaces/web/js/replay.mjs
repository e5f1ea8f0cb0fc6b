// The slider at the bottom: the room as it was after any event.
import {html, useState, useEffect, useRef} from './vdom.mjs'
import {use, set, state} from './store.mjs'
import {ask} from './wire.mjs'
import {usePlace, place, go, replace} from './place.mjs'
import {Parts, Agent} from './marks.mjs'
import {told, exact, loudness} from './words.mjs'

let turn = 0, put = null // which event was asked for last, and which of them the address was given from here
const kept = new Map()
// Show the room as it was after an event. The address says so, too: Back leaves the past, and a moment can be sent on.
export async function look(at) {
  const mine = ++turn
  put = at
  if (!place.at) go({at})
  else if (place.at !== at) replace({at})
  const known = kept.get(`${state.room.project} ${at}`)
  set({replay: {...state.replay, at, reply: known || state.replay?.reply || null, refused: null}})
  if (known) return
  try {
    const reply = await ask('replay', {at, limit: 100})
    kept.set(`${state.room.project} ${at}`, reply)
    if (kept.size > 200) kept.delete(kept.keys().next().value)
    if (mine === turn && state.replay) set({replay: {...state.replay, at, reply}})
  } catch (refused) {
    if (mine === turn && state.replay) set({replay: {...state.replay, at, refused}})
  }
}
const back = () => { turn++; put = null; set({replay: null}); if (place.at) go({at: null}) }

export function Replay() {
  const events = use(now => now.events), replay = use(now => now.replay), board = use(now => now.board)
  const timer = useRef(0), {at: asked} = usePlace()
  const [playing, play] = useState(false)
  useEffect(() => {
    if (asked && (asked !== put || !state.replay)) look(asked)
    else if (!asked && state.replay && put !== null) { clearTimeout(timer.current); play(false); back() }
  }, [asked])
  const latest = events.at(-1)?.id || board?.latest_event_id || 0
  const from = Math.max(1, events[0]?.id || 1)
  const [first, reach] = useState(null)
  const least = Math.min(first ?? from, replay?.at ?? from)
  const at = replay ? replay.at : latest
  const step = to => {
    to = Math.max(least, Math.min(latest, to))
    if (to >= latest) { play(false); return back() }
    set({replay: {...(state.replay || {reply: null}), at: to}})
    clearTimeout(timer.current)
    timer.current = setTimeout(() => look(to), 90)
  }
  const loud = way => {
    const found = events.filter(event => /^(loud|fading)$/.test(loudness(event)) && (way < 0 ? event.id < at : event.id > at))
    const to = way < 0 ? found.at(-1) : found[0]
    if (to) { clearTimeout(timer.current); look(to.id) } else if (way > 0) back()
  }
  useEffect(() => {
    if (!playing) return
    const beat = setInterval(() => step((state.replay?.at ?? least) + 1), matchMedia('(prefers-reduced-motion: reduce)').matches ? 1500 : 700)
    return () => clearInterval(beat)
  }, [playing, latest])
  if (!latest) return html`<footer class="replay"></footer>`
  const event = events.find(each => each.id === at)
  const shown = event || (replay?.reply?.event && replay.reply.at === at && {...replay.reply.event, id: at, at: replay.reply.time})
  const marks = events.filter(each => loudness(each) === 'loud' && each.id >= least)
  return html`<footer class=${'replay' + (replay ? ' past' : '')} aria-label="Replay">
    <span class="name">Replay</span>
    <span class="steps"><button onClick=${() => loud(-1)} title="To the exception before" aria-label="To the exception before">|‹</button><button onClick=${() => step(at - 1)} title="One event back" aria-label="One event back">‹</button><button onClick=${() => { if (!replay) step(least); play(!playing) }} aria-label=${playing ? 'Pause' : 'Play'} title=${playing ? 'Pause' : 'Play'}>${playing ? '‖' : '▸'}</button><button onClick=${() => step(at + 1)} disabled=${!replay} title="One event on" aria-label="One event on">›</button><button onClick=${() => loud(1)} disabled=${!replay} title="To the next exception" aria-label="To the next exception">›|</button></span>
    <span class="track"><span class="ticks" aria-hidden="true">${marks.map(each => html`<i style=${{left: `${100 * (each.id - least) / Math.max(1, latest - least)}%`}}></i>`)}</span><input type="range" min=${least} max=${latest} value=${at} aria-label="Event" aria-valuetext=${shown ? `event ${at}, ${exact(shown.at)}` : `event ${at}`} onInput=${input => step(Number(input.target.value))} /></span>
    <span class="at">${replay ? html`<span class="then">${replay.refused ? html`<span class="failure">${replay.refused.message}</span>` : shown ? html`<time>${exact(shown.at)}</time> <${Agent} agent=${shown.agent} session=${shown.session} plain /> <${Parts} parts=${told(shown)} />` : `event ${at}`}</span> <button class="first" onClick=${() => { play(false); back() }}>Back to now</button>`
      : html`<button class="text" onClick=${() => { reach(1); step(latest - 1) }} title="Reach back to the first event">event ${latest}</button> <b class="now">now</b>`}</span>
  </footer>`
}

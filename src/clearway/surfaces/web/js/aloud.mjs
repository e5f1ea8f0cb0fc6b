// What is new, in words, for whoever hears the page instead of seeing it: a few sentences at a time, however much happens,
// what is bad first. What went wrong interrupts; everything else waits until the reader pauses.
import {html, useEffect, useState} from './vdom.mjs'
import {use, state, onEvent} from './store.mjs'
import {spoken, loudness, plural} from './words.mjs'
import {needs} from './needs.mjs'

const SOON_MS = 1000, BEAT_MS = 6000 // after the first event of a quiet time, and between two announcements
const SENTENCES = 3
const RANK = {loud: 0, fading: 1}

// What the person does is told where it is done.
const worthTelling = event => event.agent !== 'human' && loudness(event) !== 'quiet'

export function summary(events) {
  const told = events.filter(worthTelling).sort((one, two) => (RANK[loudness(one)] ?? 2) - (RANK[loudness(two)] ?? 2) || one.id - two.id)
  const sentences = told.slice(0, SENTENCES).map(event => `${spoken(event)}.`)
  if (told.length > SENTENCES) sentences.push(`And ${told.length - SENTENCES} more in the feed.`)
  return sentences.join(' ')
}

export function Aloud() {
  const [news, tell] = useState({n: 0, text: ''}), [wrong, warn] = useState('')
  const connection = use(now => now.connection)
  useEffect(() => {
    let waiting = [], timer = 0, last = 0, needed = needs(state).length
    const flush = () => {
      timer = 0
      last = Date.now()
      const now = needs(state).length
      const text = [summary(waiting), now > needed ? `${plural(now, 'thing needs', 'things need')} you.` : ''].filter(Boolean).join(' ')
      needed = now
      waiting = []
      if (text) tell(before => ({n: before.n + 1, text}))
    }
    return onEvent(event => {
      waiting = [...waiting, event].slice(-400)
      timer ||= setTimeout(flush, Math.max(SOON_MS, last + BEAT_MS - Date.now()))
    })
  }, [])
  const [was, remember] = useState(connection)
  useEffect(() => {
    if (connection === was) return
    remember(connection)
    warn(connection === 'lost' ? 'The connection to the host is lost. The page tries again by itself.' : '')
    if (connection === 'live' && was === 'lost') tell(before => ({n: before.n + 1, text: 'Connected again.'}))
  }, [connection])
  return html`<div class="hidden" id="news" role="log" aria-live="polite" aria-label="News"><p key=${news.n}>${news.text}</p></div>
    <div class="hidden" id="wrong" role="alert">${wrong}</div>`
}

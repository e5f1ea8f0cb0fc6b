// What coordination cost and saved. Small lines; no dashboard for its own sake.
import {html, useState} from './vdom.mjs'
import {ask} from './wire.mjs'
import {use} from './store.mjs'
import {Failure, Still, useAsked} from './marks.mjs'
import {plural, loudness} from './words.mjs'

const size = bytes => bytes < 10000 ? `${bytes} B` : bytes < 1e6 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`
const time = seconds => seconds == null ? '–' : seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`

export default function Figures() {
  const [days, choose] = useState(30)
  const {reply, refused, again} = useAsked(() => ask('stats', {days}), [days])
  const spent = useAsked(() => ask('get_costs'), []).reply?.total
  const events = use(now => now.events)
  if (!reply) return html`<${Failure} of=${refused} retry=${again} />${!refused && html`<${Still} />`}`
  const codes = Object.entries(reply.refusals.by_code).sort((one, two) => two[1] - one[1]).slice(0, 4)
  const {recovery, hooks} = reply
  return html`<div class="filters" role="group" aria-label="How far back">${[1, 7, 30, 365].map(each => html`<button class=${each === days ? 'here' : ''} aria-pressed=${each === days} onClick=${() => choose(each)}>${plural(each, 'day')}</button>`)}<button class="text" onClick=${again}>Read again</button></div><${Failure} of=${refused} />
  <dl class="figures">
    <${Figure} name="Refusals" value=${reply.refusals.total} about=${codes.map(([code, count]) => `${count} ${code.toLowerCase().replaceAll('_', ' ')}`).join(' · ') || 'nobody ran into anybody'} line=${spark(events, event => event.type === 'refused')} />
    <${Figure} name="Leaks" value=${reply.leaks} about="held files that another call changed all the same" line=${spark(events, event => event.type === 'path_leaked')} />
    <${Figure} name="Overlaps" value=${reply.overlaps} about="the same path held in two checkouts" />
    <${Figure} name="Work not done twice" value=${reply.duplicate_work_avoided} about="claims of what another had already" />
    <${Figure} name="Recovered" value=${`${recovery.recovered} of ${recovery.lost}`} about="lost attempts that somebody went on with" />
    <${Figure} name="Recovery, half" value=${time(recovery.p50_seconds)} about=${recovery.p95_seconds == null ? 'nothing was lost' : `one in twenty takes longer than ${time(recovery.p95_seconds)}`} />
    <${Figure} name="Hook, half" value=${hooks.p50_ms == null ? '–' : `${hooks.p50_ms} ms`} about=${hooks.p95_ms == null ? 'no call was counted' : `one in twenty takes longer than ${hooks.p95_ms} ms · ${plural(hooks.calls, 'call')}`} />
    <${Figure} name="Put before models" value=${size(hooks.bytes_injected)} about=${hooks.calls ? `${Math.round(hooks.bytes_injected / hooks.calls)} B a call` : ''} />
    ${spent && (spent.input_tokens || spent.output_tokens) ? html`<${Figure} name="Spent" value=${spent.cost_usd == null ? `${Math.round((spent.input_tokens + spent.output_tokens) / 1000)}k` : `$${spent.cost_usd.toFixed(2)}`} about=${`${spent.input_tokens.toLocaleString()} tokens read, ${spent.output_tokens.toLocaleString()} written`} />` : null}
    <${Figure} name="Unchecked today" value=${hooks.unchecked_24h} about="calls that passed because nothing could be asked" />
  </dl>
  <p class="dim quiet">The lines show the events this page knows, oldest to newest.</p>`
}

const Figure = ({name, value, about, line}) => html`<div class="figure"><dt>${name}</dt><dd class="number">${String(value ?? 0)}</dd><dd>${about}</dd>${line && html`<dd aria-hidden="true"><svg viewBox="0 0 120 28" preserveAspectRatio="none"><path class="spark" vector-effect="non-scaling-stroke" d=${line} /></svg></dd>`}</div>`

function spark(events, pick) {
  if (events.length < 2) return null
  const first = Date.parse(events[0].at), last = Date.parse(events.at(-1).at), bins = new Array(24).fill(0)
  for (const event of events) if (pick(event)) bins[Math.min(23, Math.floor(24 * (Date.parse(event.at) - first) / Math.max(1, last - first)))]++
  const most = Math.max(...bins, 1)
  return 'M' + bins.map((count, n) => `${n * 120 / 23} ${26 - 24 * count / most}`).join('L')
}

// What coordination cost and saved. Small lines; no dashboard for its own sake.
import {html, useState} from './vdom.mjs'
import {ask} from './wire.mjs'
import {Failure, Still, useAsked} from './marks.mjs'
import {plural} from './words.mjs'

const size = bytes => bytes < 10000 ? `${bytes} B` : bytes < 1e6 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`
const time = seconds => seconds == null ? '–' : seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
const code = name => name.toLowerCase().replaceAll('_', ' ')
// How far back, and into how many parts a line divides that: hours, quarters of days, days, weeks.
const SPANS = {1: 24, 7: 28, 30: 30, 365: 52}
const COUNTED = /^(refused|path_leaked|overlap_noted|attempt_(started|expired))$/

export default function Figures() {
  const [days, choose] = useState(30)
  const {reply, refused, again} = useAsked(() => ask('stats', {days, parts: SPANS[days]}), [days], event => COUNTED.test(event.type))
  const spent = useAsked(() => ask('get_costs'), []).reply?.total
  if (!reply) return html`<${Failure} of=${refused} retry=${again} />${!refused && html`<${Still} />`}`
  const codes = Object.entries(reply.refusals.by_code).sort((one, two) => two[1] - one[1]).slice(0, 4)
  const {recovery, hooks, by_part: line} = reply, unchecked = Object.entries(hooks.unchecked_24h || {})
  return html`<div class="filters" role="group" aria-label="How far back">${Object.keys(SPANS).map(Number).map(each => html`<button class=${each === days ? 'here' : ''} aria-pressed=${each === days} onClick=${() => choose(each)}>${plural(each, 'day')}</button>`)}<button class="text" onClick=${again}>Read again</button></div><${Failure} of=${refused} />
  <dl class="figures">
    <${Figure} name="Refusals" value=${reply.refusals.total} about=${codes.map(([name, count]) => `${count} ${code(name)}`).join(' · ') || 'nobody ran into anybody'} line=${line?.refusals} />
    <${Figure} name="Leaks" value=${reply.leaks} about="held files that another call changed all the same" line=${line?.leaks} />
    <${Figure} name="Overlaps" value=${reply.overlaps} about="the same path held in two checkouts" line=${line?.overlaps} />
    <${Figure} name="Lost" value=${recovery.lost} about="attempts whose agent fell silent or was killed" line=${line?.lost} />
    <${Figure} name="Recovered" value=${`${recovery.recovered} of ${recovery.lost}`} about=${recovery.lost ? 'lost attempts that somebody went on with' : 'nothing was lost'} line=${line?.recovered} />
    <${Figure} name="Recovery, half" value=${time(recovery.p50_seconds)} about=${recovery.p95_seconds != null ? `one in twenty takes longer than ${time(recovery.p95_seconds)}` : recovery.lost ? 'nobody has gone on yet with what was lost' : 'nothing was lost'} />
    <${Figure} name="Work not done twice" value=${reply.duplicate_work_avoided} about="claims of what another had already" />
    <${Figure} name="Hook, half" value=${hooks.p50_ms == null ? '–' : `${hooks.p50_ms} ms`} about=${hooks.p95_ms == null ? 'no call was counted' : `one in twenty takes longer than ${hooks.p95_ms} ms · ${plural(hooks.calls, 'call')}`} />
    <${Figure} name="Put before models" value=${size(hooks.bytes_injected)} about=${hooks.calls ? `${Math.round(hooks.bytes_injected / hooks.calls)} B a call` : 'no call was counted'} />
    ${spent && (spent.input_tokens || spent.output_tokens) ? html`<${Figure} name="Spent" value=${spent.cost_usd == null ? `${Math.round((spent.input_tokens + spent.output_tokens) / 1000)}k` : `$${spent.cost_usd.toFixed(2)}`} about=${`${spent.input_tokens.toLocaleString()} tokens read, ${spent.output_tokens.toLocaleString()} written`} />` : null}
    <${Figure} name="Unchecked today" value=${unchecked.reduce((sum, [, count]) => sum + count, 0)} about=${unchecked.length ? unchecked.map(([name, count]) => `${count} ${code(name)}`).join(' · ') : 'every call could be asked about'} />
  </dl>
  <p class="dim quiet">The lines go from ${plural(days, 'day')} ago until now; their tops are the most of any ${{24: 'hour', 28: 'quarter of a day', 30: 'day', 52: 'week'}[SPANS[days]]}.</p>`
}

const Figure = ({name, value, about, line}) => html`<div class="figure"><dt>${name}</dt><dd class="number">${String(value ?? 0)}</dd><dd>${about}</dd>${line?.some(Boolean) ? html`<dd><svg viewBox="0 0 120 28" preserveAspectRatio="none" role="img" aria-label=${`at most ${Math.max(...line)} at a time, ${line.at(-1)} in the last`}><path class="spark" vector-effect="non-scaling-stroke" d=${spark(line)} /></svg></dd>` : null}</div>`

const spark = line => 'M' + line.map((count, n) => `${Math.round(n * 1200 / (line.length - 1)) / 10} ${Math.round(260 - 240 * count / Math.max(...line, 1)) / 10}`).join('L')

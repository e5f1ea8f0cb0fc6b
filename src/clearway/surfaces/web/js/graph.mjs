// What waits for what, layered left to right. The longest chain is heavier; what is live carries its agent's badge.
import {html, useState, useEffect, useRef, useMemo} from './vdom.mjs'
import {ask} from './wire.mjs'
import {use, state} from './store.mjs'
import {href, go} from './place.mjs'
import {Failure, Still, Empty, useAsked} from './marks.mjs'
import {number, kindOf, hue, initials, cut} from './words.mjs'

const WIDE = 190, HIGH = 40
const SQUARE = 400
const DAGRE_NODES_MAX = 120 // of more it takes seconds; then they are layered here, which takes a moment
let dagre = null

export default function Graph({place}) {
  const root = place.rest[0] || ''
  const {reply, refused, again} = useAsked(() => ask('get_planning_graph', {max_nodes: 500, max_bytes: 400000, ...(root && {root_issue_id: root})}), [root], event => /^(issue_(created|updated|arch|unarch)|status|relation|attempt_(started|completed|failed|interrupted|expired)|plan)/.test(event.type))
  const [layout, lay] = useState(null), [failed, fail] = useState(null), [all, show] = useState(false)
  const shape = reply && all + '|' + reply.nodes.map(node => node.display_id).sort().join() + '|' + reply.edges.map(edge => edge.source + edge.type + edge.target).sort().join()
  useEffect(() => {
    if (!reply) return
    let over = false
    const run = async () => {
      try {
        dagre ||= await import('../vendor/dagre-3.1.3.mjs')
        if (!over) lay(placed(reply, all))
      } catch { fail({message: 'The graph could not be laid out.', code: 'UNREACHABLE'}) }
    }
    run()
    return () => { over = true }
  }, [shape])
  if (!reply || (!layout && !failed)) return html`<${Failure} of=${refused} retry=${again} />${!refused && html`<${Still} />`}`
  if (!reply.nodes.length) return html`<${Empty}><h2>Nothing is unfinished</h2><p class="dim">The graph shows what waits for what. Link two issues in their panels, or apply a plan.</p><//>`
  return html`<${Failure} of=${failed || refused} />${layout && html`<${Canvas} layout=${layout} reply=${reply} root=${root} all=${all} show=${show} />`}`
}

function placed(reply, all) {
  const linked = new Set(reply.edges.flatMap(edge => [edge.source, edge.target]))
  const nodes = reply.nodes.map(node => node.display_id).filter(name => linked.has(name)), known = new Set(nodes)
  const edges = reply.edges.filter(edge => known.has(edge.source) && known.has(edge.target))
  const {at, lines} = nodes.length > DAGRE_NODES_MAX ? layered(nodes, edges) : byDagre(nodes, edges)
  let right = 0, bottom = 0
  for (const {x, y} of at.values()) { right = Math.max(right, x + WIDE); bottom = Math.max(bottom, y + HIGH) }
  // What waits for nothing and holds up nothing stands below, in rows as wide as the rest: what moves, else all of it.
  const apart = reply.nodes.filter(node => !linked.has(node.display_id))
  const alone = all || !linked.size ? apart : apart.filter(node => /live|review/.test(kindOf(node)))
  const wide = Math.max(4, Math.round(Math.max(right, Math.sqrt(alone.length * 2.4) * WIDE) / (WIDE + 16)))
  alone.forEach((node, n) => at.set(node.display_id, {x: (n % wide) * (WIDE + 16), y: (bottom ? bottom + 36 : 0) + Math.floor(n / wide) * (HIGH + 12)}))
  for (const {x, y} of at.values()) { right = Math.max(right, x + WIDE); bottom = Math.max(bottom, y + HIGH) }
  return {at, lines, width: right, height: bottom, hidden: apart.length - alone.length}
}

function byDagre(nodes, edges) {
  const graph = new dagre.Graph(), at = new Map()
  graph.setGraph({rankdir: 'LR', nodesep: 12, ranksep: 44, marginx: 0, marginy: 0})
  graph.setDefaultEdgeLabel(() => ({}))
  for (const name of nodes) graph.setNode(name, {width: WIDE, height: HIGH})
  for (const edge of edges) graph.setEdge(edge.source, edge.target, {weight: edge.type === 'blocks' ? 3 : 1})
  if (nodes.length) dagre.layout(graph)
  for (const name of graph.nodes()) { const {x, y} = graph.node(name); at.set(name, {x: x - WIDE / 2, y: y - HIGH / 2}) }
  return {at, lines: graph.edges().map(({v, w}) => ({source: v, target: w, points: graph.edge(v, w).points}))}
}

// Each as far to the right as the longest chain before it is long; within a layer near to what it is linked with.
function layered(nodes, edges) {
  const before = new Map(nodes.map(name => [name, []])), after = new Map(nodes.map(name => [name, []]))
  for (const {source, target} of edges) { before.get(target).push(source); after.get(source).push(target) }
  const left = new Map(nodes.map(name => [name, before.get(name).length])), rank = new Map(nodes.map(name => [name, 0]))
  const order = nodes.filter(name => !left.get(name))
  for (const name of order) for (const next of after.get(name)) {
    rank.set(next, Math.max(rank.get(next), rank.get(name) + 1))
    left.set(next, left.get(next) - 1)
    if (!left.get(next)) order.push(next)
  }
  // What nothing comes before stands beside what waits for it, not at the far left.
  for (const name of order) if (!before.get(name).length && after.get(name).length) rank.set(name, Math.min(...after.get(name).map(next => rank.get(next))) - 1)
  const layers = []
  for (const name of nodes) (layers[rank.get(name)] ||= []).push(name)
  const y = new Map()
  for (const layer of layers) layer?.forEach((name, n) => y.set(name, n * (HIGH + 12)))
  const middle = (names, own) => names.length ? names.reduce((sum, name) => sum + y.get(name), 0) / names.length : own
  for (let sweep = 0; sweep < 8; sweep++) {
    const near = sweep % 2 ? after : before
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      if (!layer) continue
      const wished = new Map(layer.map(name => [name, middle(near.get(name), y.get(name))]))
      layer.sort((one, two) => wished.get(one) - wished.get(two))
      let free = -Infinity
      for (const name of layer) { y.set(name, Math.max(wished.get(name), free)); free = y.get(name) + HIGH + 12 }
    }
  }
  const top = Math.min(...y.values())
  const at = new Map(nodes.map(name => [name, {x: rank.get(name) * (WIDE + 56), y: y.get(name) - top}]))
  const lines = edges.map(({source, target}) => {
    const from = at.get(source), to = at.get(target)
    return {source, target, points: [{x: from.x + WIDE, y: from.y + HIGH / 2}, {x: to.x, y: to.y + HIGH / 2}]}
  })
  return {at, lines}
}

function Canvas({layout, reply, root, all, show}) {
  const box = useRef(null), drag = useRef(null)
  const [view, look] = useState(null)
  const fit = () => {
    const {clientWidth: w, clientHeight: h} = box.current
    if (!w || !h) return
    const scale = Math.min(1.15, (w - 48) / layout.width, (h - 64) / layout.height)
    look({scale, x: Math.max(24, (w - layout.width * scale) / 2), y: Math.max(24, (h - layout.height * scale) / 2)})
  }
  // At first it is large enough to be read, from where the work begins.
  const begin = () => {
    fit()
    look(now => now && now.scale < .7 ? {scale: .8, x: 24, y: 24} : now)
  }
  useEffect(begin, [layout])
  useEffect(() => {
    const svg = box.current
    const wheel = event => { event.preventDefault(); zoom(Math.exp(-event.deltaY * (event.ctrlKey ? .01 : .0016)), event.offsetX, event.offsetY) }
    svg.addEventListener('wheel', wheel, {passive: false})
    return () => svg.removeEventListener('wheel', wheel)
  }, [])
  const zoom = (by, x, y) => look(now => {
    const scale = Math.max(.08, Math.min(2.5, now.scale * by)), part = scale / now.scale
    return {scale, x: x - (x - now.x) * part, y: y - (y - now.y) * part}
  })
  const middle = by => zoom(by, box.current.clientWidth / 2, box.current.clientHeight / 2)
  const fingers = useRef(new Map())
  const down = event => { fingers.current.set(event.pointerId, [event.clientX, event.clientY]); drag.current = {moved: 0} }
  const move = event => {
    const before = fingers.current.get(event.pointerId)
    if (!before || !drag.current) return
    const dx = event.clientX - before[0], dy = event.clientY - before[1]
    drag.current.moved += Math.abs(dx) + Math.abs(dy)
    if (drag.current.moved > 4) box.current.setPointerCapture(event.pointerId)
    if (fingers.current.size === 2) {
      const [one, two] = [...fingers.current.entries()]
      const other = one[0] === event.pointerId ? two[1] : one[1]
      const was = Math.hypot(before[0] - other[0], before[1] - other[1]), is = Math.hypot(event.clientX - other[0], event.clientY - other[1])
      const frame = box.current.getBoundingClientRect()
      if (was > 0) zoom(is / was, (event.clientX + other[0]) / 2 - frame.left, (event.clientY + other[1]) / 2 - frame.top)
    } else look(now => ({...now, x: now.x + dx, y: now.y + dy}))
    fingers.current.set(event.pointerId, [event.clientX, event.clientY])
  }
  const up = event => { fingers.current.delete(event.pointerId); if (!fingers.current.size) setTimeout(() => { drag.current = null }) }
  const keys = event => {
    const step = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[event.key]
    if (step) { event.preventDefault(); look(now => ({...now, x: now.x + step[0], y: now.y + step[1]})) }
    if (event.key === '+') middle(1.25)
    if (event.key === '-') middle(.8)
    if (event.key === '0') fit()
  }
  const path = reply.critical_path || []
  const heavy = new Set(path.slice(1).map((name, n) => `${path[n]} ${name}`))
  const kinds = useMemo(() => new Map(reply.edges.map(edge => [`${edge.source} ${edge.target}`, edge.type])), [reply])
  const board = use(now => now.board)
  const live = new Map((state.board?.columns.live || []).map(card => [card.display_id, card.live]))
  const open = (event, id) => { event.preventDefault(); if ((drag.current?.moved || 0) < 5) go({panel: ['issue', id]}) }
  const small = Boolean(view && view.scale < .45)
  // Only what is near is drawn, by squares: moving within one, and zooming, draw nothing anew.
  const square = at => Math.floor(at / SQUARE)
  const near = !view || small ? null : [square(-view.x / view.scale), square(-view.y / view.scale), square((box.current.clientWidth - view.x) / view.scale), square((box.current.clientHeight - view.y) / view.scale)]
  const shows = (x0, y0, x1, y1) => !near || (x1 >= near[0] * SQUARE && y1 >= near[1] * SQUARE && x0 <= (near[2] + 1) * SQUARE && y0 <= (near[3] + 1) * SQUARE)
  const crosses = ({points}) => shows(Math.min(...points.map(each => each.x)), Math.min(...points.map(each => each.y)), Math.max(...points.map(each => each.x)), Math.max(...points.map(each => each.y)))
  const drawn = useMemo(() => html`${layout.lines.filter(crosses).map(line => { const key = `${line.source} ${line.target}`, critical = heavy.has(key); return html`<path key=${key} class=${'edge' + (critical ? ' critical' : '') + (kinds.get(key) === 'blocks' ? '' : ' child')} d=${curve(line.points)} marker-end=${kinds.get(key) === 'blocks' && !small ? `url(#to${critical ? '-critical' : ''})` : undefined} />` })}
    ${reply.nodes.map(node => {
      const at = layout.at.get(node.display_id), kind = kindOf(node), holder = live.get(node.display_id)
      return at && shows(at.x, at.y, at.x + WIDE, at.y + HIGH) && html`<a key=${node.display_id} class=${'node ' + kind + (small ? ' small' : '')} data-item data-id=${node.display_id} href=${href({panel: ['issue', node.display_id]})} transform=${`translate(${at.x} ${at.y})`} onClick=${event => open(event, node.display_id)} aria-label=${`${node.display_id} ${node.title}, ${kind}`}>
        <title>${node.display_id} ${node.title}</title><rect class="box" width=${WIDE} height=${HIGH} rx="4" />${!small && html`<rect class="side" width="4" height=${HIGH} rx="1" /><text class="id" x="12" y="15">${number(node.display_id)}</text><text x="12" y="31">${cut(node.title, 27)}</text>`}
        ${holder ? html`<g transform=${`translate(${WIDE - 28} 5)`}><rect width="22" height="15" rx="4" fill="none" style=${{stroke: `hsl(${hue(holder.session)} var(--badge-s) var(--badge-l))`}} stroke-width="1.5" /><text class="tag" x="11" y="11" text-anchor="middle" style=${{fill: `hsl(${hue(holder.session)} var(--badge-s) var(--badge-l))`}}>${initials(holder.agent)}</text></g>` : !small && (node.priority === 'critical' || node.priority === 'high') ? html`<text class="tag" x=${WIDE - 12} y="15" text-anchor="end">${node.priority === 'critical' ? '‼' : '!'}</text>` : null}</a>`
    })}`, [layout, reply, board, small, near?.join()])
  return html`<svg class="canvas" ref=${box} tabindex="0" role="group" aria-label=${`Graph of ${reply.nodes.length} issues; arrows move it, plus and minus zoom, 0 shows all`} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up} onKeyDown=${keys}>
    <defs><pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="4" height="4" fill="var(--sheet)" /><rect width="2" height="4" fill="var(--wait-line)" /></pattern>
      <marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z" /></marker><marker id="to-critical" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto"><path class="arrow critical" d="M0 0L8 4L0 8z" /></marker></defs>
    ${view && html`<g class="world" style=${{transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})`}}>${drawn}</g>`}
  </svg>
  <div class="tools">${root && html`<a class="button" href=${href({view: 'graph'})}>Whole project</a>`}${(layout.hidden > 0 || all) && html`<button aria-pressed=${all} onClick=${() => show(!all)}>${all ? 'Only what is linked' : `${layout.hidden} unlinked`}</button>`}<button onClick=${() => middle(1.25)} aria-label="Larger">+</button><button onClick=${() => middle(.8)} aria-label="Smaller">−</button><button onClick=${fit}>Fit</button></div>
  <p class="legend"><span><i class="sign ready"></i>ready</span><span><i class="sign live"></i>live</span><span><i class="sign blocked"></i>waits</span><span><i class="sign review"></i>review</span><span>heavy: the longest chain${path.length ? ` (${path.length})` : ''}</span>${reply.truncated && html`<span>not all: ${Object.entries(reply.summary.left_out || {}).map(([name, count]) => `${count} ${name}`).join(', ') || 'too many'}</span>`}</p>`
}

function curve(points) {
  let d = `M${points[0].x} ${points[0].y}`
  for (let n = 1; n < points.length; n++) {
    const {x: x0, y: y0} = points[n - 1], {x, y} = points[n], bend = (x - x0) / 2
    d += `C${x0 + bend} ${y0} ${x - bend} ${y} ${x} ${y}`
  }
  return d
}

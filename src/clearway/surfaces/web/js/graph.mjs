// What waits for what, layered left to right. The longest chain is heavier; what is live carries its agent's badge.
import {html, useState, useEffect, useLayoutEffect, useRef, useMemo} from './vdom.mjs'
import {ask} from './wire.mjs'
import {use, state} from './store.mjs'
import {href} from './place.mjs'
import {Badge, Failure, Still, Empty, useAsked} from './marks.mjs'
import {number, kindOf, who} from './words.mjs'
import {parts, chain, arrange} from './arrange.mjs'
import {WIDE, HIGH} from './layout.mjs'
import {Camera} from './camera.mjs'

const TOUCHES = /^(issue_(created|updated|arch|unarch)|status|relation|attempt_(started|completed|failed|interrupted|expired)|plan)/
const kept = new Map() // room and root -> {shape, layout, x, y, scale}: where one was, for whoever comes back

export default function Graph({place}) {
  const root = place.rest[0] || '', name = `${state.room?.project} ${root}`
  const {reply, refused, again} = useAsked(() => ask('get_planning_graph', {max_nodes: 500, max_bytes: 400000, ...(root && {root_issue_id: root})}), [root], event => TOUCHES.test(event.type))
  const [all, show] = useState(false), [laid, lay] = useState(null)
  const what = useMemo(() => reply && parts(reply, all), [reply, all])
  const shape = useMemo(() => what && JSON.stringify([root, what.linked, what.apart, what.edges]), [what])
  useEffect(() => {
    if (!what) return
    const known = kept.get(name)
    if (known?.shape === shape) { lay(known); return }
    let over = false
    arrange(what).then(layout => {
      if (over) return
      const next = {...kept.get(name), shape, layout}
      kept.set(name, next)
      lay(next)
    })
    return () => { over = true }
  }, [shape])
  useEffect(() => lay(null), [root])
  if (reply && !reply.nodes.length) return html`<${Empty}><h2>Nothing is unfinished</h2><p class="dim">The graph shows what waits for what. Link two issues in their panels, or apply a plan.</p><//>`
  return html`<${Failure} of=${refused} retry=${again} />${reply && laid ? html`<${Canvas} layout=${laid.layout} reply=${reply} root=${root} name=${name} all=${all} hidden=${what.hidden} show=${show} key=${root} />` : !refused && html`<${Still} />`}`
}

function Canvas({layout, reply, root, name, all, hidden, show}) {
  const box = useRef(null), world = useRef(null), wanted = useRef(null)
  const [drawn, draw] = useState(null), [current, point] = useState('')
  const camera = useMemo(() => new Camera(draw), [])
  const fit = () => camera.fit(layout.width, layout.height)
  const before = useRef(null)
  useLayoutEffect(() => {
    camera.attach(box.current, world.current)
    const was = kept.get(name)
    if (before.current) follow(camera, before.current, layout)
    else if (was?.scale) camera.put(was.x, was.y, was.scale)
    else begin(camera, layout, reply)
    before.current = layout
  }, [layout])
  useEffect(() => {
    const there = box.current
    const wheel = event => { event.preventDefault(); camera.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? .01 : .0016)), event.clientX - camera.place.left, event.clientY - camera.place.top) }
    there.addEventListener('wheel', wheel, {passive: false})
    const size = new ResizeObserver(() => { camera.measure(); if (camera.drawn) camera.by(0, 0) })
    size.observe(there)
    return () => { const {x, y, scale} = camera; kept.set(name, {...kept.get(name), x, y, scale}); size.disconnect(); there.removeEventListener('wheel', wheel); camera.detach() }
  }, [])
  const near = useMemo(() => neighbours(layout), [layout])
  const focus = id => { if (!id) return; point(id); wanted.current = id; camera.reveal(layout.at.get(id), WIDE, HIGH); draw(now => ({...now})) }
  useEffect(() => { if (wanted.current) { const found = box.current.querySelector(`[data-id="${CSS.escape(wanted.current)}"]`); if (found) { wanted.current = null; found.focus({preventScroll: true}) } } })
  const keys = event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const id = event.target.dataset?.id, way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key]
    if (way) { event.preventDefault(); if (id) focus(near(id, ...way)); else camera.by(-60 * way[0], -60 * way[1]) }
    else if (event.key === 'Enter' && !id) focus(current && layout.at.has(current) ? current : near('', 0, 0, camera.view()))
    else if (event.key === '+') camera.zoom(1.25)
    else if (event.key === '-') camera.zoom(.8)
    else if (event.key === '0') fit()
  }
  // What has the focus is in view, however it came by it.
  const seen = event => { const id = event.target.dataset?.id; if (id && event.target.matches(':focus-visible')) { point(id); camera.reveal(layout.at.get(id), WIDE, HIGH) } }
  const path = useMemo(() => chain(reply), [reply])
  return html`<div class="canvas" ref=${box} tabindex="0" role="group" aria-label=${`Graph of ${layout.at.size} issues; arrows move it, plus and minus zoom, 0 shows all, enter goes into it, where arrows go from issue to issue`} ...${hands(camera, box)} onKeyDown=${keys} onFocusIn=${seen}>
    <div class=${'world' + (drawn?.small ? ' small' : '')} ref=${world}>${drawn && html`<${Drawn} layout=${layout} reply=${reply} drawn=${drawn} current=${current} path=${path} />`}</div></div>
  <div class="tools">${root && html`<a class="button" href=${href({view: 'graph'})}>Whole project</a>`}${(hidden > 0 || all) && html`<button aria-pressed=${all} onClick=${() => show(!all)}>${all ? 'Only what is linked' : `${hidden} unlinked`}</button>`}<button onClick=${() => camera.zoom(1.25)} aria-label="Larger">+</button><button onClick=${() => camera.zoom(.8)} aria-label="Smaller">−</button><button onClick=${fit}>Fit</button></div>
  <p class="legend"><span><i class="sign ready"></i>ready</span><span><i class="sign live"></i>live</span><span><i class="sign blocked"></i>waits</span><span><i class="sign review"></i>review</span><span>heavy: the longest chain${path.length ? ` (${path.length})` : ''}</span>${reply.truncated && html`<span>not all: ${Object.entries(reply.summary.left_out || {}).map(([name, count]) => `${count} ${name}`).join(', ') || 'too many'}</span>`}</p>`
}

// At first it is large enough to be read, from where the work begins.
function begin(camera, layout, reply) {
  camera.fit(layout.width, layout.height)
  if (camera.scale >= .7) return
  const from = layout.at.get((reply.critical_path || [])[0]) || [...layout.at.values()].reduce((one, two) => two.x < one.x ? two : one)
  const y = camera.place.height / 2 - (from.y + HIGH / 2) * .8
  camera.put(24 - from.x * .8, layout.height * .8 < camera.place.height - camera.top - 24 ? camera.top : Math.min(camera.top, Math.max(y, camera.place.height - 64 - layout.height * .8)), .8)
}

// When issues come and go while somebody looks, what is in the middle stays where it is.
function follow(camera, before, now) {
  const view = camera.view(), x = (view.x0 + view.x1) / 2, y = (view.y0 + view.y1) / 2
  let best = null, least = Infinity
  for (const [id, at] of before.at) {
    const far = Math.hypot(at.x + WIDE / 2 - x, at.y + HIGH / 2 - y)
    if (far < least && now.at.has(id)) { least = far; best = id }
  }
  const from = before.at.get(best), to = now.at.get(best)
  camera.drawn = null
  camera.by(from ? (from.x - to.x) * camera.scale : 0, from ? (from.y - to.y) * camera.scale : 0)
}

// Dragging with one finger or the mouse, and pinching with two.
function hands(camera, box) {
  const fingers = useRef(new Map()), moved = useRef(0)
  const down = event => { if (!fingers.current.size) moved.current = 0; fingers.current.set(event.pointerId, [event.clientX, event.clientY]) }
  const move = event => {
    const before = fingers.current.get(event.pointerId)
    if (!before) return
    const dx = event.clientX - before[0], dy = event.clientY - before[1]
    moved.current += Math.abs(dx) + Math.abs(dy)
    if (moved.current > 4 && !box.current.hasPointerCapture(event.pointerId)) box.current.setPointerCapture(event.pointerId)
    fingers.current.set(event.pointerId, [event.clientX, event.clientY])
    if (fingers.current.size !== 2) return camera.by(dx, dy)
    const other = [...fingers.current].find(([id]) => id !== event.pointerId)[1]
    const was = Math.hypot(before[0] - other[0], before[1] - other[1]), is = Math.hypot(event.clientX - other[0], event.clientY - other[1])
    if (was > 0) camera.zoom(is / was, (event.clientX + other[0]) / 2 - camera.place.left, (event.clientY + other[1]) / 2 - camera.place.top)
  }
  const up = event => fingers.current.delete(event.pointerId)
  const click = event => { if (moved.current > 4 && event.detail) { event.preventDefault(); event.stopPropagation() } }
  return {onPointerDown: down, onPointerMove: move, onPointerUp: up, onPointerCancel: up, onLostPointerCapture: up, onClickCapture: click, onDragStart: event => event.preventDefault()}
}

// The issue that one comes to from another by an arrow: one that is linked with it, else the nearest on that side.
function neighbours(layout) {
  const linked = new Map([...layout.at.keys()].map(id => [id, new Set()]))
  for (const {source, target} of layout.lines) { linked.get(source).add(target); linked.get(target).add(source) }
  return (id, right, down, view) => {
    const from = id ? layout.at.get(id) : {x: (view.x0 + view.x1 - WIDE) / 2, y: (view.y0 + view.y1 - HIGH) / 2}
    let best = '', least = Infinity
    for (const [other, at] of layout.at) {
      if (other === id) continue
      const dx = at.x - from.x, dy = at.y - from.y
      const along = dx * right + dy * down, across = Math.abs(right ? dy : dx)
      if ((right || down) && along < (right ? WIDE / 2 : HIGH / 2)) continue
      const far = right || down ? along + 3 * across - (right && linked.get(id).has(other) ? 1e6 : 0) : Math.hypot(dx, dy)
      if (far < least) { least = far; best = other }
    }
    return best
  }
}

// What is in view and a little around it: the issues, and every kind of line as one path.
function Drawn({layout, reply, drawn, current, path}) {
  const board = use(now => now.board), replay = use(now => now.replay?.reply)
  const nodes = useMemo(() => new Map(reply.nodes.map(node => [node.display_id, node])), [reply])
  const live = useMemo(() => new Map((replay ? replay.issues.filter(each => each.held_by).map(each => [each.display_id, {agent: each.held_by, session: each.session}]) : (board?.columns.live || []).map(card => [card.display_id, card.live]))), [board, replay])
  const then = useMemo(() => replay && new Map(replay.issues.map(each => [each.display_id, each])), [replay])
  const lines = useMemo(() => paths(layout, reply, path, drawn), [layout, reply, drawn])
  const waits = useMemo(() => { const found = new Map(); for (const edge of reply.edges) if (edge.type === 'blocks') found.set(edge.target, [...(found.get(edge.target) || []), edge.source]); return found }, [reply])
  const made = useRef(new Map()), here = href({panel: null})
  const shown = []
  for (const [id, at] of layout.at) {
    const now = nodes.get(id)
    if (!now || at.x > drawn.x1 || at.y > drawn.y1 || at.x + WIDE < drawn.x0 || at.y + HIGH < drawn.y0) continue
    // What was waited for then is not told: only what an issue was by itself.
    const node = then ? {...now, effective_status: undefined, open_blockers: 0, ...(then.get(id) || {status: 'open'})} : now
    const kind = kindOf(node) + (then && !then.has(id) ? ' unknown' : ''), holder = live.get(id), first = id === (layout.at.has(current) ? current : layout.at.keys().next().value)
    const key = [here, drawn.small, first, kind, node.priority, node.title, holder?.session, at.x, at.y, waits.get(id)].join()
    // One that has not changed is the very same thing, which is not looked at again.
    let known = made.current.get(id)
    if (known?.key !== key) made.current.set(id, known = {key, of: html`<${Node} key=${id} id=${id} node=${node} at=${at} kind=${kind} holder=${holder} small=${drawn.small} first=${first} waits=${waits.get(id)} />`})
    shown.push(known.of)
  }
  return html`<svg class="edges" aria-hidden="true" width=${layout.width} height=${layout.height}>${Object.entries(lines).map(([name, d]) => d && html`<path key=${name} class=${name} d=${d} />`)}</svg>${shown}`
}

const Node = ({id, node, at, kind, holder, small, first, waits}) => html`<a class=${'node ' + kind} data-item data-id=${id} href=${href({panel: ['issue', id]})} tabindex=${first ? 0 : -1} draggable=${false} style=${{left: at.x + 'px', top: at.y + 'px'}}
  aria-label=${`${id} ${node.title}, ${kind}${holder ? `, with ${who(holder.agent, holder.session)}` : ''}${waits ? `, after ${waits.map(number).join(', ')}` : ''}`}>${!small && html`<span class="id">${number(id)}</span>${holder ? html`<${Badge} agent=${holder.agent} session=${holder.session} small />` : /critical|high/.test(node.priority) ? html`<span class="tag">${node.priority === 'critical' ? '‼' : '!'}</span>` : null}<span class="text">${node.title}</span>`}</a>`

function paths(layout, reply, path, drawn) {
  const heavy = new Set(path.slice(1).map((name, n) => `${path[n]} ${name}`)), blocks = new Set(reply.edges.filter(edge => edge.type === 'blocks').map(edge => `${edge.source} ${edge.target}`))
  const found = {'edge child': '', edge: '', 'edge critical': '', arrow: '', 'arrow critical': ''}
  for (const {source, target, points} of layout.lines) {
    let x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity
    for (const {x, y} of points) { x0 = Math.min(x0, x); y0 = Math.min(y0, y); x1 = Math.max(x1, x); y1 = Math.max(y1, y) }
    if (x0 > drawn.x1 || y0 > drawn.y1 || x1 < drawn.x0 || y1 < drawn.y0) continue
    const key = `${source} ${target}`, critical = heavy.has(key)
    found[critical ? 'edge critical' : blocks.has(key) ? 'edge' : 'edge child'] += curve(points)
    if (!drawn.small && (critical || blocks.has(key))) found[critical ? 'arrow critical' : 'arrow'] += arrow(points)
  }
  return found
}

function curve(points) {
  let d = `M${Math.round(points[0].x)} ${Math.round(points[0].y)}`
  for (let n = 1; n < points.length; n++) {
    const {x: x0, y: y0} = points[n - 1], {x, y} = points[n], bend = (x - x0) / 2
    d += `C${[x0 + bend, y0, x - bend, y, x, y].map(Math.round).join(' ')}`
  }
  return d
}

function arrow(points) {
  const {x, y} = points.at(-1), back = Math.sign(x - points.at(-2).x) * 7 || 7
  return `M${Math.round(x - back)} ${Math.round(y - 3.5)}l${back} 3.5l${-back} 3.5z`
}

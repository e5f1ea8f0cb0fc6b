// Has the graph laid out: in a worker, so that the page stays free; in layers, here and at once, where there is none.
import {placed} from './layout.mjs'
import {kindOf} from './words.mjs'

const PATIENCE_MS = 5000
let worker = null, policy = null, turn = 0

// What is to be placed. What waits for nothing and holds up nothing is left out unless it moves, or all is wanted.
export function parts(reply, all) {
  const linked = new Set(reply.edges.flatMap(edge => [edge.source, edge.target]))
  const names = reply.nodes.map(node => node.display_id), known = new Set(names)
  const apart = reply.nodes.filter(node => !linked.has(node.display_id))
  const shown = all || !linked.size ? apart : apart.filter(node => /live|review/.test(kindOf(node)))
  return {
    linked: names.filter(name => linked.has(name)), apart: shown.map(node => node.display_id), hidden: apart.length - shown.length,
    edges: reply.edges.filter(edge => known.has(edge.source) && known.has(edge.target)).map(edge => [edge.source, edge.target, edge.type]),
  }
}

const CHAIN_TOLD = 20 // of the longest chain the room tells so many; a longer one is found here

// The longest chain in which each waits for the one before it.
export function chain(reply) {
  const told = reply.critical_path || []
  if (told.length < CHAIN_TOLD) return told
  const after = new Map(), left = new Map(reply.nodes.map(node => [node.display_id, 0])), length = new Map(), before = new Map()
  for (const {source, target, type} of reply.edges) if (type === 'blocks' && left.has(source) && left.has(target)) { after.set(source, [...(after.get(source) || []), target]); left.set(target, left.get(target) + 1) }
  const order = [...left.keys()].filter(name => !left.get(name))
  for (const name of order) for (const next of after.get(name) || []) {
    if ((length.get(name) || 1) >= (length.get(next) || 1)) { length.set(next, (length.get(name) || 1) + 1); before.set(next, name) }
    left.set(next, left.get(next) - 1)
    if (!left.get(next)) order.push(next)
  }
  const found = [order.reduce((one, two) => (length.get(two) || 1) > (length.get(one) || 1) ? two : one)]
  while (before.has(found[0])) found.unshift(before.get(found[0]))
  return found
}

export function arrange(what) {
  const mine = ++turn
  return new Promise(done => {
    const here = () => { over(); stop(); done(placed(what, null)) }
    const hear = ({data}) => { if (data.turn === mine) { over(); done(data.layout) } }
    const late = setTimeout(here, PATIENCE_MS)
    const over = () => { clearTimeout(late); worker?.removeEventListener('message', hear); worker?.removeEventListener('error', here) }
    try { worker ||= started() } catch { return here() }
    worker.addEventListener('message', hear)
    worker.addEventListener('error', here)
    worker.postMessage({turn: mine, what})
  })
}

// The one address of a script that this page makes: its policy (web_pages.py) lets it name no other.
function started() {
  const at = new URL('./layout_worker.mjs', import.meta.url).href
  policy ||= globalThis.trustedTypes?.createPolicy('clearway-layout', {createScriptURL: () => at}) || {createScriptURL: () => at}
  return new Worker(policy.createScriptURL(at), {type: 'module'})
}

function stop() {
  worker?.terminate()
  worker = null
}

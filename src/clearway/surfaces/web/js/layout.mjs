// Where each issue of the graph stands. Pure: names and edges in, places and lines out; it runs in a worker and beside it.
export const WIDE = 190, HIGH = 40
const DAGRE_MAX = 500 // nodes and edges; of more it takes seconds, even beside the page: then layers alone have to do
const DOWN = 12

// nodes: those that are linked and those that are not; edges: [source, target, type]. dagre: the module, where it is there.
export function placed({linked, apart, edges}, dagre) {
  const {at, lines} = dagre && linked.length + edges.length <= DAGRE_MAX ? byDagre(linked, edges, dagre) : layered(linked, edges)
  const size = () => { let right = 0, bottom = 0; for (const {x, y} of at.values()) { right = Math.max(right, x + WIDE); bottom = Math.max(bottom, y + HIGH) } return [right, bottom] }
  // What waits for nothing and holds up nothing stands below, in rows as wide as the rest.
  const [right, bottom] = size()
  const wide = Math.max(4, Math.round(Math.max(right, Math.sqrt(apart.length * 2.4) * WIDE) / (WIDE + 16)))
  apart.forEach((name, n) => at.set(name, {x: (n % wide) * (WIDE + 16), y: (bottom ? bottom + 36 : 0) + Math.floor(n / wide) * (HIGH + DOWN)}))
  const [width, height] = size()
  return {at, lines, width, height}
}

function byDagre(nodes, edges, dagre) {
  const graph = new dagre.Graph(), at = new Map()
  graph.setGraph({rankdir: 'LR', nodesep: DOWN, ranksep: 44, marginx: 0, marginy: 0})
  graph.setDefaultEdgeLabel(() => ({}))
  for (const name of nodes) graph.setNode(name, {width: WIDE, height: HIGH})
  for (const [source, target, type] of edges) graph.setEdge(source, target, {weight: type === 'blocks' ? 3 : 1})
  if (nodes.length) dagre.layout(graph)
  for (const name of graph.nodes()) { const {x, y} = graph.node(name); at.set(name, {x: Math.round(x - WIDE / 2), y: Math.round(y - HIGH / 2)}) }
  // A line leaves in the middle of the right side and comes in the middle of the left one, where its arrow points.
  const ends = (v, w) => [{x: at.get(v).x + WIDE, y: at.get(v).y + HIGH / 2}, {x: at.get(w).x, y: at.get(w).y + HIGH / 2}]
  return {at, lines: graph.edges().map(({v, w}) => { const [from, to] = ends(v, w); return {source: v, target: w, points: [from, ...graph.edge(v, w).points.slice(1, -1).filter(({x}) => x > from.x && x < to.x), to]} })}
}

// Each as far to the right as the longest chain before it is long; within a layer near to what it is linked with.
function layered(nodes, edges) {
  const before = new Map(nodes.map(name => [name, []])), after = new Map(nodes.map(name => [name, []]))
  for (const [source, target] of edges) { before.get(target).push(source); after.get(source).push(target) }
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
  for (const layer of layers) layer?.forEach((name, n) => y.set(name, n * (HIGH + DOWN)))
  const middle = (names, own) => names.length ? names.reduce((sum, name) => sum + y.get(name), 0) / names.length : own
  for (let sweep = 0; sweep < 8; sweep++) {
    const near = sweep % 2 ? after : before
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      if (!layer) continue
      const wished = new Map(layer.map(name => [name, middle(near.get(name), y.get(name))]))
      layer.sort((one, two) => wished.get(one) - wished.get(two))
      let free = -Infinity
      for (const name of layer) { y.set(name, Math.max(wished.get(name), free)); free = y.get(name) + HIGH + DOWN }
    }
  }
  const top = Math.min(...y.values())
  const at = new Map(nodes.map(name => [name, {x: rank.get(name) * (WIDE + 56), y: Math.round(y.get(name) - top)}]))
  const lines = edges.map(([source, target]) => {
    const from = at.get(source), to = at.get(target)
    return {source, target, points: [{x: from.x + WIDE, y: from.y + HIGH / 2}, {x: to.x, y: to.y + HIGH / 2}]}
  })
  return {at, lines}
}

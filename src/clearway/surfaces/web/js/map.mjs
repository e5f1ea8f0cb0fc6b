// Held paths as a tree, checkout by checkout. The same path held in two checkouts is joined by a line.
import {html, useState, useLayoutEffect, useRef} from './vdom.mjs'
import {use} from './store.mjs'
import {Agent, Path, Lease, Failure, Still, Empty} from './marks.mjs'
import {plural} from './words.mjs'
import {href} from './place.mjs'

// Folders with one child are one line with it.
function tree(paths) {
  const root = {folders: new Map(), leaves: []}
  for (const held of paths) {
    const parts = held.path.split('/'), name = parts.pop()
    let at = root
    for (const part of parts) {
      if (!at.folders.has(part)) at.folders.set(part, {folders: new Map(), leaves: []})
      at = at.folders.get(part)
    }
    at.leaves.push({name: name || '.', held})
  }
  const rows = []
  const walk = (node, deep) => {
    for (let [name, child] of node.folders) {
      while (child.folders.size === 1 && !child.leaves.length) { const [[next, inner]] = child.folders; name += '/' + next; child = inner }
      rows.push({folder: name + '/', deep})
      walk(child, deep + 1)
    }
    for (const leaf of node.leaves) rows.push({...leaf, deep})
  }
  walk(root, 0)
  return rows
}

export default function Map_() {
  const holdings = use(now => now.holdings), failure = use(now => now.failures.holdings), replay = use(now => now.replay?.reply)
  const box = useRef(null)
  const [lines, draw] = useState([])
  const found = replay ? {checkouts: [{checkout: '', root: 'as it was then', branch: ''}], paths: replay.paths.map(each => ({...each, checkout: ''}))} : holdings
  useLayoutEffect(() => {
    if (!box.current || !found) return
    const join = () => {
      const frame = box.current?.getBoundingClientRect()
      if (!frame) return
      const shared = [...box.current.querySelectorAll('[data-shared]')], next = []
      for (let one = 0; one < shared.length; one++) for (let two = one + 1; two < shared.length; two++) {
        const a = shared[one].dataset, b = shared[two].dataset
        if (a.checkout === b.checkout || !overlap(a.path, b.path)) continue
        const [left, right] = [shared[one], shared[two]].sort((p, q) => p.getBoundingClientRect().left - q.getBoundingClientRect().left)
        const from = left.getBoundingClientRect(), to = right.getBoundingClientRect(), leaf = right.querySelector('.leaf').getBoundingClientRect()
        const same = Math.abs(from.left - to.left) < 40
        const x0 = from.right - frame.left + 6, y0 = from.top + from.height / 2 - frame.top, x1 = same ? to.right - frame.left + 6 : leaf.left - frame.left - 6, y1 = to.top + to.height / 2 - frame.top
        const bend = same ? 32 : Math.max(24, (x1 - x0) / 2)
        next.push(`M${x0} ${y0}C${x0 + bend} ${y0} ${same ? x1 + bend : x1 - bend} ${y1} ${x1} ${y1}`)
      }
      draw(next)
    }
    join()
    const look = new ResizeObserver(join)
    look.observe(box.current)
    return () => look.disconnect()
  }, [found])
  if (!found) return html`<${Failure} of=${failure} />${!failure && html`<${Still} />`}`
  if (!found.paths.length) return html`<${Empty}><h2>No path is held</h2><p class="dim">Files that an agent edits are held by it as it begins; <code>clearway claim src/ --purpose "…"</code> holds more.</p><//>`
  const both = found.paths.filter(each => each.elsewhere).length
  return html`${both ? html`<p class="dim">${plural(both, 'path')} in more than one checkout, joined by a line: the branches will have to be merged there.</p>` : null}<div class="map-all" ref=${box}><svg aria-hidden="true">${lines.map(line => html`<path class="join" d=${line} />`)}</svg>
    ${found.checkouts.map(each => html`<section class="checkout" key=${each.checkout} aria-label=${each.root}><header><b>${each.checkout === '@' ? 'named resources' : each.root}</b> ${each.branch && html`<span class="chip">${each.branch}</span>`} ${each.host && new Set(found.checkouts.map(one => one.host)).size > 1 ? html`<span class="dim">${each.host}</span>` : ''}</header>
      <ul class="tree" data-list="map">${tree(found.paths.filter(held => held.checkout === each.checkout)).map(row => row.folder ? html`<li class="folder" style=${{'--deep': row.deep}} key=${'f' + row.deep + row.folder}>${row.folder}</li>`
        : html`<li class=${row.held.elsewhere ? 'shared' : ''} style=${{'--deep': row.deep}} key=${row.held.path + row.held.session + row.held.mode} data-shared=${row.held.elsewhere ? '' : undefined} data-path=${row.held.path} data-checkout=${row.held.checkout}><span class="leaf"><${NamedPath} path=${row.held.path} name=${row.name} /></span><${Agent} agent=${row.held.agent} session=${row.held.session} /><span class="purpose">${row.held.mode === 'run' ? 'a run · ' : ''}${row.held.purpose}</span>${row.held.until && html`<${Lease} until=${row.held.until} seconds=${row.held.lease_seconds} />`}</li>`)}</ul></section>`)}</div>`
}

const NamedPath = ({path, name}) => html`<a class="path" data-item href=${href({panel: ['path', path]})}>${name}</a>`
const overlap = (a, b) => a === b || a.startsWith(b + '/') || b.startsWith(a + '/')

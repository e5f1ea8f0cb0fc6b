// Held paths as a tree, checkout by checkout. The same path held in two checkouts is joined by a line.
import {html, useState, useLayoutEffect, useMemo, useRef} from './vdom.mjs'
import {use} from './store.mjs'
import {Agent, Lease, Failure, Still, Empty} from './marks.mjs'
import {plural, who} from './words.mjs'
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

// Which of the held paths, by their places in the list, are held in another checkout, too: the same one, or a folder of it.
function overlaps(paths) {
  const known = new Map(), found = []
  paths.forEach((held, n) => known.set(held.path, [...(known.get(held.path) || []), n]))
  paths.forEach((held, n) => {
    for (let at = held.path; at; at = at.includes('/') ? at.slice(0, at.lastIndexOf('/')) : '') {
      for (const other of known.get(at) || []) if (paths[other].checkout !== held.checkout && (at !== held.path || other < n)) found.push([other, n])
    }
  })
  return found
}

// A line from the one to the other, where both stand in the page.
function curve(frame, one, two) {
  const [left, right] = one.row.left <= two.row.left ? [one, two] : [two, one]
  const from = left.row, to = right.row, same = Math.abs(from.left - to.left) < 40
  const x0 = from.right - frame.left + 6, y0 = from.top + from.height / 2 - frame.top, x1 = same ? to.right - frame.left + 6 : right.leaf.left - frame.left - 6, y1 = to.top + to.height / 2 - frame.top
  const bend = same ? 32 : Math.max(24, (x1 - x0) / 2)
  return `M${x0} ${y0}C${x0 + bend} ${y0} ${same ? x1 + bend : x1 - bend} ${y1} ${x1} ${y1}`
}

export default function Map_() {
  const holdings = use(now => now.holdings), failure = use(now => now.failures.holdings), replay = use(now => now.replay?.reply)
  const box = useRef(null)
  const [lines, draw] = useState('')
  const found = useMemo(() => replay ? {checkouts: [{checkout: '', root: 'as it was then', branch: ''}], paths: replay.paths.map(each => ({...each, checkout: ''}))} : holdings, [replay, holdings])
  const joins = useMemo(() => overlaps(found?.paths || []), [found])
  const also = useMemo(() => { const named = new Map(); for (const [one, two] of joins) { named.set(one, [...(named.get(one) || []), two]); named.set(two, [...(named.get(two) || []), one]) } return named }, [joins])
  useLayoutEffect(() => {
    if (!box.current || !found) return
    const join = () => {
      const frame = box.current?.getBoundingClientRect(), rows = new Map()
      if (!frame) return
      for (const row of box.current.querySelectorAll('[data-held]')) rows.set(Number(row.dataset.held), {row: row.getBoundingClientRect(), leaf: row.querySelector('.leaf').getBoundingClientRect()})
      draw(joins.filter(([one, two]) => rows.has(one) && rows.has(two)).map(([one, two]) => curve(frame, rows.get(one), rows.get(two))).join(''))
    }
    join()
    const look = new ResizeObserver(join)
    look.observe(box.current)
    return () => look.disconnect()
  }, [found])
  if (!found) return html`<${Failure} of=${failure} />${!failure && html`<${Still} />`}`
  if (!found.paths.length) return html`<${Empty}><h2>No path is held</h2><p class="dim">Files that an agent edits are held by it as it begins; <code>clearway claim src/ --purpose "…"</code> holds more.</p><//>`
  const both = also.size, branch = new Map(found.checkouts.map(each => [each.checkout, each.branch || each.root]))
  const places = new Map(found.paths.map((held, n) => [held, n]))
  return html`${both ? html`<p class="dim">${plural(both, 'path')} in more than one checkout, joined by a line: the branches will have to be merged there.</p>` : null}<div class="map-all" ref=${box}><svg aria-hidden="true">${lines && html`<path class="join" d=${lines} />`}</svg>
    ${found.checkouts.map(each => html`<section class="checkout" key=${each.checkout} aria-label=${each.root}><header><b>${each.checkout === '@' ? 'named resources' : each.root}</b> ${each.branch && html`<span class="chip">${each.branch}</span>`} ${each.host && new Set(found.checkouts.map(one => one.host)).size > 1 ? html`<span class="dim">${each.host}</span>` : ''}</header>
      <ul class="tree" data-list="map">${tree(found.paths.filter(held => held.checkout === each.checkout)).map(row => row.folder ? html`<li class="folder" style=${{'--deep': row.deep}} key=${'f' + row.deep + row.folder}>${row.folder}</li>`
        : html`<${Row} row=${row} also=${(also.get(places.get(row.held)) || []).map(n => found.paths[n])} branch=${branch} place=${places.get(row.held)} key=${row.held.path + row.held.session + row.held.mode} />`)}</ul></section>`)}</div>`
}

// A held path. That it is held elsewhere, too, stands beside it in words, for whoever sees no line.
function Row({row: {held, name, deep}, also, branch, place}) {
  return html`<li class=${also.length ? 'shared' : ''} style=${{'--deep': deep}} data-held=${also.length ? place : undefined}><span class="leaf"><a class="path" data-item href=${href({panel: ['path', held.path]})}>${name}</a></span><${Agent} agent=${held.agent} session=${held.session} />${also.length ? html`<span class="also" title=${also.map(each => `${each.path} in ${branch.get(each.checkout)}, by ${who(each.agent, each.session)}`).join('\n')}>⋈ ${[...new Set(also.map(each => branch.get(each.checkout)))].join(', ')}<span class="hidden">, too, by ${also.map(each => who(each.agent, each.session)).join(', ')}</span></span>` : null}
    <span class="purpose">${held.mode === 'run' ? 'a run · ' : ''}${held.purpose}</span>${held.until && html`<${Lease} until=${held.until} seconds=${held.lease_seconds} />`}</li>`
}

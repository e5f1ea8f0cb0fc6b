// Markdown as nodes of the page. Text never becomes HTML: what is not understood here stays text, nothing is loaded, and
// only links to http, https and mailto lead anywhere. One pass over the lines, one over each line; depth is bounded.
import {html} from './vdom.mjs'
import {Issue} from './marks.mjs'

const CHARS_MAX = 100000, DEPTH_MAX = 6, INLINE_MAX = 8000
const SAFE = /^(https?:\/\/|mailto:)[^\s<>"'`\\]+$/i

export function Markdown({text}) {
  if (!text) return null
  const shown = String(text).slice(0, CHARS_MAX)
  return html`<div class="md">${blocks(shown.replace(/\r\n?/g, '\n').split('\n'), 0)}${text.length > CHARS_MAX && html`<p class="dim">… ${text.length - CHARS_MAX} more characters</p>`}</div>`
}

const FENCE = /^ {0,3}(```+|~~~+)\s*([\w+#.-]*)/, HEAD = /^ {0,3}(#{1,6})\s+(.*)$/, RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/, QUOTE = /^ {0,3}>\s?/, TABLE = /^[\s:|-]+$/
const UNDER = /^ {0,3}(=+|-{2,})\s*$/, INDENTED = /^(?: {4}|\t)/
const isTable = (lines, n) => lines[n].includes('|') && n + 1 < lines.length && lines[n + 1].includes('|') && lines[n + 1].includes('-') && TABLE.test(lines[n + 1])
const code = body => html`<pre tabindex="0"><code>${body.join('\n')}</code></pre>`

// A heading without the signs that close it. No expression looks for them: it would begin anew at each of many.
function unclosed(heading) {
  let end = heading.length
  while (end && heading[end - 1] === '#') end--
  return (!end || /\s/.test(heading[end - 1]) ? heading.slice(0, end) : heading).trim()
}

function blocks(lines, depth) {
  const found = []
  let n = 0
  while (n < lines.length) {
    const line = lines[n]
    let m
    if (!line.trim()) { n++; continue }
    if ((m = FENCE.exec(line))) {
      const body = []
      for (n++; n < lines.length && !lines[n].trim().startsWith(m[1]); n++) body.push(lines[n])
      n++
      found.push(code(body))
    } else if (INDENTED.test(line)) {
      const body = []
      for (; n < lines.length && (INDENTED.test(lines[n]) || !lines[n].trim()); n++) body.push(lines[n].replace(INDENTED, ''))
      while (!body.at(-1).trim()) body.pop()
      found.push(code(body))
    } else if ((m = HEAD.exec(line))) {
      const Name = `h${Math.min(6, m[1].length + 2)}`
      found.push(html`<${Name}>${inline(unclosed(m[2]))}<//>`)
      n++
    } else if (RULE.test(line)) {
      found.push(html`<hr />`)
      n++
    } else if (QUOTE.test(line) && depth < DEPTH_MAX) {
      const body = []
      for (; n < lines.length && QUOTE.test(lines[n]); n++) body.push(lines[n].replace(QUOTE, ''))
      found.push(html`<blockquote>${blocks(body, depth + 1)}</blockquote>`)
    } else if (ITEM.test(line) && depth < DEPTH_MAX) {
      const [list, next] = listed(lines, n, depth)
      found.push(list)
      n = next
    } else if (isTable(lines, n)) {
      const rows = [], head = cells(line), sides = cells(lines[n + 1]).map(cell => cell.endsWith(':') ? cell.startsWith(':') ? 'middle' : 'right' : undefined)
      for (n += 2; n < lines.length && lines[n].includes('|') && lines[n].trim(); n++) rows.push(cells(lines[n]))
      found.push(html`<div class="scroll" tabindex="0"><table><thead><tr>${head.map((cell, k) => html`<th class=${sides[k]}>${inline(cell)}</th>`)}</tr></thead><tbody>${rows.map(row => html`<tr>${head.map((_, k) => html`<td class=${sides[k]}>${inline(row[k] || '')}</td>`)}</tr>`)}</tbody></table></div>`)
    } else {
      const body = []
      do body.push(lines[n++]); while (n < lines.length && lines[n].trim() && !FENCE.test(lines[n]) && !HEAD.test(lines[n]) && !UNDER.test(lines[n]) && !RULE.test(lines[n]) && !isTable(lines, n) && (depth >= DEPTH_MAX || !ITEM.test(lines[n]) && !QUOTE.test(lines[n])))
      if (body.length === 1 && n < lines.length && (m = UNDER.exec(lines[n]))) {
        const Name = m[1][0] === '=' ? 'h3' : 'h4'
        n++
        found.push(html`<${Name}>${inline(body[0].trim())}<//>`)
        continue
      }
      found.push(html`<p>${body.flatMap((each, k) => k ? [html`<br />`, ...inline(each)] : inline(each))}</p>`)
    }
  }
  return found
}

// A bar that is escaped, or stands in code, divides no cells.
const cells = line => line.trim().replace(/^\||(?<!\\)\|$/g, '').match(/(?:\\.|`[^`]*`|[^|\\`]|[\\`])+|(?<=\||^)(?=\||$)/g)?.map(cell => cell.trim().replaceAll('\\|', '|')) || ['']

function listed(lines, n, depth) {
  const first = ITEM.exec(lines[n]), margin = first[1].length, ordered = /\d/.test(first[2])
  const items = []
  while (n < lines.length) {
    const m = ITEM.exec(lines[n])
    if (!m || m[1].length > margin + 1 || m[1].length < margin || /\d/.test(m[2]) !== ordered) break
    const body = [m[3]], inside = margin + m[2].length + 1
    for (n++; n < lines.length; n++) {
      const blank = !lines[n].trim(), deep = /^\s*/.exec(lines[n])[0].length
      if (blank && (n + 1 >= lines.length || /^\s*/.exec(lines[n + 1])[0].length <= margin)) break
      if (!blank && deep <= margin) break
      body.push(lines[n].slice(Math.min(deep, inside)))
    }
    while (n < lines.length && !lines[n].trim()) n++
    const task = /^\[([ xX])\]\s+/.exec(body[0])
    if (task) body[0] = body[0].slice(task[0].length)
    const inner = body.length === 1 ? inline(body[0]) : blocks(body, depth + 1)
    items.push(task ? html`<li class="task">${task[1] === ' ' ? '☐' : '☑'}<span class="hidden">${task[1] === ' ' ? ' to do' : ' done'}</span> ${inner}</li>` : html`<li>${inner}</li>`)
  }
  return [ordered ? html`<ol start=${parseInt(first[2], 10)}>${items}</ol>` : html`<ul>${items}</ul>`, n]
}

// Where the address of a link ends: brackets in it come in pairs.
function closing(text, at) {
  for (let n = at, deep = 0; n < text.length && n < at + 2000; n++) {
    if (text[n] === '(') deep++
    else if (text[n] === ')' && !--deep) return n
  }
  return -1
}

const MARKS = [['**', 'strong'], ['__', 'strong'], ['~~', 's'], ['*', 'em'], ['_', 'em']]
const AUTO = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i
const BARE = /^https?:\/\/[^\s<>"'`\\]*[^\s<>"'`\\.,;:!?)\]}]/i, REFERENCE = /^[A-Z][A-Z0-9]{0,9}-\d{1,9}(?![\w-])/

function inline(text, depth = 0) {
  if (text.length > INLINE_MAX) return [...inline(text.slice(0, INLINE_MAX), depth), text.slice(INLINE_MAX)]
  const found = []
  let plain = ''
  const flush = () => { if (plain) found.push(plain); plain = '' }
  for (let n = 0; n < text.length;) {
    const letter = text[n]
    if (letter === '\\' && n + 1 < text.length && /[!-/:-@[-`{-~]/.test(text[n + 1])) { plain += text[n + 1]; n += 2; continue }
    if (letter === '`') {
      const ticks = /^`+/.exec(text.slice(n))[0], end = text.indexOf(ticks, n + ticks.length)
      if (end > 0) { flush(); found.push(html`<code>${text.slice(n + ticks.length, end)}</code>`); n = end + ticks.length; continue }
      plain += ticks; n += ticks.length; continue
    }
    if (letter === '<') {
      const m = AUTO.exec(text.slice(n, n + 2000))
      if (m && SAFE.test(m[1])) { flush(); found.push(link(m[1], m[1].replace(/^mailto:/i, ''))); n += m[0].length; continue }
    }
    if (letter === '[' || letter === '!' && text[n + 1] === '[') {
      const at = letter === '!' ? n + 1 : n, close = text.indexOf(']', at), end = close > 0 && text[close + 1] === '(' ? closing(text, close + 1) : -1
      if (end > 0 && close - at < 500) {
        const target = text.slice(close + 2, end).trim().split(/\s/)[0], words = text.slice(at + 1, close)
        flush()
        found.push(SAFE.test(target) ? link(target, words || target) : words || target)
        n = end + 1; continue
      }
    }
    if (letter === 'h' && (n === 0 || !/\w/.test(text[n - 1]))) {
      const m = BARE.exec(text.slice(n, n + 2000))
      if (m) { flush(); found.push(link(m[0], m[0])); n += m[0].length; continue }
    }
    if (letter >= 'A' && letter <= 'Z' && (n === 0 || !/[\w-]/.test(text[n - 1]))) {
      const m = REFERENCE.exec(text.slice(n, n + 24))
      if (m) { flush(); found.push(html`<${Issue} id=${m[0]} />`); n += m[0].length; continue }
    }
    const mark = depth < DEPTH_MAX && MARKS.find(([sign]) => text.startsWith(sign, n))
    if (mark) {
      const [sign, Name] = mark, end = text.indexOf(sign, n + sign.length)
      const opens = text[n + sign.length] && !/\s/.test(text[n + sign.length]) && !(sign.startsWith('_') && n > 0 && /\w/.test(text[n - 1]))
      if (opens && end > n + sign.length && !/\s/.test(text[end - 1])) { flush(); found.push(html`<${Name}>${inline(text.slice(n + sign.length, end), depth + 1)}<//>`); n = end + sign.length; continue }
      plain += sign; n += sign.length; continue
    }
    plain += letter
    n++
  }
  flush()
  return found
}
const link = (target, words) => html`<a href=${target} target="_blank" rel="noopener noreferrer nofollow" title=${target}>${words}</a>`

// Inside an editor the page has no network, no cookie and no key: what it asks goes as a message to the editor's
// extension, which holds the session and asks the host in its stead. In a browser nothing of this is used.
const editor = globalThis.acquireVsCodeApi?.()
export const inside = Boolean(editor)

const PATHS = /^\/(?:ask\/([a-z_]+)|rooms|events)$/
const waiting = new Map() // number of a question -> what is done with the messages that answer it
let asked = Math.floor(Math.random() * 2 ** 30) // other numbers than those of the page that was in this frame before

// As `fetch` does it, for the few addresses that the page asks.
export function carried(path, {headers = {}, body, signal} = {}) {
  const [known, operation] = PATHS.exec(path) || []
  if (!known) return Promise.reject(new TypeError(`${path} is not asked from here`))
  const id = ++asked, verb = operation ? 'ask' : known.slice(1)
  return new Promise((answer, refuse) => {
    let stream = null
    const stop = () => {
      const why = new DOMException('It was stopped.', 'AbortError')
      if (waiting.delete(id)) editor.postMessage({id, verb: 'stop'})
      if (stream) try { stream.error(why) } catch { /* it had ended */ }
      refuse(why)
    }
    if (signal?.aborted) return stop()
    signal?.addEventListener('abort', stop, {once: true})
    waiting.set(id, said => {
      if ('part' in said) return stream?.enqueue(new TextEncoder().encode(said.part))
      if (said.begun) return answer(new Response(new ReadableStream({start: made => { stream = made }, cancel: stop})))
      waiting.delete(id)
      signal?.removeEventListener('abort', stop)
      if (stream) stream.close()
      else if (said.status) answer(new Response(said.body, {status: said.status}))
      else refuse(new TypeError('The host does not answer.'))
    })
    editor.postMessage({
      id, verb, room: headers['Clearway-Room'],
      ...(operation && {operation, given: JSON.parse(body)}),
      ...(verb === 'events' && {since: Number(headers['Last-Event-ID'])}),
    })
  })
}

// A frame that loads itself again would be empty: the extension fills it.
export const again = () => inside ? editor.postMessage({verb: 'again'}) : location.reload()

// Tell the extension that the page can be led, and go where it says.
const led = []
export function lead(go) {
  led.push(go)
  editor?.postMessage({verb: 'here'})
}

function dress() {
  const looks = document.body.classList, high = looks.contains('vscode-high-contrast')
  const dark = looks.contains('vscode-dark') || (high && !looks.contains('vscode-high-contrast-light'))
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

if (inside) {
  addEventListener('message', ({data, origin}) => {
    if (origin !== location.origin || !data) return
    if (data.go) for (const go of led) go(data.go)
    else waiting.get(data.id)?.(data)
  })
  // The editor takes every click on a link for itself, so the page follows its own before that.
  document.addEventListener('click', event => {
    const to = event.target.closest?.('a')?.getAttribute('href')
    if (!to?.startsWith('#/') || event.defaultPrevented) return
    event.preventDefault()
    location.hash = to
  })
  const kept = editor.getState()?.place
  if (kept?.startsWith('#/')) history.replaceState(null, '', kept)
  addEventListener('hashchange', () => editor.setState({place: location.hash}))
  new MutationObserver(dress).observe(document.body, {attributes: true, attributeFilter: ['class']})
  dress()
}

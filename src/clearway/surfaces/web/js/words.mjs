// Words for times, agents and events. Nothing here draws.
import {useState, useEffect} from './vdom.mjs'

const clock = new Intl.DateTimeFormat([], {hour: '2-digit', minute: '2-digit', hourCycle: 'h23'})
const exactly = new Intl.DateTimeFormat([], {dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23'})
const day = new Intl.DateTimeFormat([], {month: 'short', day: 'numeric'})

export const exact = iso => iso ? exactly.format(new Date(iso)) : ''
export const inUtc = iso => new Date(iso).toISOString().replace(/\.\d+/, '')
export function hour(iso) {
  const at = new Date(iso)
  return Date.now() - at < 20 * 3600e3 ? clock.format(at) : day.format(at)
}

// The full hour, or the day, in which something happened: what divides a list of what one agent did.
export function stretch(iso) {
  const said = hour(iso)
  return said.includes(':') ? said.slice(0, 3) + '00' : said
}

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.round(s / 60)} min`
  if (s < 48 * 3600) return `${Math.round(s / 3600)} h`
  return `${Math.round(s / 86400)} days`
}
export const age = iso => span(Date.now() - Date.parse(iso))
export const left = iso => span(Date.parse(iso) - Date.now())
export const plural = (n, one, many = one + 's') => `${n} ${n === 1 ? one : many}`
export const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text

const ticks = new Map()
// Draw again every so many milliseconds, all of that pace together.
export function useTick(ms) {
  const [, draw] = useState(0)
  useEffect(() => {
    let tick = ticks.get(ms)
    if (!tick) {
      tick = new Set()
      ticks.set(ms, tick)
      setInterval(() => { if (document.visibilityState === 'visible') for (const each of tick) each() }, ms)
    }
    const again = () => draw(n => n + 1)
    tick.add(again)
    return () => tick.delete(again)
  }, [ms])
}

// --- agents -----------------------------------------------------------------------------------------------------------

// Hues away from red, amber, green and the violet of reviews, whose meanings are taken.
const HUES = [205, 318, 182, 235, 300, 192, 335, 218, 285, 172]
const NAMED = {'claude-code': 'claude'}
export const nick = agent => NAMED[agent] || agent
// A sentence of the room's, with the names that this page uses everywhere; a path in it stays what it is.
const CALLED = Object.keys(NAMED).map(name => [new RegExp(String.raw`(?<![\w./-])${name}(?![\w/-]|\.\w)`, 'g'), NAMED[name]])
export const renamed = text => CALLED.reduce((said, [name, nick]) => said.replace(name, nick), text)
// The hue that a session's id leads to, or the next that no other session of this page has.
const hues = new Map()
export function hue(session) {
  const key = session || ''
  if (!hues.has(key)) {
    let sum = 7
    for (const letter of key) sum = (sum * 33 + letter.codePointAt(0)) >>> 0
    const taken = new Set([...hues.values()].slice(-HUES.length + 1))
    let at = sum % HUES.length
    while (taken.has(HUES[at])) at = (at + 1) % HUES.length
    hues.set(key, HUES[at])
  }
  return hues.get(key)
}
const SHORT = {codex: 'CX', copilot: 'CP', opencode: 'OC', 'claude-code': 'CL', human: 'ME'}
export const initials = agent => SHORT[agent] || (nick(agent).match(/[\p{L}\p{N}]/gu) || ['?']).slice(0, 2).join('').toUpperCase()
// The part of a session that tells it from others: its end, where it begins with a time that all of a day share.
const TIMED = /^(mcp-|ses_|[0-9a-f]{8}-[0-9a-f]{4}-7)/
export function tail(session, agent) {
  if (!session || session === agent || session.startsWith('=')) return ''
  return TIMED.test(session) ? session.slice(-4) : session.replace(agent + '-', '').slice(0, 4)
}
export const who = (agent, session) => tail(session, agent) ? `${nick(agent)}#${tail(session, agent)}` : nick(agent)

// --- statuses ---------------------------------------------------------------------------------------------------------

export const COLUMNS = {open: 'Open', ready: 'Ready', live: 'Live', blocked: 'Blocked', review: 'Review', done: 'Done'}
export const kindOf = issue => {
  const status = issue.effective_status || issue.status
  if (status === 'in_progress') return 'live'
  if (status === 'cancelled') return 'done'
  if (issue.open_blockers && (status === 'ready' || status === 'review')) return 'blocked'
  return status
}
export const number = display => display.slice(display.lastIndexOf('-') + 1)
export const PRESENCE = {busy: 'in a turn', idle: 'idle', stalled: 'in a turn, but silent', offline: 'not heard of', limited: 'limited by its provider'}

// --- events -----------------------------------------------------------------------------------------------------------
// An event as parts of a sentence: text, {issue}, {path}, {agent}, {message}, {quote}. Beside it, how loud it is.

const listed = paths => (paths || []).slice(0, 3).map(each => ({path: each.path ?? each})).flatMap((part, n) => n ? [', ', part] : [part])
const more = paths => (paths || []).length > 3 ? [` and ${paths.length - 3} more`] : []
const issue = event => event.display_id ? {issue: event.display_id} : 'an issue'
// Why, without the name that stands before it as a link. Whoever is in the way is named as everywhere else; what was said of
// the end of the lease is left out, since it was renewed since or is over.
const WAYS = {PATH_HELD: [': held by ', ' is held by '], ACTIVE_ATTEMPT_EXISTS: [': in the hands of ', ' is being worked on by '], ISSUE_RESERVED: [': kept for ', ' is kept for ']}
export function reason({code, subject, message = '', holder, holder_session}) {
  const [way, sign] = WAYS[code] || []
  if (holder && message.includes(sign)) {
    const purpose = / for "(.*)" until /.exec(message)?.[1]
    return [way, {agent: holder, session: holder_session}, purpose && purpose !== 'editing' ? `, “${purpose}”` : '']
  }
  const named = `${subject} is `
  return [{dim: renamed(message.startsWith(named) ? `: ${message.slice(named.length)}` : ` ${message}`)}]
}

const TOLD = {
  issue_created: e => ['wrote ', issue(e), ' ', {quote: e.data.title}],
  issue_updated: e => ['changed ', (e.data.changed_fields || ['it']).join(', ').replaceAll('_', ' '), ' of ', issue(e)],
  labels_changed: e => ['changed the labels of ', issue(e)],
  status_changed: e => ['put ', issue(e), ` to ${e.data.status}`],
  issue_archived: e => ['put away ', issue(e)],
  issue_unarchived: e => ['brought back ', issue(e)],
  attempt_started: e => [e.data.kind === 'review' ? 'reviews ' : 'took ', issue(e)],
  attempt_completed: e => ['completed ', issue(e), e.data.target ? ` → ${e.data.target}` : ''],
  attempt_failed: e => ['failed at ', issue(e)],
  attempt_interrupted: e => ['gave back ', issue(e)],
  attempt_expired: e => ['lost ', issue(e), e.data.why === 'death' ? ': its client has ended' : ': its lease lapsed'],
  attempt_adopted: e => ['goes on with ', issue(e)],
  attempt_note_saved: e => [`left a ${e.data.kind || 'note'} on `, issue(e)],
  checkpoint_saved: e => [e.data.automatic ? 'automatic checkpoint on ' : 'checkpoint on ', issue(e)],
  comment_added: e => ['commented on ', issue(e)],
  commit_made: e => ['committed for ', issue(e)],
  decision_recorded: e => ['decided ', {quote: e.data.title}, ...(e.display_id ? [' for ', issue(e)] : [])],
  review_requested: e => ['asks for a review of ', issue(e)],
  review_claimed: e => ['reviews ', issue(e)],
  review_approved: e => ['approved ', issue(e)],
  review_changes_requested: e => ['wants changes in ', issue(e)],
  review_blocked: e => ['could not review ', issue(e)],
  review_cancelled: e => ['withdrew the review of ', issue(e)],
  review_superseded: e => ['the review of ', issue(e), ' is out of date'],
  review_reopened: e => ['the review of ', issue(e), ' is open again'],
  relation_added: e => ['linked ', issue(e)],
  relation_removed: e => ['unlinked ', issue(e)],
  paths_claimed: e => [e.data.mode === 'run' ? 'runs over ' : 'holds ', ...listed(e.data.paths), ...more(e.data.paths)],
  paths_released: e => [{lapse: 'let lapse ', forced: 'had to give back ', death: 'lost '}[e.data.why] || 'gave back ', ...listed(e.data.paths), ...more(e.data.paths)],
  refused: e => ['was refused ', e.data.subject?.startsWith('ISSUE-') ? {issue: e.data.subject} : e.data.subject ? {path: e.data.subject} : e.data.code, ...reason(e.data)],
  overlap_noted: e => ['works on the same in two checkouts: ', ...listed(e.data.paths)],
  path_leaked: e => ['changed what another holds: ', ...listed(e.data.paths)],
  path_changed_outside: e => ['a held file was changed from outside: ', ...listed(e.data.paths)],
  path_restored: e => ['brought back ', ...listed(e.data.paths)],
  work_rescued: e => ['the work of others was saved before a command: ', ...listed(e.data.paths)],
  commit_over_lease: e => ['committed what others hold: ', ...listed(e.data.paths)],
  message_sent: e => [e.data.kind === 'task' ? 'gave a task to ' : 'wrote to ', {agent: e.data.to}, ' ', {message: e.id}],
  message_seen: e => ['has seen ', {message: e.data.message}],
  message_taken: e => ['takes ', {message: e.data.message}],
  message_undeliverable: e => [{message: e.data.message}, ' could not be delivered'],
  message_released: e => ['let ', {message: e.data.message}, ' through'],
  task_leased: e => ['accepted task ', {message: e.data.task}],
  task_started: e => ['began task ', {message: e.data.task}],
  task_ended: e => [`ended task `, {message: e.data.task}, `: ${e.data.state}`],
  task_lapsed: e => ['lost task ', {message: e.data.task}],
  task_cancelled: e => ['took back task ', {message: e.data.task}],
  task_retried: e => ['asks again for task ', {message: e.data.task}],
  session_started: () => ['came in'],
  session_ended: e => [e.data.why === 'moved' ? 'went on under another session' : 'left'],
  session_continued: () => ['goes on with an earlier session'],
  agent_retired: e => ['took ', {agent: e.data.name}, ' off the list'],
  guard_paused: () => ['switched the guard off'],
  guard_resumed: () => ['switched the guard on'],
  attempt_stuck: e => ['seems stuck on ', issue(e)],
  command_classified: e => ['was refused a command: ', {quote: e.data.command}, {dim: ` ${e.data.reason || ''}`}],
  issue_imported: e => ['brought in ', issue(e)],
  issue_retried: e => ['gives ', issue(e), ' another try'],
  label_described: e => [`said what the label ${e.data.name} stands for`],
  label_renamed: e => [`renamed the label ${e.data.was} to ${e.data.name}`],
  limit_reported: e => e.data.limited && e.data.limited !== e.agent ? ['heard that ', {agent: e.data.limited}, ' is at its limit'] : ['is at its limit'],
  limit_cleared: e => [{agent: e.data.limited}, ' has left its limit behind'],
  project_updated: e => ['changed ', (e.data.changed_fields || ['it']).join(', ').replaceAll('_', ' '), ' of the project'],
  task_adopted: e => ['goes on with task ', {message: e.data.task}],
  task_expired: e => ['task ', {message: e.data.task}, ' is given to nobody any more'],
  task_given_back: e => ['gave back task ', {message: e.data.task}],
  task_moved: e => ['moved task ', {message: e.data.task}, ' from ', {agent: e.data.source}, ' to ', {agent: e.data.to}],
  failover_activated: () => ['lets tasks move on when an agent is at its limit'],
  worker_activated: e => ['lets ', {agent: e.data.worker}, ' take what is ready'],
  late_result: () => ['had a result that came too late'],
  setting_changed: e => [`set ${e.data.name} to ${e.data.value ?? 'its default'}`],
}
const LOUD = /^(refused|command_classified|path_leaked|path_changed_outside|commit_over_lease|attempt_failed|review_blocked|message_undeliverable)$/
const FADING = /^(attempt_expired|attempt_stuck|limit_reported|task_expired|task_lapsed|overlap_noted|work_rescued|guard_paused|review_superseded|review_reopened)$/
const GOOD = /^(attempt_completed|review_approved|path_restored|guard_resumed)$/
const QUIET = /^(message_seen|attempt_adopted|label_described|issue_updated|labels_changed)$/

export function told(event) {
  const say = TOLD[event.type]
  return say ? say(event) : [event.type.replaceAll('_', ' '), ...(event.display_id ? [' ', issue(event)] : [])]
}
// The same in words alone, for whoever hears the page.
const word = part => typeof part === 'string' ? part : part.issue || part.path || (part.agent ? part.agent === '*' ? 'everybody' : who(part.agent, part.session) : part.message ? `message ${part.message}` : part.quote || part.dim || '')
export const inWords = event => told(event).map(word).join('').replace(/\s+/g, ' ').trim()
export const spoken = event => `${event.agent === 'clearway' ? 'the room' : who(event.agent, event.session)} ${inWords(event)}`
export const loudness = event => LOUD.test(event.type) ? 'loud' : FADING.test(event.type) || (event.type === 'paths_released' && /lapse|death|forced/.test(event.data.why)) ? 'fading' : GOOD.test(event.type) ? 'good' : QUIET.test(event.type) ? 'quiet' : ''

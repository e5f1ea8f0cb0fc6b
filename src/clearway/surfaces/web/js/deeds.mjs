// What the human does, each in one place: the operation, and the sentence that is said when it is done.
import {ask} from './wire.mjs'
import {touch, state} from './store.mjs'
import {who, nick} from './words.mjs'

const key = () => crypto.randomUUID?.() || String(Math.random())
export async function done(promise, sentence, ...slices) {
  const reply = await promise
  touch(...slices)
  return typeof sentence === 'function' ? sentence(reply) : sentence
}
const version = async id => (await ask('get_issue', {issue_id: id})).version

export const createIssue = given => done(ask('create_issue', {...given, idempotency_key: key()}), reply => reply, 'board')
export const changeIssue = (id, expected_version, changes) => done(ask('update_issue', {issue_id: id, expected_version, changes}), `${id} is changed.`, 'board')
export const setStatus = async (id, status, reason) => done(ask('update_issue', {issue_id: id, expected_version: await version(id), changes: {status, ...(status === 'blocked' && {blocked_reason: reason})}}), `${id} is ${status} now.`, 'board')
export const retryIssue = (id, content) => done(ask('retry_issue', {issue_id: id, ...(content && {content})}), `${id} may be tried again.`, 'board')
export const archive = async (id, archived = true) => done(ask('archive_issue', {issue_id: id, expected_version: await version(id), archived}), archived ? `${id} is put away.` : `${id} is back.`, 'board')
export const comment = (id, content) => done(ask('add_comment', {issue_id: id, content, idempotency_key: key()}), `Said on ${id}.`)
export const decide = given => done(ask('record_decision', {...given, idempotency_key: key()}), 'Recorded; it stands in every work context from now on.')
export const releaseAttempt = (attempt, id, holder) => done(ask('release_attempt', {attempt_id: attempt}), `${id} was taken from ${nick(holder)}; its notes stay.`, 'board', 'holdings', 'roster')
export async function reassign(id, attempt, agent) {
  if (attempt) await ask('release_attempt', {attempt_id: attempt})
  const at = await ask('get_issue', {issue_id: id})
  await ask('update_issue', {issue_id: id, expected_version: at.version, changes: {reserved_for: agent, ...(at.status === 'open' && {status: 'ready'})}})
  touch('board', 'holdings', 'roster')
  return `${id} is kept for ${agent}, for a day.`
}
export async function releasePath(held) {
  const root = state.holdings?.checkouts.find(each => each.checkout === held.checkout)?.root || state.room.folder
  const path = held.path.startsWith('@') ? held.path : `${root}/${held.path === '.' ? '' : held.path}`
  const reply = await ask('release_paths', {paths: [path], force: true})
  touch('holdings', 'roster')
  return reply.released.length ? `${held.path} is free; the next edit of ${who(held.agent, held.session)} asks for it again.` : `${held.path} was free already.`
}
export const acceptMessage = message => done(ask('accept_message', {message_id: message.message_id}), `${nick(message.from)} is told that you take it.`, 'roster', 'overdue')
export const passMessage = message => done(ask('release_message', {message_id: message.message_id}), `#${message.message_id} goes to ${nick(message.to)}.`, 'roster', 'overdue')
export const send = given => done(ask('send_message', {...given, idempotency_key: key()}), reply => reply, 'roster', 'tasks')
export const retryTask = task => done(ask('retry_task', {task_id: task.task_id}), `${nick(task.to)} is asked again for #${task.task_id}.`, 'tasks')
export const cancelTask = task => done(ask('cancel_task', {task_id: task.task_id}), `#${task.task_id} is taken back from ${nick(task.agent || task.to)}.`, 'tasks')
export const retire = name => done(ask('retire_agent', {name}), reply => `${plural(reply.retired.length)} of ${name} taken off the list.`, 'roster')
const plural = n => `${n} session${n === 1 ? '' : 's'}`

// A person's review: the request is claimed as work is, and ends with a word.
export async function review(request, outcome, words) {
  const taken = await ask('claim_issue', {review_request_id: request, kind: 'review', context: false, idempotency_key: key()})
  try {
    const given = {attempt_id: taken.attempt_id, lease_token: taken.lease_token, outcome: 'completed', review_outcome: outcome, result_summary: words}
    await ask('finish_attempt', {...given, idempotency_key: key()})
  } catch (refused) {
    await ask('release_attempt', {attempt_id: taken.attempt_id}).catch(() => {})
    throw refused
  } finally { touch('board', 'roster') }
  return outcome === 'approved' ? `${taken.display_id} is approved.` : `${taken.display_id} goes back: ${outcome.replace('_', ' ')}.`
}
export const askReview = id => done(ask('create_review_request', {issue_id: id}), `A review of ${id} is asked for.`, 'board')
export const link = (source, target, type, action = 'add') => done(ask('manage_issue_relation', {source_issue_id: source, target_issue_id: target, relation_type: type, action, idempotency_key: key()}), action === 'add' ? `${source} ${type.replace('_', ' ')} ${target}.` : 'The link is gone.', 'board')

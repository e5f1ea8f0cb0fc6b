-- What was over first is told first, by both engines.
-- name: paths_due
SELECT l.id, l.session, l.agent, l.shown, l.checkout, l.fence, l.expires_at, l.lease_ms, s.named, s.beat_at, s.ended_at
FROM path_lease l JOIN session s ON s.id = l.session
WHERE l.expires_at <= :now ORDER BY l.expires_at, l.fence

-- name: attempts_due
SELECT a.id, a.issue, a.session, a.agent, a.fence, a.expires_at, a.lease_ms, a.acted_at, a.warned_at, a.warned_why,
  a.carried_to, s.named, s.beat_at, s.ended_at
FROM attempt a JOIN session s ON s.id = a.session
WHERE a.status = 'active' AND a.expires_at <= :now ORDER BY a.expires_at, a.fence

-- The one that the session claimed or acted on last.
-- name: current_attempt
SELECT id, issue, session, agent, fence, lease_ms, warned_at, carried_to, started_wall FROM live_attempt
WHERE session = :session AND instr(:gone, id) = 0 ORDER BY acted_at DESC, id DESC LIMIT 1

-- name: warn
UPDATE attempt SET warned_at = :now, warned_why = :why, carried_to = :to WHERE id = :id

-- name: unwarn
UPDATE attempt SET warned_at = NULL, warned_why = NULL, carried_to = NULL WHERE id = :id

-- name: tasks_due
SELECT l.fence AS id, l.task, l.session, l.agent, l.started, l.expires_at, l.lease_ms, l.acted_at, t.lapses,
  t.lapses_max, s.named, s.beat_at, s.ended_at, s.in_turn, s.pid
FROM task_lease l JOIN task t ON t.id = l.task JOIN session s ON s.id = l.session
WHERE l.status = 'held' AND l.expires_at <= :now ORDER BY l.expires_at, l.fence

-- Those whose process is to be watched: the open ones, and those that left with an issue or a task in hand.
-- name: with_process
SELECT s.id AS session, s.agent, s.host, s.boot, s.pidns, s.pid, s.started, s.ended_at FROM session s
WHERE s.pid IS NOT NULL
  AND (s.ended_at IS NULL OR EXISTS (SELECT 1 FROM attempt a WHERE a.session = s.id AND a.status = 'active')
    OR EXISTS (SELECT 1 FROM task_lease t WHERE t.session = s.id AND t.status = 'held'))

-- name: paths_of
SELECT id, session, agent, shown, checkout, fence FROM path_lease WHERE session = :session

-- name: paths_for_attempt
SELECT id, session, agent, shown, checkout, fence FROM path_lease WHERE attempt = :attempt

-- name: attempts_of
SELECT a.id, a.issue, a.session, a.agent, a.fence, s.named, s.beat_at, s.ended_at
FROM attempt a JOIN session s ON s.id = a.session
WHERE a.session = :session AND a.status = 'active'

-- name: tasks_of
SELECT l.fence AS id, l.task, l.session, l.agent, t.lapses, t.lapses_max FROM task_lease l JOIN task t ON t.id = l.task
WHERE l.session = :session AND l.status = 'held'

-- name: carry_path
UPDATE path_lease SET expires_at = :until WHERE id = :id

-- name: carry_attempt
UPDATE attempt SET expires_at = :until WHERE id = :id

-- name: carry_task
UPDATE task_lease SET expires_at = :until WHERE fence = :id

-- name: remove_path
DELETE FROM path_lease WHERE id = :id

-- name: expire
UPDATE attempt SET status = 'expired', finished_wall = :wall WHERE id = :id AND status = 'active'

-- name: claimed_review
SELECT id FROM review_request WHERE attempt = :attempt AND status = 'claimed'

-- name: reopen_review
UPDATE review_request SET status = 'open', attempt = NULL, version = version + 1 WHERE id = :id

-- name: lapse_task
UPDATE task_lease SET status = 'lapsed', ended_wall = :wall WHERE fence = :fence AND status = 'held'

-- name: return_task
UPDATE task SET lapses = lapses + 1, state = CASE WHEN lapses + 1 < lapses_max THEN 'pending' ELSE 'dead_letter' END
WHERE id = :id

-- name: return_message
UPDATE message SET state = 'seen', taken_by = NULL, note = NULL WHERE id = :id AND state = 'taking'

-- The process of a session that is over, with nothing in hand, is nobody's business any more.
-- name: end_session
UPDATE session SET ended_at = :now, ended_why = :why, in_turn = 0, doing = NULL,
  pid = CASE WHEN EXISTS (SELECT 1 FROM attempt WHERE session = :id AND status = 'active')
    OR EXISTS (SELECT 1 FROM task_lease WHERE session = :id AND status = 'held') THEN pid END
WHERE id = :id

-- name: forget_process
UPDATE session SET pid = NULL WHERE id = :id

-- name: process_of
SELECT host, boot, pidns, pid, started, ended_at, call_at FROM session WHERE id = :session

-- name: last_note
SELECT kind, content FROM attempt_note WHERE attempt = :attempt ORDER BY id DESC LIMIT 1

-- name: newest_note
SELECT max(own.id) AS id FROM (SELECT max(id) AS id FROM attempt_note WHERE attempt = :attempt
  UNION ALL SELECT max(id) FROM attempt_note WHERE issue = :issue AND kind = :kind) own

-- name: leave_note
INSERT INTO attempt_note (id, attempt, issue, kind, content, important, automatic, created_wall)
VALUES (:id, :attempt, :issue, 'checkpoint', :content, 0, 1, :wall)

-- name: notify
INSERT INTO notice (session, event) VALUES (:session, :event) ON CONFLICT (session, event) DO NOTHING

-- name: held_by_both
SELECT l.id, l.session, l.agent, l.shown, l.checkout, l.fence FROM path_lease l
WHERE l.session = :earlier AND EXISTS (
  SELECT 1 FROM path_lease o
  WHERE o.session = :later AND o.checkout = l.checkout AND o.path = l.path AND o.thread = l.thread AND o.mode = l.mode
    AND o.call = l.call
)

-- name: move_paths
UPDATE path_lease SET session = :later, agent = :agent WHERE session = :earlier

-- name: move_last
UPDATE path_last SET former = CASE WHEN former = :earlier THEN :later ELSE former END,
  agent = CASE WHEN session = :earlier THEN :agent ELSE agent END,
  session = CASE WHEN session = :earlier THEN :later ELSE session END
WHERE session = :earlier OR former = :earlier

-- name: move_snapshots
UPDATE snapshot SET session = :later, agent = :agent WHERE session = :earlier AND live = 1

-- name: move_attempts
UPDATE attempt SET session = :later, agent = :agent WHERE session = :earlier AND status = 'active'

-- name: move_tasks
UPDATE task_lease SET session = :later, agent = :agent WHERE session = :earlier AND status = 'held'

-- name: move_taken
UPDATE message SET taken_by = :later WHERE taken_by = :earlier AND state = 'taking'

-- name: move_answers
UPDATE answered SET scope = :later
WHERE operation = :operation AND scope = :earlier AND NOT EXISTS (
  SELECT 1 FROM answered o WHERE o.operation = :operation AND o.scope = :later AND o.key = answered.key
)

-- name: move_notices
INSERT INTO notice (session, event) SELECT :later, event FROM notice WHERE session = :earlier
ON CONFLICT (session, event) DO NOTHING

-- name: move_mail
UPDATE message SET recipient_session = :later WHERE recipient_session = :earlier AND state IN ('queued', 'seen')

-- name: move_shown
INSERT INTO message_shown (session, message, at_wall) SELECT :later, message, at_wall FROM message_shown
WHERE session = :earlier
ON CONFLICT (session, message) DO NOTHING

-- name: move_heard
UPDATE session SET heard = (SELECT heard FROM session WHERE id = :earlier)
WHERE id = :later AND heard > (SELECT heard FROM session WHERE id = :earlier)

-- name: forget_notices
DELETE FROM notice WHERE session = :session

-- name: move_checkpoint
UPDATE session_checkpoint SET session = :later
WHERE session = :earlier AND NOT EXISTS (SELECT 1 FROM session_checkpoint o WHERE o.session = :later)

-- name: move_doing
UPDATE session SET doing = coalesce(doing, (SELECT e.doing FROM session e WHERE e.id = :earlier)),
  capabilities = coalesce(capabilities, (SELECT e.capabilities FROM session e WHERE e.id = :earlier))
WHERE id = :later

-- name: forget_told
DELETE FROM elsewhere_told WHERE session = :session

-- What is known to have been there before a moment of room time: an event that somebody had seen by then, or that made
-- something that says when it was made. Events themselves say the wall clock's time, which may have been set.
-- name: known_by
SELECT max(id) AS id FROM (
  SELECT max(event) AS id FROM keyframe WHERE at < :before
  UNION ALL SELECT max(id) FROM message WHERE sent_at < :before
  UNION ALL SELECT max(context_event) FROM attempt WHERE claimed_at < :before
  UNION ALL SELECT max(briefed_event) FROM session WHERE beat_at < :before) known

-- Events of the crew and of the guard in one stretch of the log, but for those that somebody has still to be told of.
-- name: old_events
SELECT e.id FROM event e
WHERE e.id > :after AND e.id <= :upto AND e.issue IS NULL AND e.attempt IS NULL
  AND e.type IN (SELECT value FROM json_each(CAST(:types AS TEXT)))
  AND NOT EXISTS (SELECT 1 FROM notice n WHERE n.event = e.id)
ORDER BY e.id

-- name: forget_events
DELETE FROM event WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(CAST(:ids AS TEXT)))

-- name: old_notices
SELECT n.session, n.event, s.ended_at, s.beat_at FROM notice n JOIN session s ON s.id = n.session
WHERE n.event <= :upto AND (s.ended_at < :before OR (s.ended_at IS NULL AND s.beat_at < :before))
ORDER BY n.event LIMIT :limit

-- name: forget_notice
DELETE FROM notice WHERE session = :session AND event = :event

-- Messages that were sent before, and that nobody has anything to do with any more: what was never shown to anybody, and
-- tasks that are open or have ended lately, stay.
-- name: old_messages
SELECT m.id FROM message m
WHERE m.sent_at < :before AND (m.kind IN ('broadcast', 'result', 'task') OR m.state <> 'queued')
  AND NOT EXISTS (SELECT 1 FROM task t WHERE (t.id = m.id OR t.result = m.id)
    AND (t.state IN ('pending', 'leased', 'started', 'needs_review')
      OR EXISTS (SELECT 1 FROM task_lease l WHERE l.task = t.id AND (l.status = 'held' OR l.acted_at >= :before))))
ORDER BY m.id LIMIT :limit

-- name: forget_task_leases
DELETE FROM task_lease WHERE task IN (SELECT CAST(value AS INTEGER) FROM json_each(CAST(:ids AS TEXT)))

-- name: forget_task_paths
DELETE FROM task_path WHERE task IN (SELECT CAST(value AS INTEGER) FROM json_each(CAST(:ids AS TEXT)))

-- name: forget_tasks
DELETE FROM task WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(CAST(:ids AS TEXT)))

-- name: forget_messages
DELETE FROM message WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(CAST(:ids AS TEXT)))

-- name: forget_shown
DELETE FROM message_shown WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.id = message_shown.message)

-- name: forget_moves
DELETE FROM task_move WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.id = task_move.task)

-- name: forget_wakes
DELETE FROM wake WHERE at < :before

-- name: forget_refusals
DELETE FROM refusal_told WHERE told_at < :before

-- name: forget_commits
DELETE FROM commit_seen WHERE at < :before

-- name: newest_keyframe
SELECT event, at FROM keyframe ORDER BY event DESC LIMIT 1

-- name: keep_keyframe
INSERT INTO keyframe (event, at, wall, state) VALUES (:event, :now, :wall, :state) ON CONFLICT (event) DO NOTHING

-- name: forget_keyframes
DELETE FROM keyframe WHERE event < :upto

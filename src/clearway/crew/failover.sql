-- What waits for an agent and that nobody has. What somebody took and lost is pending again; `last_at`: since when.
-- name: pending
SELECT m.*, (SELECT max(l.acted_at) FROM task_lease l WHERE l.task = m.id) AS last_at
FROM message m JOIN task t ON t.id = m.id
WHERE m.recipient = :agent AND m.state IN ('queued', 'seen') AND t.state = 'pending'
  AND m.recipient_session IS NULL AND m.held_back IS NULL
  AND m.not_before <= :now AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY m.priority DESC, m.id LIMIT :limit

-- Who has tasks of others that nobody has begun.
-- name: targets
SELECT DISTINCT m.recipient AS target FROM message m JOIN task t ON t.id = m.id
WHERE m.addressed_to IS NOT NULL AND m.state IN ('queued', 'seen') AND t.state = 'pending'

-- name: moves_of
SELECT target FROM task_move WHERE task = :task

-- name: sessions
SELECT s.id, s.agent, s.in_turn, s.beat_at, s.ended_at, s.host, s.boot, s.pidns, s.pid, s.started FROM session s
WHERE s.agent IN (SELECT value FROM json_each(CAST(:names AS TEXT))) AND s.retired_at IS NULL
ORDER BY s.ended_at IS NOT NULL, s.beat_at DESC LIMIT :limit

-- name: lately
SELECT l.fence, l.status, l.acted_at, t.state FROM task_lease l JOIN task t ON t.id = l.task
WHERE l.agent = :agent ORDER BY l.fence DESC LIMIT :limit

-- name: had_it
SELECT DISTINCT session FROM task_lease WHERE task = :task

-- name: keep_move
INSERT INTO task_move (event, task, source, target, why) VALUES (:event, :task, :source, :target, :why)

-- name: readdress
UPDATE message SET recipient = :target, state = 'queued', seen_wall = NULL,
  addressed_to = coalesce(addressed_to, :source)
WHERE id = :id

-- name: unshow
DELETE FROM message_shown WHERE message = :id

-- name: keep_point
INSERT INTO failover_point (agent, event) VALUES (:agent, :event)
ON CONFLICT (agent) DO UPDATE SET event = excluded.event

-- name: point
SELECT coalesce((SELECT event FROM failover_point WHERE agent = :agent),
  (SELECT event FROM setting WHERE name = 'fallbacks')) AS event

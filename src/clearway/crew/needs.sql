-- name: ask
INSERT INTO need (key, kind, agent, issue, text, event, opened_wall)
VALUES (:key, :kind, :agent, :issue, :text, :event, :wall)
ON CONFLICT (key) DO NOTHING

-- name: over
DELETE FROM need WHERE key = :key

-- name: failing
SELECT id, number, title, forgiven FROM failing_issue ORDER BY number DESC LIMIT :limit

-- name: last_attempts
SELECT status, agent, finished_wall FROM ended_attempt
WHERE issue = :issue AND fence > :forgiven ORDER BY fence DESC LIMIT :limit

-- name: questions
SELECT id, number, title, created_wall FROM open_question
WHERE reserved_for IS NULL OR reserved_for IN (:human, 'human') OR reserved_until <= :now
ORDER BY number DESC LIMIT :limit

-- What nobody has taken: held back, for the person, or for so long that somebody should look.
-- name: messages
SELECT m.id, m.kind, m.sender, m.recipient, m.text, m.state, m.held_back, m.sent_wall,
  CASE WHEN m.recipient IN (:human, 'human') THEN 1 ELSE 0 END AS for_human
FROM message m
WHERE m.state IN ('queued', 'seen') AND m.kind IN ('chat', 'task', 'control') AND m.recipient <> '*'
  AND (m.held_back IS NOT NULL OR m.recipient IN (:human, 'human')
    OR (m.sent_at <= :before AND m.not_before <= :before))
ORDER BY m.id DESC LIMIT :limit

-- name: sessions
SELECT id, in_turn, beat_at, host, boot, pidns, pid, started FROM session
WHERE agent = :agent AND ended_at IS NULL ORDER BY beat_at DESC LIMIT 10

-- name: tasks
SELECT t.id, t.state, t.attempts, m.recipient, m.text,
  (SELECT max(l.ended_wall) FROM task_lease l WHERE l.task = t.id) AS ended_wall
FROM task t JOIN message m ON m.id = t.id
WHERE t.state IN ('failed', 'needs_review', 'dead_letter')
  AND (t.state = 'needs_review' OR EXISTS (SELECT 1 FROM task_lease l WHERE l.task = t.id AND l.ended_wall > :since))
ORDER BY t.id DESC LIMIT :limit

-- name: moves
SELECT v.event, v.task, v.source, v.target, v.why, e.at FROM task_move v JOIN event e ON e.id = v.event
WHERE e.at > :since ORDER BY v.event DESC LIMIT :limit

-- name: noted
SELECT n.key, n.kind, n.agent, n.text, n.opened_wall, i.number FROM need n LEFT JOIN issue_name i ON i.id = n.issue
ORDER BY n.opened_wall DESC, n.key LIMIT :limit

-- name: stuck
SELECT id, agent, number, title, warned_at, warned_why FROM live_attempt
WHERE warned_at IS NOT NULL AND instr(:gone, id) = 0 ORDER BY warned_at DESC LIMIT :limit

-- name: reviews
SELECT id, number, title, created_wall FROM open_review WHERE created_wall < :before ORDER BY created_wall DESC LIMIT :limit

-- name: blocked
SELECT id, number, title, blocked_reason, updated_wall, version FROM blocked_issue
WHERE updated_wall > :since ORDER BY updated_wall DESC LIMIT :limit

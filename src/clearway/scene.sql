-- name: issues
SELECT id, status, archived_wall IS NOT NULL AS archived FROM issue WHERE status NOT IN ('done', 'cancelled')
ORDER BY number

-- name: finished
SELECT count(*) AS issues FROM issue WHERE status IN ('done', 'cancelled')

-- name: attempts
SELECT id, issue, session, agent, kind, fence FROM attempt WHERE status = 'active' ORDER BY fence

-- name: paths
SELECT checkout, path, shown, mode, session, agent, purpose, thread, apart, call, fence FROM path_lease ORDER BY fence

-- name: tasks
SELECT t.id, t.state, m.recipient, l.session, l.agent FROM task t JOIN message m ON m.id = t.id
LEFT JOIN task_lease l ON l.task = t.id AND l.status = 'held'
WHERE t.state IN ('pending', 'leased', 'started', 'needs_review') ORDER BY t.id

-- name: reviews
SELECT id, issue, status FROM review_request WHERE status IN ('open', 'claimed') ORDER BY event

-- name: sessions
SELECT id, agent, beat_at FROM session WHERE ended_at IS NULL ORDER BY id

-- name: paused
SELECT paused_at, paused_until FROM room

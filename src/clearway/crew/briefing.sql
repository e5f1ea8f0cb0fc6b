-- name: attempts_of
SELECT id, number, title, session, expires_at FROM live_attempt
WHERE session = :session AND instr(:gone, id) = 0 ORDER BY acted_at DESC, id LIMIT 5

-- name: paths_of
SELECT id, shown, session, expires_at FROM held_path WHERE session = :session AND instr(:gone, id) = 0 ORDER BY path LIMIT 100

-- name: named_holders
SELECT DISTINCT s.id FROM session s JOIN held_path l ON l.session = s.id
WHERE s.named = 1 AND s.id <> :session AND instr(:gone, l.id) = 0

-- name: peers
SELECT id, agent, doing, in_turn, beat_at, named FROM session
WHERE ended_at IS NULL AND id <> :session ORDER BY beat_at DESC, id LIMIT :limit

-- name: own_attempts
SELECT a.id, a.number, a.title, a.session, a.expires_at, c.content, c.automatic
FROM live_attempt a LEFT JOIN latest_checkpoint c ON c.attempt = a.id
WHERE a.session = :session AND instr(:gone, a.id) = 0 ORDER BY a.acted_at DESC, a.id LIMIT 5

-- name: own_tasks
SELECT l.fence AS id, l.task, l.session, l.started, l.expires_at, m.sender, m.text
FROM task_lease l JOIN message m ON m.id = l.task
WHERE l.session = :session AND l.status = 'held' AND instr(:gone, ' ' || l.fence || ' ') = 0 ORDER BY l.fence LIMIT 5

-- name: moved
SELECT m.id, m.recipient FROM message m JOIN task t ON t.id = m.id
WHERE m.addressed_to = :agent AND m.recipient <> :agent AND t.state IN ('pending', 'leased', 'started')
ORDER BY m.id DESC LIMIT :limit

-- name: own_checkpoint
SELECT content FROM session_checkpoint WHERE session = :session

-- name: briefed
SELECT briefed_event FROM session WHERE id = :session

-- name: keep_briefed
UPDATE session SET briefed_event = :event WHERE id = :session

-- What was imported is no news, however new it is here.
-- name: news
SELECT e.type, e.agent, i.number, i.title FROM event e JOIN issue_name i ON i.id = e.issue
WHERE e.id > :since AND e.session <> :session
  AND e.type IN ('attempt_started', 'attempt_completed', 'attempt_failed', 'attempt_interrupted', 'attempt_expired')
  AND instr(e.data, '"imported":true') = 0
ORDER BY e.id LIMIT :limit

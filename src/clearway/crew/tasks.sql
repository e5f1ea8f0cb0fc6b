-- name: unstarted
-- What the caller was given and has not begun: the answer may have been lost.
SELECT m.* FROM task_lease l JOIN message m ON m.id = l.task
WHERE l.session = :session AND l.status = 'held' AND l.started = 0 ORDER BY l.fence LIMIT 1

-- name: next
-- Only a write asks: what has lapsed is gone already. A message has come when it may be read: `not_before`.
SELECT m.* FROM message m JOIN task t ON t.id = m.id
WHERE m.recipient IN (:agent, :principal) AND m.state IN ('queued', 'seen') AND t.state = 'pending'
  AND (m.recipient_session IS NULL OR m.recipient_session = :session) AND m.held_back IS NULL
  AND m.not_before > :since AND m.not_before <= :until AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND NOT EXISTS (SELECT 1 FROM task_path p JOIN held_path h
    ON h.path = p.path OR h.path = '.' OR p.path = '.'
      OR (h.path >= p.path || '/' AND h.path < p.path || '0')
      OR substr(p.path, 1, length(h.path) + 1) = h.path || '/'
    WHERE p.task = m.id AND h.session <> :session AND h.checkout <> '@')
ORDER BY m.priority DESC, m.id LIMIT 1

-- name: not_yet
SELECT m.* FROM message m JOIN task t ON t.id = m.id
WHERE m.recipient IN (:agent, :principal) AND m.state IN ('queued', 'seen') AND t.state = 'pending'
  AND (m.recipient_session IS NULL OR m.recipient_session = :session)
  AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY m.priority DESC, m.id LIMIT 1

-- name: blocking
-- All that is in its way. Which of it is held longest only signs of life can tell.
SELECT DISTINCT h.id, h.shown, h.agent, h.session, h.expires_at FROM task_path p JOIN held_path h
  ON h.path = p.path OR h.path = '.' OR p.path = '.'
    OR (h.path >= p.path || '/' AND h.path < p.path || '0')
    OR substr(p.path, 1, length(h.path) + 1) = h.path || '/'
WHERE p.task = :task AND h.session <> :session AND h.checkout <> '@' AND instr(:gone, h.id) = 0
ORDER BY h.id LIMIT :limit

-- name: paths
SELECT path FROM task_path WHERE task = :task ORDER BY path

-- name: list
-- `shown` is the state that the next write would find.
SELECT q.* FROM (
  SELECT m.id, m.sender, m.recipient, m.addressed_to, m.text, m.priority, m.reply_to, m.issue, m.held_back, m.not_before, m.expires_at,
    m.sent_wall, t.attempts, t.result, l.fence, l.session, l.agent AS holder, l.expires_at AS lease_expires_at,
    CASE
      WHEN t.state IN ('leased', 'started') AND l.fence IS NULL AND t.lapses + 1 >= t.lapses_max THEN 'dead_letter'
      WHEN t.state = 'leased' AND l.fence IS NOT NULL OR t.state = 'started' AND l.fence IS NOT NULL THEN t.state
      WHEN t.state IN ('pending', 'leased', 'started') AND m.expires_at <= :now THEN 'expired'
      WHEN t.state IN ('leased', 'started') THEN 'pending'
      ELSE t.state
    END AS shown
  FROM message m JOIN task t ON t.id = m.id
    LEFT JOIN task_lease l ON l.task = t.id AND l.status = 'held' AND instr(:gone, ' ' || l.fence || ' ') = 0
  WHERE (:all = 1 OR m.sender = :agent OR m.recipient IN (:agent, :principal))
    AND (:task IS NULL OR t.id = :task) AND (:before IS NULL OR t.id < :before)
) q
WHERE :states IS NULL OR q.shown IN (SELECT value FROM json_each(CAST(:states AS TEXT)))
ORDER BY q.id DESC LIMIT :limit

-- name: late
SELECT late_result FROM task_lease WHERE task = :task AND late_result IS NOT NULL ORDER BY fence DESC LIMIT 1

-- name: close
UPDATE message SET state = 'done' WHERE id = :id

-- name: keep_result
UPDATE task SET result = :result WHERE id = :id

-- name: ask_again
UPDATE task SET state = 'pending', lapses = 0, lapses_max = :lapses_max, result = NULL WHERE id = :id

-- name: send_again
UPDATE message SET state = 'queued', taken_by = NULL, note = NULL, not_before = :now,
  expires_at = CASE WHEN expires_at <= :now THEN NULL ELSE expires_at END
WHERE id = :id

-- name: unshow
DELETE FROM message_shown WHERE message = :id

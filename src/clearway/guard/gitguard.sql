-- The open sessions of others: who may still have something in a tree.
-- name: others
SELECT s.id, s.agent, s.host, s.cwd, s.pid, s.beat_at,
  (SELECT max(a.number) FROM live_attempt a WHERE a.session = s.id AND instr(:gone, a.id) = 0) AS number
FROM session s
WHERE s.ended_at IS NULL AND s.id <> :session AND NOT (s.agent = :agent AND (s.named = 1 OR :named = 1))
ORDER BY s.beat_at DESC, s.id LIMIT :limit

-- name: held
SELECT l.path, l.shown, l.agent, l.session, l.mode FROM path_lease l
WHERE l.checkout = :checkout AND l.session <> :session AND NOT (l.agent = :agent AND (l.named = 1 OR :named = 1))
  AND instr(:gone, l.id) = 0
ORDER BY l.path, l.id LIMIT :limit

-- name: last
SELECT path, shown, session FROM path_last
WHERE session IN (SELECT value FROM json_each(CAST(:sessions AS TEXT))) AND checkout = :checkout
ORDER BY fence DESC LIMIT :limit

-- Whoever held the path, or a folder above it, as the last.
-- name: last_of
SELECT session FROM path_last
WHERE checkout = :checkout AND path IN (SELECT value FROM json_each(CAST(:above AS TEXT)))
ORDER BY fence DESC LIMIT 1

-- name: turn
SELECT l.agent, l.claimed_at FROM path_lease l
WHERE l.checkout = '@' AND l.path = :path AND l.session <> :session
  AND NOT (l.agent = :agent AND (l.named = 1 OR :named = 1)) AND instr(:gone, l.id) = 0
ORDER BY l.claimed_at DESC LIMIT 1

-- name: attempts_of
SELECT id, number, title, expires_at FROM live_attempt
WHERE session = :session AND instr(:gone, id) = 0 ORDER BY acted_at DESC, id LIMIT 5

-- name: paths_of
SELECT id, shown, expires_at FROM held_path WHERE session = :session AND instr(:gone, id) = 0 ORDER BY path LIMIT 100

-- name: named_holders
SELECT DISTINCT s.id FROM session s JOIN held_path l ON l.session = s.id
WHERE s.named = 1 AND s.id <> :session AND instr(:gone, l.id) = 0

-- name: peers
SELECT id, agent, doing, in_turn, beat_at, named FROM session
WHERE ended_at IS NULL AND id <> :session ORDER BY beat_at DESC, id LIMIT :limit

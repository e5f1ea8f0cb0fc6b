-- name: attempt
SELECT id, number, title, expires_at FROM live_attempt
WHERE session = :session AND instr(:gone, id) = 0 ORDER BY acted_at DESC, id DESC LIMIT 1

-- name: elsewhere
SELECT l.id, l.shown, l.agent, l.session, l.purpose, l.mode, l.expires_at, l.seats, c.root, c.host, c.branch, a.number
FROM path_lease l JOIN checkout c ON c.id = l.checkout LEFT JOIN live_attempt a ON a.id = l.attempt
WHERE (l.path IN (SELECT value FROM json_each(CAST(:above AS TEXT))) OR (l.path >= :below_from AND l.path < :below_to))
  AND l.checkout <> :checkout AND l.checkout <> '@' AND l.mode = 'edit'
  AND l.session <> :session AND NOT (l.agent = :agent AND (l.named = 1 OR :named = 1))
  AND instr(:gone, l.id) = 0
ORDER BY l.path, l.id LIMIT :limit

-- name: note_told
INSERT INTO elsewhere_told (session, path, holder) VALUES (:session, :path, :holder) ON CONFLICT DO NOTHING

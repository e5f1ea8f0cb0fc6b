-- Above and below are asked for apart, so that each goes by the index.
-- name: elsewhere
SELECT l.id, l.shown, l.agent, l.session, l.purpose, l.mode, l.expires_at, l.seats, c.root, c.host, c.branch,
  (SELECT a.number FROM live_attempt a WHERE a.id = l.attempt) AS number
FROM (
  SELECT * FROM path_lease WHERE path IN (SELECT value FROM json_each(CAST(:above AS TEXT)))
  UNION ALL
  SELECT * FROM path_lease WHERE path >= :below_from AND path < :below_to AND path <> '.'
) l JOIN checkout c ON c.id = l.checkout
WHERE l.checkout <> :checkout AND l.checkout <> '@' AND l.mode = 'edit'
  AND l.session <> :session AND NOT (l.agent = :agent AND (l.named = 1 OR :named = 1))
  AND instr(:gone, l.id) = 0
ORDER BY l.path, l.id LIMIT :limit

-- name: note_told
INSERT INTO elsewhere_told (session, path, holder) VALUES (:session, :path, :holder) ON CONFLICT DO NOTHING

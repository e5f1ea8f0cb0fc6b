-- name: add
INSERT INTO issue_relation (source, target, type, created_by, created_wall)
VALUES (:source, :target, :type, :session, :wall)
ON CONFLICT DO NOTHING

-- name: remove
DELETE FROM issue_relation WHERE source = :source AND target = :target AND type = :type

-- Whether one issue holds up another, directly or through others.
-- name: way
WITH RECURSIVE held_up (id) AS (
  SELECT target FROM issue_relation WHERE source = :start AND type = 'blocks'
  UNION
  SELECT r.target FROM issue_relation r JOIN held_up h ON r.source = h.id WHERE r.type = 'blocks'
)
SELECT id FROM held_up WHERE id = :goal LIMIT 1

-- Which of some issues these hold up already, directly or through others.
-- name: held_up
WITH RECURSIVE held_up (start, id) AS (
  SELECT source, target FROM issue_relation
  WHERE type = 'blocks' AND source IN (SELECT value FROM json_each(CAST(:starts AS TEXT)))
  UNION
  SELECT h.start, r.target FROM held_up h JOIN issue_relation r ON r.source = h.id WHERE r.type = 'blocks'
)
SELECT start, id FROM held_up WHERE id IN (SELECT value FROM json_each(CAST(:goals AS TEXT)))

-- name: related
SELECT source, target, type FROM issue_relation
WHERE source IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
  AND target IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_labels
SELECT normal FROM label WHERE normal IN (SELECT value FROM json_each(CAST(:labels AS TEXT)))

-- What of a document is here already.

-- name: known_comment
SELECT id FROM comment WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_attempt
SELECT id FROM attempt WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_note
SELECT id FROM attempt_note WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_artifact
SELECT id FROM artifact WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_decision
SELECT id, status FROM decision WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_review
SELECT id, status, version FROM review_request WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_relation
SELECT source, target, type FROM issue_relation WHERE source IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_label
SELECT id, normal FROM label WHERE normal IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_types
SELECT id, type, number FROM issue WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_numbers
SELECT number, id FROM issue WHERE number IN (SELECT CAST(value AS BIGINT) FROM json_each(CAST(:ids AS TEXT)))

-- name: with_children
SELECT DISTINCT parent AS id FROM issue WHERE parent IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: superseded
SELECT supersedes AS id FROM decision WHERE supersedes IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: pending_reviews
SELECT issue, id FROM review_request
WHERE status IN ('open', 'claimed') AND issue IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: blocks
SELECT source, target FROM issue_relation WHERE type = 'blocks'

-- name: issues_named
SELECT i.id, i.number, i.type, i.title, i.description, i.acceptance_criteria, i.status, i.priority, i.parent,
  i.blocked_reason, i.needs, i.version, i.created_wall, i.updated_wall, i.closed_wall, i.archived_wall,
  coalesce((SELECT s.agent FROM session s WHERE s.id = i.created_by), i.created_by) AS created_by,
  (SELECT json_group_array(l.name) FROM issue_label il JOIN label l ON l.id = il.label WHERE il.issue = i.id) AS labels,
  (SELECT json_group_array(p.path) FROM issue_path p WHERE p.issue = i.id) AS paths,
  EXISTS (SELECT 1 FROM attempt a WHERE a.issue = i.id AND a.status = 'active') AS held
FROM issue i WHERE i.id IN (SELECT value FROM json_each(CAST(:ids AS TEXT))) ORDER BY i.id

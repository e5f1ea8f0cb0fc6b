-- What is in the room, in the order of ids, a page at a time. Who made something is told by name: sessions are of one
-- machine.

-- name: labels
SELECT name, normal, description, created_wall FROM label WHERE normal > :after ORDER BY normal LIMIT :limit

-- What is told of each is asked as a survey asks it.
-- name: issues
SELECT id FROM issue WHERE id > :after ORDER BY id LIMIT :limit

-- name: relations
SELECT r.source, r.target, r.type, r.created_wall,
  coalesce((SELECT s.agent FROM session s WHERE s.id = r.created_by), r.created_by) AS created_by
FROM issue_relation r
WHERE r.source > :source OR (r.source = :source AND (r.target > :target OR (r.target = :target AND r.type > :type)))
ORDER BY r.source, r.target, r.type LIMIT :limit

-- name: comments
SELECT id, issue, agent, content, created_wall FROM comment WHERE id > :after ORDER BY id LIMIT :limit

-- name: decisions
SELECT id, issue, title, summary, content, status, supersedes, agent, created_wall FROM decision
WHERE id > :after ORDER BY id LIMIT :limit

-- name: attempts
SELECT id, issue, agent, kind, status, issue_version, started_wall, finished_wall, result_summary, next_steps,
  verification, failure_code, interruption_code, reason_details
FROM attempt WHERE id > :after AND status <> 'active' ORDER BY id LIMIT :limit

-- name: notes
SELECT n.id, n.attempt, n.issue, n.kind, n.content, n.next_steps, n.important, n.automatic, n.created_wall
FROM attempt_note n JOIN attempt a ON a.id = n.attempt
WHERE n.id > :after AND a.status <> 'active' ORDER BY n.id LIMIT :limit

-- name: artifacts
SELECT f.id, f.issue, f.attempt, f.type, f.uri, f.title, f.metadata, f.created_wall
FROM artifact f LEFT JOIN attempt a ON a.id = f.attempt
WHERE f.id > :after AND coalesce(a.status, '') <> 'active' ORDER BY f.id LIMIT :limit

-- What is looked at by somebody now waits again, elsewhere.
-- name: reviews
SELECT id, issue, issue_version, artifacts, CASE status WHEN 'claimed' THEN 'open' ELSE status END AS status, version,
  supersedes, CASE status WHEN 'claimed' THEN NULL ELSE attempt END AS attempt, findings, follow_up, agent,
  created_wall, resolved_wall
FROM review_request WHERE id > :after ORDER BY id LIMIT :limit

-- name: left_out
SELECT count(*) AS attempts FROM attempt WHERE status = 'active'

-- name: size
SELECT (SELECT count(*) FROM issue) AS issues, (SELECT count(*) FROM decision) AS decisions

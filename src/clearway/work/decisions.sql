-- name: record
INSERT INTO decision (id, issue, title, summary, content, status, supersedes, event, session, agent, created_wall)
VALUES (:id, :issue, :title, :summary, :content, :status, :supersedes, :event, :session, :agent, :wall)

-- name: find
SELECT id, issue, status FROM decision WHERE id = :id

-- name: supersede
UPDATE decision SET status = 'superseded' WHERE id = :id

-- name: list_project
SELECT event, id, title, summary, content, status, supersedes, agent, created_wall FROM decision
WHERE issue IS NULL AND (:status IS NULL OR status = :status) AND (:before IS NULL OR event < :before)
ORDER BY event DESC LIMIT :limit

-- name: list_issue
SELECT event, id, title, summary, content, status, supersedes, agent, created_wall FROM decision
WHERE issue = :issue AND (:status IS NULL OR status = :status) AND (:before IS NULL OR event < :before)
ORDER BY event DESC LIMIT :limit

-- name: in_force
SELECT d.id, d.issue, d.title, d.summary FROM (
  SELECT id, issue, title, summary, event, 0 AS place FROM decision WHERE issue = :issue AND status = 'active'
  UNION ALL
  SELECT p.id, p.issue, p.title, p.summary, p.event, 1 FROM (SELECT id, issue, title, summary, event FROM decision
    WHERE issue IS NULL AND status = 'active' ORDER BY event DESC LIMIT :limit) p
) d ORDER BY d.place, d.event DESC LIMIT :limit

-- name: create
INSERT INTO issue (id, number, type, title, description, acceptance_criteria, status, priority, parent, blocked_reason,
  version, open_blockers, unblocks, reserved_for, reserved_until, needs, latest_event, created_by, created_wall,
  updated_wall, closed_wall)
VALUES (:id, :number, :type, :title, :description, :acceptance_criteria, :status, :priority, :parent, :blocked_reason,
  1, 0, 0, :reserved_for, :reserved_until, :needs, :event, :session, :wall, :wall, :closed_wall)

-- Without the bodies: most who look for an issue do not read it. `failures`: how many of its last attempts failed or
-- expired; one that has lapsed counts before anybody writes so.
-- name: find
SELECT i.id, i.number, i.type, i.title, i.status, i.priority, i.open_blockers, i.version,
  i.updated_wall, i.archived_wall, i.reserved_for, i.reserved_until, i.forgiven,
  (SELECT CASE WHEN max(e.id) > i.latest_event THEN max(e.id) ELSE i.latest_event END FROM event e WHERE e.issue = i.id)
    AS latest_event,
  (SELECT count(*) FROM (SELECT a.status FROM attempt a
    WHERE a.issue = i.id AND a.fence > i.forgiven AND (a.status <> 'active' OR instr(:gone, a.id) > 0)
      ORDER BY a.fence DESC LIMIT :streak) ended
    WHERE ended.status NOT IN ('completed', 'interrupted')) AS failures,
  (SELECT a.agent FROM attempt a WHERE a.issue = i.id AND a.status = 'active' AND instr(:gone, a.id) = 0) AS held_by,
  (SELECT json_group_array(l.name) FROM issue_label il JOIN label l ON l.id = il.label WHERE il.issue = i.id) AS labels
FROM issue i
WHERE i.id = :id OR i.number = :number
LIMIT 1

-- name: forgive
UPDATE issue SET forgiven = :fence WHERE id = :id AND forgiven < :fence

-- name: bodies
SELECT i.description, i.acceptance_criteria, i.blocked_reason, i.needs, i.created_wall, i.closed_wall, i.archived_wall,
  p.number AS parent_number,
  (SELECT json_group_array(w.path) FROM issue_path w WHERE w.issue = i.id) AS paths
FROM issue i LEFT JOIN issue p ON p.id = i.parent
WHERE i.id = :id

-- How far an epic is. What was cancelled is neither to be done nor done.
-- name: children
SELECT count(*) AS total, coalesce(sum(CASE WHEN i.status = 'done' THEN 1 ELSE 0 END), 0) AS done,
  coalesce(sum(CASE WHEN EXISTS (SELECT 1 FROM live_attempt a WHERE a.issue = i.id AND instr(:gone, a.id) = 0)
    THEN 1 ELSE 0 END), 0) AS active
FROM issue i WHERE i.parent = :parent AND i.archived_wall IS NULL AND i.status <> 'cancelled'

-- name: live_attempt
SELECT id, session, agent, kind, fence, lease_ms, expires_at, acted_at FROM live_attempt
WHERE issue = :issue AND instr(:gone, id) = 0

-- name: move
UPDATE issue SET status = :status, blocked_reason = :blocked_reason, closed_wall = :closed_wall,
  version = version + 1, latest_event = :event, updated_wall = :wall
WHERE id = :id

-- name: note_event
UPDATE issue SET latest_event = :event WHERE id = :id

-- name: forget_paths
DELETE FROM issue_path WHERE issue = :issue

-- name: declare_path
INSERT INTO issue_path (issue, path) VALUES (:issue, :path)

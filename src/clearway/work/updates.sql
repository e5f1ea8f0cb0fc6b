-- name: fields
SELECT i.description, i.acceptance_criteria, i.blocked_reason, i.parent, i.needs,
  (SELECT json_group_array(p.path) FROM issue_path p WHERE p.issue = i.id) AS paths
FROM issue i WHERE i.id = :id

-- name: a_child
SELECT number FROM issue WHERE parent = :id LIMIT 1

-- name: update
UPDATE issue SET title = :title, description = :description, acceptance_criteria = :acceptance_criteria, type = :type,
  priority = :priority, status = :status, blocked_reason = :blocked_reason, parent = :parent,
  reserved_for = :reserved_for, reserved_until = :reserved_until, needs = :needs,
  closed_wall = CASE WHEN :closed = 1 THEN coalesce(closed_wall, :wall) END,
  version = version + 1, latest_event = :event, updated_wall = :wall
WHERE id = :id

-- name: archive
UPDATE issue SET archived_wall = :archived_wall, version = version + 1, latest_event = :event, updated_wall = :wall
WHERE id = :id

-- name: keep_state
UPDATE room SET anchor_boot = :boot, anchor_monotonic = :monotonic, anchor_wall = :wall, anchor_room = :room,
  last_event = :last_event, last_issue = :last_issue, last_fence = :last_fence

-- name: tell
INSERT INTO event (id, type, at, issue, attempt, session, agent, data)
VALUES (:id, :type, :at, :issue, :attempt, :session, :agent, :data)

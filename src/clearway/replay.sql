-- name: keyframe
SELECT event, state FROM keyframe WHERE event <= :upto ORDER BY event DESC LIMIT 1

-- name: first_keyframe
SELECT min(event) AS event FROM keyframe

-- name: between
SELECT count(*) AS events FROM event WHERE id > :after AND id <= :upto

-- name: events
SELECT id, type, at, issue, attempt, session, agent, data FROM event
WHERE id > :after AND id <= :upto AND type IN (SELECT value FROM json_each(CAST(:types AS TEXT)))
ORDER BY id LIMIT :limit

-- name: event
SELECT e.type, e.agent, e.session, e.data, i.number FROM event e LEFT JOIN issue i ON i.id = e.issue WHERE e.id = :id

-- name: last_before
SELECT at FROM event WHERE id <= :id ORDER BY id DESC LIMIT 1

-- name: issues
SELECT id, number, title, type, priority FROM issue WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- What was said of some issues up to an event, the newest first: where there is too much, the oldest is left out.
-- name: described
SELECT e.issue, e.type, e.data FROM event e
WHERE e.issue IN (SELECT value FROM json_each(CAST(:ids AS TEXT))) AND e.id <= :upto
  AND e.type IN ('issue_created', 'issue_updated', 'status_changed', 'labels_changed')
  AND (e.type = 'issue_created' OR e.data LIKE '%"title":%' OR e.data LIKE '%"priority":%' OR e.data LIKE '%"type":%')
ORDER BY e.id DESC LIMIT :limit

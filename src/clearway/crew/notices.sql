-- name: unseen
SELECT n.event, e.type, e.at, e.issue, e.attempt, e.agent, e.session, e.data, i.number, i.title
FROM notice n JOIN event e ON e.id = n.event LEFT JOIN issue_name i ON i.id = e.issue
WHERE n.session = :session ORDER BY n.event DESC LIMIT :limit

-- name: holder
SELECT session, agent FROM live_attempt WHERE issue = :issue

-- name: seen
DELETE FROM notice WHERE session = :session AND event = :event

-- name: root
SELECT root FROM checkout WHERE id = :checkout

-- name: show
SELECT name, issue_key, instructions FROM room

-- name: update
UPDATE room SET name = :name, issue_key = :issue_key, instructions = :instructions

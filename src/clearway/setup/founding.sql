-- name: name_project
UPDATE room SET name = :name

-- name: count_issues
SELECT last_issue AS count FROM room

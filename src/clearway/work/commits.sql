-- name: current
SELECT id, issue, number, fence FROM live_attempt
WHERE session = :session AND instr(:gone, id) = 0 ORDER BY acted_at DESC, id DESC LIMIT 1

-- name: replace
UPDATE artifact SET uri = :uri, title = :title
WHERE issue = :issue AND attempt = :attempt AND type = 'commit' AND uri = :earlier

-- name: known
SELECT id FROM artifact WHERE issue = :issue AND attempt = :attempt AND type = 'commit' AND uri = :uri

-- name: attach
INSERT INTO artifact (id, issue, attempt, type, uri, title, created_wall)
VALUES (:id, :issue, :attempt, 'commit', :uri, :title, :wall)

-- A commit is an act: signs of life carry the attempt on from here.
-- name: act
UPDATE attempt SET acted_at = :now, warned_at = NULL, warned_why = NULL, carried_to = NULL WHERE id = :id

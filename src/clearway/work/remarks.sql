-- name: newest
SELECT max(id) AS id FROM comment WHERE issue = :issue

-- name: comment
INSERT INTO comment (id, issue, session, agent, content, created_wall)
VALUES (:id, :issue, :session, :agent, :content, :wall)

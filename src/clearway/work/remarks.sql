-- name: comment
INSERT INTO comment (id, issue, session, agent, content, created_wall)
VALUES (:id, :issue, :session, :agent, :content, :wall)

-- name: identity
SELECT project_id, test_clock FROM room

-- name: answered
SELECT request_hash, reply FROM answered WHERE operation = :operation AND scope = :scope AND key = :key

-- name: keep_answer
INSERT INTO answered (operation, scope, key, request_hash, reply, at)
VALUES (:operation, :scope, :key, :request_hash, :reply, :at)

-- name: refusal_told
SELECT told_at, passed_over FROM refusal_told WHERE session = :session AND code = :code AND subject = :subject

-- name: note_refusal
INSERT INTO refusal_told (session, code, subject, told_at, passed_over) VALUES (:session, :code, :subject, :now, 0)
ON CONFLICT (session, code, subject) DO UPDATE SET told_at = excluded.told_at, passed_over = 0

-- name: pass_over
UPDATE refusal_told SET passed_over = passed_over + 1 WHERE session = :session AND code = :code AND subject = :subject

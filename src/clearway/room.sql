-- What every transaction begins with, in one journey: the room's state, the caller's session if it is known, and when
-- something is due at the earliest.
-- name: opening
SELECT r.project_id, r.anchor_boot, r.anchor_monotonic, r.anchor_wall, r.anchor_room, r.last_event, r.last_issue,
  r.last_fence, r.paused_at, r.paused_until, r.issue_key, (SELECT now FROM server_clock) AS server_now,
  s.id AS session, s.boot, s.pid, s.started, s.beat_at, s.ended_at, s.bound, s.capabilities,
  (SELECT json_group_array(name || '=' || value) FROM setting) AS settings,
  (SELECT min(expires_at) FROM path_lease) AS path_at,
  (SELECT min(expires_at) FROM attempt WHERE status = 'active') AS attempt_at,
  (SELECT min(expires_at) FROM task_lease WHERE status = 'held') AS task_at,
  EXISTS (SELECT 1 FROM session WHERE pid IS NOT NULL) AS processes,
  EXISTS (SELECT 1 FROM notice WHERE session = :session) AS notices,
  EXISTS (SELECT 1 FROM snapshot WHERE live = 1) AS watched,
  EXISTS (SELECT 1 FROM session o WHERE o.ended_at IS NULL AND o.named = 0 AND o.id <> :session) AS others
FROM room r LEFT JOIN session s ON s.id = :session

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

-- name: start
INSERT INTO attempt (id, issue, session, agent, kind, status, fence, token_hash, lease_ms, issue_version, context_event,
  claimed_at, acted_at, expires_at, started_wall)
VALUES (:id, :issue, :session, :agent, :kind, 'active', :fence, :token_hash, :lease_ms, :issue_version, :event,
  :now, :now, :expires_at, :wall)

-- name: find
SELECT a.id, a.issue, a.session, a.agent, a.kind, a.status, a.fence, a.token_hash, a.context_event, a.lease_ms,
  a.expires_at, a.acted_at, a.warned_at, a.warned_why, a.carried_to, a.started_wall, i.number, s.named, s.beat_at,
  s.ended_at
FROM attempt a JOIN issue i ON i.id = a.issue JOIN session s ON s.id = a.session
WHERE a.id = :id

-- name: adopt
UPDATE attempt SET session = :session, agent = :agent, expires_at = :expires_at WHERE id = :id

-- name: keep_token
UPDATE attempt SET token_hash = :token_hash WHERE id = :id AND token_hash <> :token_hash

-- name: renew
-- Who renews says that it is there, not that it gets on.
UPDATE attempt SET lease_ms = :lease_ms, acted_at = :now, expires_at = :expires_at,
  warned_at = CASE WHEN warned_why IN ('failing', 'circling') THEN warned_at END,
  carried_to = CASE WHEN warned_why IN ('failing', 'circling') THEN carried_to END,
  warned_why = CASE WHEN warned_why IN ('failing', 'circling') THEN warned_why END
WHERE id = :id

-- name: act
UPDATE attempt SET acted_at = :now, expires_at = :expires_at, warned_at = NULL, warned_why = NULL, carried_to = NULL
WHERE id = :id

-- name: note
INSERT INTO attempt_note (id, attempt, issue, kind, content, next_steps, important, created_wall)
VALUES (:id, :attempt, :issue, :kind, :content, :next_steps, :important, :wall)

-- name: attach
INSERT INTO artifact (id, issue, attempt, type, uri, title, metadata, created_wall)
VALUES (:id, :issue, :attempt, :type, :uri, :title, :metadata, :wall)

-- name: finish
UPDATE attempt SET status = :status, finished_wall = :wall, result_summary = :result_summary, next_steps = :next_steps,
  verification = :verification, failure_code = :failure_code, interruption_code = :interruption_code,
  reason_details = :reason_details
WHERE id = :id

-- name: keep_for
UPDATE issue SET reserved_for = :agent, reserved_until = :until, version = version + 1, latest_event = :event,
  updated_wall = :wall
WHERE id = :id

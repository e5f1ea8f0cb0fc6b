-- name: find
SELECT * FROM quota WHERE agent = :agent

-- name: all
SELECT * FROM quota ORDER BY reported_at DESC, agent LIMIT :limit

-- What is said again renews it; how often it was tried since stays.
-- name: keep
INSERT INTO quota (agent, until, reason, source, event, reported_at, reported_wall)
VALUES (:agent, :until, :reason, :source, :event, :now, :wall)
ON CONFLICT (agent) DO UPDATE SET until = excluded.until, reason = excluded.reason, source = excluded.source,
  reported_at = excluded.reported_at, reported_wall = excluded.reported_wall

-- name: forget
DELETE FROM quota WHERE agent = :agent

-- name: trying
UPDATE quota SET tries = tries + 1, tried_at = :now, tried_task = :task
WHERE agent = :agent AND until IS NOT NULL AND until <= :now

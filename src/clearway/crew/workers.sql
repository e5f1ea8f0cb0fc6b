-- name: find
SELECT agent, since_at, since_event, set_wall FROM worker WHERE agent = :agent

-- name: activate
INSERT INTO worker (agent, since_at, since_event, set_wall) VALUES (:agent, :since, :event, :wall)
ON CONFLICT (agent) DO UPDATE SET since_at = excluded.since_at, since_event = excluded.since_event,
  set_wall = excluded.set_wall

-- name: people
-- The sessions of an agent that a person may sit at: those of workers have a name of their own.
SELECT id, in_turn, beat_at FROM session WHERE agent = :agent AND ended_at IS NULL AND named = 0
ORDER BY beat_at DESC LIMIT 20

-- name: starts
SELECT count(*) AS count, min(at) AS first FROM worker_start WHERE agent = :agent AND at > :since

-- name: note_start
INSERT INTO worker_start (fence, agent, at) VALUES (:fence, :agent, :now)

-- name: forget_starts
DELETE FROM worker_start WHERE at <= :since

-- name: working
SELECT s.id, s.agent, s.doing, s.in_turn, s.beat_at, s.opened_at,
  (SELECT count(*) FROM worker_start w WHERE w.agent = s.agent AND w.at > :since) AS starts,
  (SELECT min(l.task) FROM task_lease l WHERE l.session = s.id AND l.status = 'held') AS task
FROM session s WHERE s.client = 'worker' AND s.ended_at IS NULL ORDER BY s.opened_at, s.id LIMIT :limit

-- name: activated
SELECT agent, since_event, set_wall FROM worker ORDER BY agent LIMIT :limit

-- name: events
SELECT id, type, at, session, agent, data FROM event
WHERE id < :before AND type IN (
  'paths_claimed', 'paths_released', 'refused', 'overlap_noted', 'path_leaked', 'path_changed_outside', 'path_restored',
  'work_rescued'
)
ORDER BY id DESC LIMIT :limit

-- name: since
SELECT l.claimed_at, (SELECT a.number FROM live_attempt a WHERE a.id = l.attempt) AS number
FROM path_lease l WHERE l.id = :id

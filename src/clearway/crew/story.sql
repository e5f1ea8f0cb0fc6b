-- name: events
SELECT id, type, at, session, agent, data FROM event
WHERE id < :before AND type IN ('paths_claimed', 'paths_released', 'refused', 'overlap_noted')
ORDER BY id DESC LIMIT :limit

-- name: since
SELECT l.claimed_at, a.number FROM path_lease l LEFT JOIN live_attempt a ON a.id = l.attempt WHERE l.id = :id

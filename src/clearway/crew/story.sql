-- The first of the newest so many events about paths, if there are so many. Both questions are those of one index,
-- whose words they repeat.
-- name: floor
SELECT id FROM event WHERE type = 'paths_claimed' OR type = 'paths_released' OR type = 'refused'
  OR type = 'overlap_noted' OR type = 'path_leaked' OR type = 'path_changed_outside' OR type = 'path_restored'
  OR type = 'work_rescued'
ORDER BY id DESC LIMIT 1 OFFSET :read

-- `names`: one of these is in whatever is about the path.
-- name: events
WITH w AS MATERIALIZED (SELECT value FROM json_each(CAST(:names AS TEXT)))
SELECT id, type, at, session, agent, data FROM event
WHERE id < :before AND id >= :floor AND (
  type = 'paths_claimed' OR type = 'paths_released' OR type = 'refused'
  OR type = 'overlap_noted' OR type = 'path_leaked' OR type = 'path_changed_outside' OR type = 'path_restored'
  OR type = 'work_rescued'
)
  AND (:names IS NULL OR EXISTS (SELECT 1 FROM w WHERE instr(lower(data), w.value) > 0))
ORDER BY id DESC LIMIT :limit

-- name: since
SELECT l.claimed_at, (SELECT a.number FROM live_attempt a WHERE a.id = l.attempt) AS number
FROM path_lease l WHERE l.id = :id

-- What happened elsewhere and was imported is not counted.
-- name: events
SELECT id, type, at, issue, data FROM event
WHERE id > :after AND at >= :since
  AND type IN ('refused', 'path_leaked', 'overlap_noted', 'attempt_expired', 'attempt_started')
  AND instr(data, '"imported":true') = 0
ORDER BY id LIMIT :limit

-- name: sessions
SELECT id FROM session WHERE beat_at >= :heard ORDER BY id LIMIT 10000

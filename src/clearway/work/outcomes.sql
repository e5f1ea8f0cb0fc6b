-- name: counts
SELECT (SELECT count(*) FROM issue WHERE created_wall >= :since) AS created,
  (SELECT count(*) FROM issue WHERE status = 'done' AND closed_wall >= :since) AS landed,
  (SELECT count(*) FROM attempt WHERE started_wall >= :since) AS attempts

-- Each with the last work that was done on it.
-- name: landed
SELECT i.number, i.title, i.closed_wall AS at, a.id AS attempt, a.agent, a.result_summary
FROM issue i LEFT JOIN attempt a ON a.fence = (
  SELECT max(w.fence) FROM attempt w WHERE w.issue = i.id AND w.kind = 'work' AND w.status = 'completed')
WHERE i.status = 'done' AND i.closed_wall >= :since ORDER BY i.closed_wall, i.number LIMIT :limit

-- name: in_review
SELECT i.number, i.title, a.finished_wall AS at, a.id AS attempt, a.agent, a.result_summary
FROM issue i JOIN attempt a ON a.fence = (
  SELECT max(w.fence) FROM attempt w WHERE w.issue = i.id AND w.kind = 'work' AND w.status = 'completed')
WHERE i.status = 'review' AND i.archived_wall IS NULL AND a.finished_wall >= :since
  AND NOT EXISTS (SELECT 1 FROM attempt l WHERE l.issue = i.id AND l.status = 'active' AND instr(:gone, l.id) = 0)
ORDER BY a.finished_wall, i.number LIMIT :limit

-- What was blocked since then, and what was worked on without an end. An attempt that lapsed has ended, whether or not
-- that was written yet.
-- name: parked
SELECT i.number, i.title, i.status, i.blocked_reason, coalesce(a.finished_wall, i.updated_wall) AS at, a.id AS attempt,
  a.agent, CASE WHEN a.status = 'active' THEN 'expired' ELSE a.status END AS ended, a.failure_code,
  a.interruption_code, a.reason_details, a.result_summary, a.next_steps
FROM issue i LEFT JOIN attempt a ON a.fence = (
    SELECT max(w.fence) FROM attempt w WHERE w.issue = i.id AND (w.status <> 'active' OR instr(:gone, w.id) > 0))
  AND coalesce(a.finished_wall, :since) >= :since
WHERE i.status IN ('open', 'ready', 'blocked') AND i.archived_wall IS NULL
  AND ((i.status = 'blocked' AND i.updated_wall >= :since) OR (a.id IS NOT NULL AND a.status <> 'completed'))
  AND NOT EXISTS (SELECT 1 FROM attempt l WHERE l.issue = i.id AND l.status = 'active' AND instr(:gone, l.id) = 0)
ORDER BY i.status = 'blocked' DESC, i.priority DESC, i.number LIMIT :limit

-- name: running
SELECT i.number, i.title, CAST(NULL AS INTEGER) AS at, a.id AS attempt, a.agent, a.started_wall, a.warned_why
FROM attempt a JOIN issue i ON i.id = a.issue
WHERE a.status = 'active' AND instr(:gone, a.id) = 0 ORDER BY a.started_wall, a.fence LIMIT :limit

-- name: links
SELECT type, uri, title FROM artifact WHERE attempt = :attempt ORDER BY id LIMIT :limit

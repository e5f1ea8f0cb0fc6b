-- name: last
SELECT a.id, a.agent, a.kind, a.started_wall, a.finished_wall, a.result_summary, a.failure_code, a.interruption_code,
  a.reason_details, a.next_steps, CASE WHEN a.status = 'active' THEN 'expired' ELSE a.status END AS status
FROM attempt a
WHERE a.issue = :issue AND (a.status <> 'active' OR instr(:gone, a.id) > 0)
ORDER BY a.fence DESC LIMIT :limit

-- What it left written down last: a checkpoint before all else.
-- name: checkpoint
SELECT content FROM attempt_note WHERE attempt = :attempt
ORDER BY CASE kind WHEN 'checkpoint' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, id DESC LIMIT 1

-- name: in_the_way
SELECT h.agent, h.shown FROM issue_path p JOIN held_path h
  ON h.path = p.path OR h.path = '.' OR p.path = '.'
    OR (h.path >= p.path || '/' AND h.path < p.path || '0')
    OR substr(p.path, 1, length(h.path) + 1) = h.path || '/'
WHERE p.issue = :issue AND h.checkout <> '@' AND instr(:gone, h.id) = 0
ORDER BY h.id LIMIT 1

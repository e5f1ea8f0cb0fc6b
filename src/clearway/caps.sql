-- name: of_issue
SELECT coalesce(sum(s.micros), 0) - coalesce((SELECT micros FROM cost_forgiven f WHERE f.issue = :issue), 0) AS micros,
  coalesce(sum(s.input - s.cached + s.output), 0)
    - coalesce((SELECT tokens FROM cost_forgiven f WHERE f.issue = :issue), 0) AS tokens
FROM spending s WHERE s.issue = :issue

-- name: since
SELECT coalesce(sum(micros), 0) AS micros, coalesce(sum(input - cached + output), 0) AS tokens FROM spending
WHERE hour >= :hour AND (:agent IS NULL OR agent = :agent)

-- name: to_park
SELECT status FROM issue WHERE id = :issue AND status IN ('open', 'ready') AND archived_wall IS NULL
  AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.issue = issue.id AND a.status = 'active')

-- name: park
UPDATE issue SET status = 'blocked', blocked_reason = :reason, version = version + 1, latest_event = :event,
  updated_wall = :wall
WHERE id = :id

-- What it has cost until now counts no more once a person lets it go on.
-- name: forgive
INSERT INTO cost_forgiven (issue, micros, tokens)
SELECT :issue, coalesce(sum(micros), 0), coalesce(sum(input - cached + output), 0) FROM spending WHERE issue = :issue
ON CONFLICT (issue) DO UPDATE SET micros = excluded.micros, tokens = excluded.tokens

-- name: keep
INSERT INTO attempt_evidence (attempt, verdict, runs, red_runs, edits, command, status, ran_wall, edited_wall)
VALUES (:attempt, :verdict, :runs, :red_runs, :edits, :command, :status, :ran_wall, :edited_wall)
ON CONFLICT (attempt) DO NOTHING

-- name: of_attempt
SELECT verdict, runs, red_runs, edits, command, status, ran_wall, edited_wall FROM attempt_evidence
WHERE attempt = :attempt

-- The last work on it that has ended; nothing, if of that nothing was seen.
-- name: of_issue
SELECT e.verdict, e.runs, e.red_runs, e.edits, e.command, e.status, e.ran_wall, e.edited_wall
FROM attempt_evidence e
WHERE e.attempt = (
  SELECT a.id FROM attempt a WHERE a.issue = :issue AND a.kind = 'work' AND a.status <> 'active'
  ORDER BY a.fence DESC LIMIT 1)

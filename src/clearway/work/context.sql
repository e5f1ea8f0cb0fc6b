-- name: checkpoint
SELECT n.kind, n.content, n.next_steps, n.created_wall, a.agent
FROM attempt_note n JOIN attempt a ON a.id = n.attempt
WHERE n.issue = :issue AND n.kind = 'checkpoint'
ORDER BY n.id DESC LIMIT 1

-- name: notes
SELECT kind, content, next_steps, created_wall FROM attempt_note
WHERE issue = :issue AND kind <> 'checkpoint'
ORDER BY important DESC, id DESC LIMIT :limit

-- name: previous
SELECT status, agent, finished_wall, result_summary, next_steps, verification, failure_code, interruption_code,
  reason_details
FROM attempt WHERE issue = :issue AND status <> 'active'
ORDER BY fence DESC LIMIT 1

-- name: neighbours
SELECT a.number, a.title, a.agent FROM live_attempt a
WHERE a.issue <> :issue AND a.session <> :session AND instr(:gone, a.id) = 0
ORDER BY a.claimed_at DESC, a.id LIMIT :limit

-- name: checkpoint
SELECT n.id, n.kind, n.content, n.next_steps, n.created_wall, a.agent
FROM attempt_note n JOIN attempt a ON a.id = n.attempt
WHERE n.issue = :issue AND n.kind = 'checkpoint' AND n.automatic = 0
ORDER BY n.id DESC LIMIT 1

-- name: since_checkpoint
SELECT n.kind, n.content, n.next_steps, n.created_wall, a.agent
FROM attempt_note n JOIN attempt a ON a.id = n.attempt
WHERE n.issue = :issue AND n.kind = 'checkpoint' AND n.automatic = 1 AND n.id > :after
ORDER BY n.id DESC LIMIT 1

-- name: notes
SELECT kind, content, next_steps, created_wall FROM attempt_note
WHERE issue = :issue AND kind <> 'checkpoint'
ORDER BY important DESC, id DESC LIMIT :limit

-- An attempt that has lapsed is over, before anybody writes so.
-- name: previous
SELECT id, CASE WHEN status = 'active' THEN 'expired' ELSE status END AS status, agent,
  coalesce(finished_wall, :wall) AS ended_wall, result_summary, next_steps, verification, failure_code,
  interruption_code, reason_details
FROM attempt WHERE issue = :issue AND (status <> 'active' OR instr(:gone, id) > 0)
ORDER BY fence DESC LIMIT 1

-- name: artifacts
SELECT type, uri, title FROM artifact WHERE issue = :issue AND attempt = :attempt ORDER BY id DESC LIMIT :limit

-- name: neighbours
SELECT a.number, a.title, a.agent FROM live_attempt a
WHERE a.issue <> :issue AND a.session <> :session AND instr(:gone, a.id) = 0
ORDER BY a.claimed_at DESC, a.id LIMIT :limit

-- The last attempt that is over, else the one that goes on.
-- name: last_attempt
SELECT context_event FROM attempt WHERE issue = :issue
ORDER BY CASE WHEN status = 'active' AND instr(:gone, id) = 0 THEN 1 ELSE 0 END, fence DESC LIMIT 1

-- Without an attempt nothing is news.
-- name: changes
SELECT id, type, at, agent, data FROM event
WHERE issue = :issue AND id > :since AND :since > 0 AND session <> :session
  AND type IN ('status_changed', 'labels_changed', 'issue_updated', 'relation_added', 'relation_removed',
    'issue_archived', 'issue_unarchived')
ORDER BY id DESC LIMIT :limit

-- What was said is for everybody who comes, whoever has been there meanwhile.
-- name: comments
SELECT agent, content, created_wall FROM comment WHERE issue = :issue ORDER BY id DESC LIMIT :limit

-- The answer to a question: the result of whoever looked into it, else the last that was said about it.
-- name: answers
SELECT q.number, q.title, q.answer FROM (
  SELECT i.number, i.title, i.closed_wall, coalesce(
    (SELECT a.result_summary FROM attempt a WHERE a.issue = i.id AND a.status = 'completed'
      ORDER BY a.fence DESC LIMIT 1),
    (SELECT c.content FROM comment c WHERE c.issue = i.id ORDER BY c.id DESC LIMIT 1)) AS answer
  FROM issue_relation r JOIN issue i ON i.id = r.source
  WHERE r.target = :issue AND r.type = 'blocks' AND i.type = 'question' AND i.status = 'done') q
WHERE q.answer IS NOT NULL ORDER BY q.closed_wall DESC, q.number LIMIT :limit

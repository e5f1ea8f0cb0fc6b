-- name: changes
SELECT e.id, e.type, e.at, e.issue, i.number, e.session, e.agent, e.data
FROM event e LEFT JOIN issue i ON i.id = e.issue
WHERE e.id > :since AND (:issue IS NULL OR e.issue = :issue)
  AND (:types IS NULL OR e.type IN (SELECT value FROM json_each(CAST(:types AS TEXT))))
ORDER BY e.id LIMIT :limit

-- name: story
SELECT id, type, at, issue, attempt, session, agent, data, kind FROM (
  SELECT e.id, e.type, e.at, e.issue, e.attempt, e.session, e.agent, e.data,
    CASE WHEN e.type = 'comment_added' THEN 'comments'
      WHEN e.type = 'decision_recorded' THEN 'decisions'
      WHEN substr(e.type, 1, 7) = 'review_' THEN 'reviews'
      WHEN e.type IN ('attempt_note_saved', 'checkpoint_saved') THEN 'attempt_notes'
      WHEN e.type = 'late_result' OR substr(e.type, 1, 8) = 'attempt_' THEN 'attempts'
      ELSE 'events' END AS kind
  FROM event e WHERE e.issue = :issue AND (:before IS NULL OR e.id < :before)) story
WHERE :types IS NULL OR kind IN (SELECT value FROM json_each(CAST(:types AS TEXT)))
  OR (instr(:types, '"artifacts"') > 0 AND (type = 'commit_made' OR instr(data, '"artifact_ids":') > 0))
ORDER BY id DESC LIMIT :limit

-- name: comment
SELECT content FROM comment WHERE id = :id

-- name: decision
SELECT title, summary, status FROM decision WHERE id = :id

-- name: findings
SELECT findings FROM review_request WHERE id = :id AND resolved_event = :event AND findings IS NOT NULL

-- name: note
SELECT kind, content, next_steps, important, automatic FROM attempt_note WHERE id = :id

-- name: result
SELECT result_summary, failure_code, interruption_code, reason_details, next_steps, verification
FROM attempt WHERE id = :id

-- name: attempts
SELECT * FROM (
  SELECT a.id, a.issue, a.session, a.agent, a.kind, a.fence, a.lease_ms, a.expires_at, a.acted_at, a.started_wall,
    a.finished_wall, a.result_summary, a.failure_code, a.interruption_code, a.reason_details, a.next_steps,
    a.verification, a.warned_at, a.warned_why, a.carried_to, i.number, s.named, s.beat_at, s.ended_at,
    CASE WHEN instr(:gone, a.id) > 0 THEN 'expired' ELSE a.status END AS status
  FROM attempt a JOIN issue i ON i.id = a.issue JOIN session s ON s.id = a.session
  WHERE (:issue IS NULL OR a.issue = :issue) AND (:before IS NULL OR a.fence < :before)) listed
WHERE :statuses IS NULL OR status IN (SELECT value FROM json_each(CAST(:statuses AS TEXT)))
ORDER BY fence DESC LIMIT :limit

-- name: artifacts
SELECT id, type, uri, title, metadata FROM artifact WHERE issue = :issue AND attempt = :attempt ORDER BY id

-- name: made
SELECT id, type, uri, title, metadata FROM artifact
WHERE issue = :issue AND id IN (SELECT value FROM json_each(CAST(:ids AS TEXT))) ORDER BY id

-- name: late_results
SELECT at, data FROM event WHERE issue = :issue AND type = 'late_result' AND attempt = :attempt
ORDER BY id DESC LIMIT :limit

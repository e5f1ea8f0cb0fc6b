-- A request whose reviewer has lapsed is open, before anybody writes so.
-- name: find
SELECT q.event, q.id, q.issue, q.number, q.issue_version, q.current_version, q.target_event, q.artifacts, q.status,
  q.version, q.supersedes, q.attempt, q.reviewer, q.findings, q.follow_up_number, q.follow_up_attempt, q.agent,
  q.created_wall, q.resolved_wall, q.stale,
  CASE WHEN q.status = 'open' AND q.stale = 0 AND q.fit = 1 AND q.held = 0 THEN 1 ELSE 0 END AS claimable
FROM (SELECT n.event, n.id, n.issue, n.number, n.issue_version, n.current_version, n.target_event, n.artifacts,
    n.version, n.supersedes, n.findings, n.follow_up_number, n.follow_up_attempt, n.agent, n.created_wall,
    n.resolved_wall, n.stale, n.fit,
    CASE WHEN n.status = 'claimed' AND instr(:gone, n.attempt) > 0 THEN 'open' ELSE n.status END AS status,
    CASE WHEN n.status = 'claimed' AND instr(:gone, n.attempt) > 0 THEN NULL ELSE n.attempt END AS attempt,
    CASE WHEN n.status = 'claimed' AND instr(:gone, n.attempt) > 0 THEN NULL ELSE n.reviewer END AS reviewer,
    CASE WHEN n.holder IS NULL OR instr(:gone, n.holder) > 0 THEN 0 ELSE 1 END AS held
  FROM review_now n WHERE n.id = :id) q

-- name: list
SELECT q.event, q.id, q.issue, q.number, q.issue_version, q.current_version, q.target_event, q.artifacts, q.status,
  q.version, q.supersedes, q.attempt, q.reviewer, q.findings, q.follow_up_number, q.follow_up_attempt, q.agent,
  q.created_wall, q.resolved_wall, q.stale, q.claimable
FROM (SELECT n.event, n.id, n.issue, n.number, n.issue_version, n.current_version, n.target_event, n.artifacts,
    n.version, n.supersedes, substr(n.findings, 1, :chars) AS findings, n.follow_up_number, n.follow_up_attempt,
    n.agent, n.created_wall, n.resolved_wall, n.stale,
    CASE WHEN n.status = 'claimed' AND instr(:gone, n.attempt) > 0 THEN 'open' ELSE n.status END AS status,
    CASE WHEN n.status = 'claimed' AND instr(:gone, n.attempt) > 0 THEN NULL ELSE n.attempt END AS attempt,
    CASE WHEN n.status = 'claimed' AND instr(:gone, n.attempt) > 0 THEN NULL ELSE n.reviewer END AS reviewer,
    CASE WHEN n.status IN ('open', 'claimed') AND n.stale = 0 AND n.fit = 1
      AND (n.holder IS NULL OR instr(:gone, n.holder) > 0) THEN 1 ELSE 0 END AS claimable
  FROM review_now n
  WHERE (:issue IS NULL OR n.issue = :issue) AND (:before IS NULL OR n.event < :before)) q
WHERE (:status IS NULL OR q.status = :status) AND (:claimable IS NULL OR q.claimable = :claimable)
ORDER BY q.event DESC LIMIT :limit

-- name: pending
SELECT id FROM review_request WHERE issue = :issue AND status IN ('open', 'claimed')

-- name: newest
SELECT id FROM review_request WHERE issue = :issue ORDER BY event DESC LIMIT 1

-- name: of_attempt
SELECT id FROM review_request WHERE attempt = :attempt ORDER BY event DESC LIMIT 1

-- name: own_work
SELECT id FROM attempt WHERE issue = :issue AND session = :session AND kind = 'work' LIMIT 1

-- name: changed_since
SELECT id FROM review_change WHERE issue = :issue AND id > :event LIMIT 1

-- name: known_artifacts
SELECT id FROM artifact WHERE issue = :issue AND id IN (SELECT value FROM json_each(CAST(:artifacts AS TEXT)))

-- name: artifacts
SELECT type, uri, title FROM artifact WHERE id IN (SELECT value FROM json_each(CAST(:artifacts AS TEXT))) ORDER BY id

-- name: create
INSERT INTO review_request (event, id, issue, issue_version, target_event, artifacts, status, version, supersedes,
  session, agent, created_wall)
VALUES (:event, :id, :issue, :issue_version, :target_event, :artifacts, 'open', 1, :supersedes, :session, :agent, :wall)

-- name: take
UPDATE review_request SET status = 'claimed', attempt = :attempt, version = version + 1 WHERE id = :id

-- name: look_at
UPDATE attempt SET issue_version = :issue_version, context_event = :event WHERE id = :id

-- name: resolve
UPDATE review_request SET status = :status, version = version + 1, findings = :findings, follow_up = :follow_up,
  resolved_event = :event, resolved_wall = :wall
WHERE id = :id

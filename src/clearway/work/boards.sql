-- Epics group and are never worked on: they are on no board.
-- name: of_status
SELECT id FROM issue
WHERE archived_wall IS NULL AND status = :status AND type <> 'epic'
ORDER BY status, priority DESC, number LIMIT :limit

-- What could be taken.
-- name: free
SELECT id FROM issue
WHERE archived_wall IS NULL AND open_blockers = 0 AND type <> 'epic' AND status IN ('ready', 'review')
  AND status = :status
ORDER BY priority DESC, number LIMIT :limit

-- What is ready or in review and waits for others: it stands with what is blocked, however far back it would be. The
-- status is asked for in a way that no index answers, so that the one made for this is chosen.
-- name: waiting
SELECT id FROM issue
WHERE open_blockers > 0 AND archived_wall IS NULL AND closed_wall IS NULL AND type <> 'epic'
  AND instr('ready review', status) > 0
ORDER BY priority DESC, number LIMIT :limit

-- name: finished
SELECT id FROM issue
WHERE archived_wall IS NULL AND closed_wall IS NOT NULL AND type <> 'epic'
ORDER BY closed_wall DESC, number DESC LIMIT :limit

-- name: live
SELECT a.issue, i.status, i.open_blockers FROM live_attempt a JOIN issue i ON i.id = a.issue
WHERE instr(:gone, a.id) = 0 ORDER BY a.fence LIMIT :limit

-- name: cards
SELECT i.id, i.number, i.type, i.title, i.status, i.priority, i.open_blockers, i.version, i.updated_wall, i.closed_wall,
  i.archived_wall, i.blocked_reason, i.reserved_for, i.reserved_until,
  (SELECT count(*) FROM (SELECT e.status FROM attempt e
    WHERE e.issue = i.id AND e.fence > i.forgiven AND (e.status <> 'active' OR instr(:gone, e.id) > 0)
      ORDER BY e.fence DESC LIMIT :streak) ended
    WHERE ended.status NOT IN ('completed', 'interrupted')) AS failures,
  a.id AS attempt, a.agent, a.session, a.kind, a.expires_at, a.lease_ms, a.started_wall,
  (SELECT json_group_array(l.name) FROM issue_label il JOIN label l ON l.id = il.label WHERE il.issue = i.id) AS labels
FROM json_each(CAST(:ids AS TEXT)) n CROSS JOIN issue i
LEFT JOIN attempt a ON a.issue = i.id AND a.status = 'active' AND instr(:gone, a.id) = 0
WHERE i.id = n.value

-- name: blockers
SELECT b.number FROM issue_relation r JOIN issue b ON b.id = r.source
WHERE r.target = :issue AND r.type = 'blocks' AND b.archived_wall IS NULL AND b.status NOT IN ('done', 'cancelled')
ORDER BY b.number LIMIT :limit

-- name: review
SELECT id, status, version, issue_version, stale FROM review_now WHERE issue = :issue AND status IN ('open', 'claimed')

-- name: count_status
SELECT count(*) AS issues FROM (SELECT 1 AS one FROM issue
  WHERE archived_wall IS NULL AND type IN ('task', 'bug', 'question') AND status = :status LIMIT :limit) counted

-- name: count_free
SELECT count(*) AS issues FROM (SELECT 1 AS one FROM issue
  WHERE archived_wall IS NULL AND open_blockers = 0 AND type <> 'epic' AND status IN ('ready', 'review')
    AND status = :status LIMIT :limit) counted

-- name: count_waiting
SELECT count(*) AS issues FROM (SELECT 1 AS one FROM issue
  WHERE open_blockers > 0 AND archived_wall IS NULL AND closed_wall IS NULL AND type <> 'epic'
    AND instr('ready review', status) > 0 LIMIT :limit) counted

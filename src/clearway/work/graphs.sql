-- What can be taken, in the order in which it is chosen (schedule.sql); what has lapsed may not be written down yet.
-- name: claimable
SELECT i.id FROM issue i
WHERE i.status = 'ready' AND i.archived_wall IS NULL AND i.open_blockers = 0 AND i.type <> 'epic'
  AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.issue = i.id AND a.status = 'active' AND instr(:gone, a.id) = 0)
ORDER BY i.priority DESC, i.unblocks DESC, i.number LIMIT :limit

-- name: in_work
SELECT a.issue AS id FROM live_attempt a WHERE instr(:gone, a.id) = 0 ORDER BY a.number LIMIT :limit

-- name: in_status
SELECT i.id FROM issue i WHERE i.status = :status AND i.archived_wall IS NULL
ORDER BY i.priority DESC, i.number LIMIT :limit

-- name: counts
SELECT i.status, count(*) AS issues FROM issue i WHERE i.archived_wall IS NULL GROUP BY i.status

-- What waits for what, in all that is unfinished. CROSS JOIN says to SQLite where to begin: at the few that block.
-- name: waits
SELECT r.source, r.target FROM issue s CROSS JOIN issue_relation r CROSS JOIN issue t
WHERE s.unblocks > 0 AND s.archived_wall IS NULL AND s.status NOT IN ('done', 'cancelled')
  AND r.source = s.id AND r.type = 'blocks'
  AND t.id = r.target AND t.archived_wall IS NULL AND t.status NOT IN ('done', 'cancelled')
ORDER BY s.unblocks DESC, s.number, t.number LIMIT :limit

-- One step from some issues along relations and, where asked, to and from their epics: the unfinished first.
-- name: near
SELECT i.id FROM issue i
WHERE i.id IN (
  SELECT r.target FROM issue_relation r
  WHERE r.source IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
    AND instr(:types, ',' || r.type || ',') > 0 AND (:outgoing = 1 OR r.type = 'related_to')
  UNION ALL
  SELECT r.source FROM issue_relation r
  WHERE r.target IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
    AND instr(:types, ',' || r.type || ',') > 0 AND (:incoming = 1 OR r.type = 'related_to')
  UNION ALL
  SELECT c.id FROM issue c
  WHERE c.parent IN (SELECT value FROM json_each(CAST(:ids AS TEXT))) AND :hierarchy = 1 AND :outgoing = 1
  UNION ALL
  SELECT c.parent FROM issue c
  WHERE c.id IN (SELECT value FROM json_each(CAST(:ids AS TEXT))) AND c.parent IS NOT NULL
    AND :hierarchy = 1 AND :incoming = 1)
  AND i.archived_wall IS NULL AND (:terminal = 1 OR i.status NOT IN ('done', 'cancelled'))
ORDER BY CASE WHEN i.status IN ('done', 'cancelled') THEN 1 ELSE 0 END, i.priority DESC, i.number
LIMIT :limit

-- The columns of issues.sql find, of several; without the bodies.
-- name: nodes
SELECT i.id, i.number, i.type, i.title, i.status, i.priority, i.open_blockers, i.unblocks, i.version, i.updated_wall,
  i.archived_wall,
  (SELECT count(*) FROM (SELECT a.status FROM attempt a
    WHERE a.issue = i.id AND a.fence > i.forgiven AND (a.status <> 'active' OR instr(:gone, a.id) > 0)
      ORDER BY a.fence DESC LIMIT :streak) ended
    WHERE ended.status NOT IN ('completed', 'interrupted')) AS failures,
  (SELECT a.agent FROM live_attempt a WHERE a.issue = i.id AND instr(:gone, a.id) = 0) AS held_by,
  (SELECT json_group_array(l.name) FROM issue_label il JOIN label l ON l.id = il.label WHERE il.issue = i.id) AS labels
FROM issue i WHERE i.id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: edges
SELECT s.id AS source, t.id AS target, r.type, s.number AS first, t.number AS second
FROM issue_relation r JOIN issue s ON s.id = r.source JOIN issue t ON t.id = r.target
WHERE r.source IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
  AND r.target IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
  AND instr(:types, ',' || r.type || ',') > 0
UNION ALL
SELECT p.id, c.id, 'contains', p.number, c.number
FROM issue c JOIN issue p ON p.id = c.parent
WHERE :hierarchy = 1 AND c.id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
  AND c.parent IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
ORDER BY 4, 5, 3 LIMIT :limit

-- Where a list goes on within one priority, by index: numbers of issues that may be wanted, in order. Each question
-- below is one that an index of the schema answers.
-- name: shown
SELECT i.number FROM issue i
WHERE i.archived_wall IS NULL AND i.priority = :priority AND i.number > :after ORDER BY i.number LIMIT :limit

-- name: all
SELECT i.number FROM issue i WHERE i.priority = :priority AND i.number > :after ORDER BY i.number LIMIT :limit

-- name: of_status
SELECT i.number FROM issue i
WHERE i.archived_wall IS NULL AND i.status = :status AND i.priority = :priority AND i.number > :after
ORDER BY i.number LIMIT :limit

-- name: of_kind
SELECT i.number FROM issue i
WHERE i.archived_wall IS NULL AND i.status = :status AND i.type = :type AND i.priority = :priority AND i.number > :after
ORDER BY i.number LIMIT :limit

-- name: free
SELECT i.number FROM issue i
WHERE i.archived_wall IS NULL AND i.open_blockers = 0 AND i.type <> 'epic' AND i.status IN ('ready', 'review')
  AND i.status = :status AND i.priority = :priority AND i.number > :after
ORDER BY i.number LIMIT :limit

-- name: waiting
SELECT i.number FROM issue i
WHERE i.open_blockers > 0 AND i.archived_wall IS NULL AND i.closed_wall IS NULL AND i.type <> 'epic'
  AND i.priority = :priority AND i.number > :after
ORDER BY i.number LIMIT :limit

-- name: children
SELECT i.number FROM issue i
WHERE i.parent = :parent AND i.priority = :priority AND i.number > :after ORDER BY i.number LIMIT :limit

-- CROSS JOIN says to SQLite where to begin.
-- name: held
SELECT i.number FROM live_attempt a CROSS JOIN issue i
WHERE i.id = a.issue AND i.priority = :priority AND i.number > :after ORDER BY i.number LIMIT :limit

-- name: labelled
SELECT i.number FROM (SELECT DISTINCT issue FROM issue_label
  WHERE label IN (SELECT value FROM json_each(CAST(:labels AS TEXT)))) few CROSS JOIN issue i
WHERE i.id = few.issue AND i.priority = :priority AND i.number > :after ORDER BY i.number LIMIT :limit

-- Those of some issues that the filters admit, as lists show them.
-- name: wanted
SELECT i.number, i.type, i.title, i.status, i.priority, i.open_blockers, i.version, i.updated_wall, i.archived_wall,
  (SELECT count(*) FROM (SELECT a.status FROM attempt a
    WHERE a.issue = i.id AND a.fence > i.forgiven AND (a.status <> 'active' OR instr(:gone, a.id) > 0)
      ORDER BY a.fence DESC LIMIT :streak) ended
    WHERE ended.status NOT IN ('completed', 'interrupted')) AS failures,
  a.agent AS held_by,
  (SELECT json_group_array(l.name) FROM issue_label il JOIN label l ON l.id = il.label WHERE il.issue = i.id) AS labels
FROM json_each(CAST(:numbers AS TEXT)) n CROSS JOIN issue i
LEFT JOIN attempt a ON a.issue = i.id AND a.status = 'active' AND instr(:gone, a.id) = 0
WHERE i.number = CAST(n.value AS BIGINT)
  AND (:archived = 1 OR i.archived_wall IS NULL)
  AND (:statuses IS NULL OR instr(:statuses, ',' || i.status || ',') > 0)
  AND (:effective IS NULL OR instr(:effective, ',' || CASE WHEN a.id IS NULL THEN i.status ELSE 'in_progress' END || ',') > 0)
  AND (:types IS NULL OR instr(:types, ',' || i.type || ',') > 0)
  AND (:labels IS NULL OR EXISTS (SELECT 1 FROM issue_label il
    WHERE il.issue = i.id AND il.label IN (SELECT value FROM json_each(CAST(:labels AS TEXT)))))
  AND (:parent IS NULL OR i.parent = :parent)
  AND (:blocked IS NULL OR :blocked = CASE WHEN i.status = 'blocked' OR (i.open_blockers > 0 AND i.closed_wall IS NULL)
    THEN 1 ELSE 0 END)
  AND (:claimable IS NULL OR :claimable = CASE WHEN i.archived_wall IS NULL AND i.type <> 'epic'
    AND i.status IN ('ready', 'review') AND i.open_blockers = 0 AND a.id IS NULL
    AND (SELECT count(*) FROM (SELECT f.status FROM attempt f
      WHERE f.issue = i.id AND f.fence > i.forgiven AND (f.status <> 'active' OR instr(:gone, f.id) > 0)
      ORDER BY f.fence DESC LIMIT :streak) ended
      WHERE ended.status NOT IN ('completed', 'interrupted')) < :streak THEN 1 ELSE 0 END)
ORDER BY i.number LIMIT :limit

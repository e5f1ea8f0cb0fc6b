-- name: recount
UPDATE issue SET
  open_blockers = (SELECT count(*) FROM issue_relation r JOIN issue s ON s.id = r.source
    WHERE r.target = issue.id AND r.type = 'blocks'
      AND s.archived_wall IS NULL AND s.status NOT IN ('done', 'cancelled')),
  unblocks = (SELECT count(*) FROM issue_relation r JOIN issue t ON t.id = r.target
    WHERE r.source = issue.id AND r.type = 'blocks'
      AND t.archived_wall IS NULL AND t.status NOT IN ('done', 'cancelled'))
WHERE id IN (SELECT value FROM json_each(CAST(:issues AS TEXT)))

-- name: around
SELECT target AS id FROM issue_relation WHERE source = :issue AND type = 'blocks'
UNION
SELECT source FROM issue_relation WHERE target = :issue AND type = 'blocks'

-- name: blockers
SELECT s.number, s.title, s.status
FROM issue_relation r JOIN issue s ON s.id = r.source
WHERE r.target = :issue AND r.type = 'blocks' AND s.archived_wall IS NULL AND s.status NOT IN ('done', 'cancelled')
ORDER BY s.priority DESC, s.number LIMIT :limit

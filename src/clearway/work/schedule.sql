-- The order is that of the index issue_ready, so the first row that passes is the answer. Only a write asks: what has
-- lapsed is gone already.
-- name: best
SELECT i.id, i.number, i.priority, i.unblocks, i.reserved_for, i.reserved_until FROM issue i
WHERE i.status = 'ready' AND i.archived_wall IS NULL AND i.open_blockers = 0 AND i.type <> 'epic'
  AND i.priority >= :least AND i.priority <= :most
  AND (i.latest_event > :since OR EXISTS (SELECT 1 FROM event e WHERE e.issue = i.id AND e.id > :since))
  AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.issue = i.id AND a.status = 'active')
  AND (i.type <> 'question' OR (i.reserved_for = :agent AND i.reserved_until > :now))
  AND (i.reserved_for IS NULL OR i.reserved_until <= :now OR i.reserved_for = :agent)
  AND (:epic IS NULL OR i.parent = :epic)
  AND (i.needs IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(i.needs) n
    WHERE n.value NOT IN (SELECT value FROM json_each(CAST(:able AS TEXT)))))
  AND :failing = CASE WHEN (SELECT count(*) FROM (SELECT t.status FROM attempt t
      WHERE t.issue = i.id AND t.fence > i.forgiven AND t.status <> 'active' ORDER BY t.fence DESC LIMIT :streak) ended
    WHERE ended.status NOT IN ('completed', 'interrupted')) >= :streak THEN 1 ELSE 0 END
  AND (:labels IS NULL OR EXISTS (SELECT 1 FROM issue_label il
    WHERE il.issue = i.id AND il.label IN (SELECT value FROM json_each(CAST(:labels AS TEXT)))))
  AND NOT EXISTS (SELECT 1 FROM issue_path p JOIN held_path h
    ON h.path = p.path OR h.path = '.' OR p.path = '.'
      OR (h.path >= p.path || '/' AND h.path < p.path || '0')
      OR substr(p.path, 1, length(h.path) + 1) = h.path || '/'
    WHERE p.issue = i.id AND h.session <> :session AND h.checkout <> '@')
ORDER BY i.priority DESC, i.unblocks DESC, i.number LIMIT 1

-- The same question for a few issues among many: those are looked at one by one, not all that come before them. CROSS
-- JOIN says to SQLite where to begin.
-- name: best_of_few
SELECT i.id, i.number, i.priority, i.unblocks, i.reserved_for, i.reserved_until
FROM (SELECT DISTINCT issue FROM issue_label
  WHERE label IN (SELECT value FROM json_each(CAST(:labels AS TEXT)))) few CROSS JOIN issue i
WHERE i.id = few.issue
  AND i.status = 'ready' AND i.archived_wall IS NULL AND i.open_blockers = 0 AND i.type <> 'epic'
  AND i.priority >= :least AND i.priority <= :most
  AND (i.latest_event > :since OR EXISTS (SELECT 1 FROM event e WHERE e.issue = i.id AND e.id > :since))
  AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.issue = i.id AND a.status = 'active')
  AND (i.type <> 'question' OR (i.reserved_for = :agent AND i.reserved_until > :now))
  AND (i.reserved_for IS NULL OR i.reserved_until <= :now OR i.reserved_for = :agent)
  AND (:epic IS NULL OR i.parent = :epic)
  AND (i.needs IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(i.needs) n
    WHERE n.value NOT IN (SELECT value FROM json_each(CAST(:able AS TEXT)))))
  AND :failing = CASE WHEN (SELECT count(*) FROM (SELECT t.status FROM attempt t
      WHERE t.issue = i.id AND t.fence > i.forgiven AND t.status <> 'active' ORDER BY t.fence DESC LIMIT :streak) ended
    WHERE ended.status NOT IN ('completed', 'interrupted')) >= :streak THEN 1 ELSE 0 END
  AND NOT EXISTS (SELECT 1 FROM issue_path p JOIN held_path h
    ON h.path = p.path OR h.path = '.' OR p.path = '.'
      OR (h.path >= p.path || '/' AND h.path < p.path || '0')
      OR substr(p.path, 1, length(h.path) + 1) = h.path || '/'
    WHERE p.issue = i.id AND h.session <> :session AND h.checkout <> '@')
ORDER BY i.priority DESC, i.unblocks DESC, i.number LIMIT 1

-- What would come first if nothing were passed over, and what may be said of it: whether its last attempts have failed,
-- and who holds what it is expected to change.
-- name: foremost
SELECT i.id, i.number, i.needs, i.reserved_for, i.reserved_until,
  (SELECT count(*) FROM (SELECT t.status FROM attempt t
      WHERE t.issue = i.id AND t.fence > i.forgiven AND t.status <> 'active' ORDER BY t.fence DESC LIMIT :streak) ended
    WHERE ended.status NOT IN ('completed', 'interrupted')) AS failures,
  (SELECT min(h.agent) FROM issue_path p JOIN held_path h
    ON h.path = p.path OR h.path = '.' OR p.path = '.'
      OR (h.path >= p.path || '/' AND h.path < p.path || '0')
      OR substr(p.path, 1, length(h.path) + 1) = h.path || '/'
    WHERE p.issue = i.id AND h.session <> :session AND h.checkout <> '@') AS in_the_way
FROM issue i
WHERE i.status = 'ready' AND i.archived_wall IS NULL AND i.open_blockers = 0 AND i.type <> 'epic'
  AND i.type <> 'question'
  AND i.priority >= :least AND i.priority <= :most AND (:epic IS NULL OR i.parent = :epic)
  AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.issue = i.id AND a.status = 'active')
ORDER BY i.priority DESC, i.unblocks DESC, i.number LIMIT 1

-- What waits for a review: issues in review, and ready ones of which a review was asked for. A request that looks at
-- what is no longer there counts only where the issue itself is in review.
-- name: best_review
SELECT i.id, i.number, i.priority, i.unblocks, i.reserved_for, i.reserved_until
FROM (SELECT id AS issue FROM issue WHERE status = 'review' AND archived_wall IS NULL
  UNION SELECT r.issue FROM review_request r WHERE r.status = 'open' AND NOT EXISTS
    (SELECT 1 FROM review_change c WHERE c.issue = r.issue AND c.id > r.target_event)) few CROSS JOIN issue i
WHERE i.id = few.issue
  AND i.status IN ('ready', 'review') AND i.archived_wall IS NULL AND i.open_blockers = 0 AND i.type <> 'epic'
  AND i.priority >= :least AND i.priority <= :most
  AND (i.reserved_for IS NULL OR i.reserved_until <= :now OR i.reserved_for = :agent)
  AND (:epic IS NULL OR i.parent = :epic)
  AND (i.needs IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(i.needs) n
    WHERE n.value NOT IN (SELECT value FROM json_each(CAST(:able AS TEXT)))))
  AND (:labels IS NULL OR EXISTS (SELECT 1 FROM issue_label il
    WHERE il.issue = i.id AND il.label IN (SELECT value FROM json_each(CAST(:labels AS TEXT)))))
  AND NOT EXISTS (SELECT 1 FROM attempt a
    WHERE a.issue = i.id AND (a.status = 'active' OR (a.kind = 'work' AND a.session = :session)))
ORDER BY i.priority DESC, i.unblocks DESC, i.number LIMIT 1

-- What is there and cannot be taken: up to a bound, to be told to who finds nothing.
-- name: not_free
SELECT
  (SELECT count(*) FROM (SELECT 1 AS one FROM attempt WHERE status = 'active' LIMIT :most) a) AS live,
  (SELECT count(*) FROM (SELECT 1 AS one FROM issue WHERE status = 'ready' AND archived_wall IS NULL
    AND open_blockers > 0 AND type <> 'epic' LIMIT :most) w) AS waiting,
  (SELECT count(*) FROM (SELECT 1 AS one FROM issue WHERE status = 'open' AND archived_wall IS NULL
    AND type <> 'epic' LIMIT :most) o) AS unready

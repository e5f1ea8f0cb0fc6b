-- name: given_out
SELECT (SELECT coalesce(max(last), 0) FROM (
    SELECT max(id) AS last FROM event UNION ALL SELECT max(id) FROM message UNION ALL SELECT max(event) FROM decision
    UNION ALL SELECT max(event) FROM review_request UNION ALL SELECT max(event) FROM keyframe) given) AS event,
  (SELECT coalesce(max(number), 0) FROM issue) AS issue,
  (SELECT coalesce(max(last), 0) FROM (
    SELECT max(fence) AS last FROM attempt UNION ALL SELECT max(fence) FROM path_lease
    UNION ALL SELECT max(fence) FROM task_lease UNION ALL SELECT max(fence) FROM worker_start) given) AS fence

-- name: miscounted
SELECT count(*) AS count FROM (
  SELECT i.id, i.open_blockers, i.unblocks,
    (SELECT count(*) FROM issue_relation r JOIN issue s ON s.id = r.source
      WHERE r.target = i.id AND r.type = 'blocks' AND s.archived_wall IS NULL
        AND s.status NOT IN ('done', 'cancelled')) AS waits,
    (SELECT count(*) FROM issue_relation r JOIN issue t ON t.id = r.target
      WHERE r.source = i.id AND r.type = 'blocks' AND t.archived_wall IS NULL
        AND t.status NOT IN ('done', 'cancelled')) AS holds
  FROM issue i) compared
WHERE open_blockers <> waits OR unblocks <> holds

-- name: which_miscounted
SELECT id FROM (
  SELECT i.id, i.open_blockers, i.unblocks,
    (SELECT count(*) FROM issue_relation r JOIN issue s ON s.id = r.source
      WHERE r.target = i.id AND r.type = 'blocks' AND s.archived_wall IS NULL
        AND s.status NOT IN ('done', 'cancelled')) AS waits,
    (SELECT count(*) FROM issue_relation r JOIN issue t ON t.id = r.target
      WHERE r.source = i.id AND r.type = 'blocks' AND t.archived_wall IS NULL
        AND t.status NOT IN ('done', 'cancelled')) AS holds
  FROM issue i) compared
WHERE open_blockers <> waits OR unblocks <> holds

-- What can be found and has no entry, and entries without words.
-- name: unindexed [sqlite]
SELECT (SELECT count(*) FROM search_source s
    WHERE NOT EXISTS (SELECT 1 FROM search_entry e WHERE e.type = s.type AND e.entity = s.entity))
  + (SELECT count(*) FROM search_entry e WHERE e.number NOT IN (SELECT rowid FROM search_words)) AS count

-- name: unindexed [postgres]
SELECT (SELECT count(*) FROM search_source s
    WHERE NOT EXISTS (SELECT 1 FROM search_entry e WHERE e.type = s.type AND e.entity = s.entity))
  + (SELECT count(*) FROM search_entry e WHERE NOT EXISTS (SELECT 1 FROM search_words w WHERE w.place = e.number)) AS count

-- A title stands at its entry's number and 2^40.
-- name: indexed_in_vain [sqlite]
SELECT (SELECT count(*) FROM search_entry e
    WHERE NOT EXISTS (SELECT 1 FROM search_source s WHERE s.type = e.type AND s.entity = e.entity))
  + (SELECT count(*) FROM (SELECT rowid AS place FROM search_words) w
    WHERE NOT EXISTS (SELECT 1 FROM search_entry e WHERE e.number = w.place % 1099511627776)) AS count

-- name: indexed_in_vain [postgres]
SELECT (SELECT count(*) FROM search_entry e
    WHERE NOT EXISTS (SELECT 1 FROM search_source s WHERE s.type = e.type AND s.entity = e.entity))
  + (SELECT count(*) FROM search_words w
    WHERE NOT EXISTS (SELECT 1 FROM search_entry e WHERE e.number = w.place % 1099511627776)) AS count

-- name: left_held
SELECT count(*) AS count FROM path_lease l
WHERE l.attempt IS NOT NULL AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.id = l.attempt AND a.status = 'active')

-- name: which_left_held
SELECT l.id, l.session, l.agent, l.shown, l.checkout, l.fence FROM path_lease l
WHERE l.attempt IS NOT NULL AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.id = l.attempt AND a.status = 'active')

-- name: left_watched
SELECT count(*) AS count FROM snapshot s
WHERE s.live = 1 AND NOT EXISTS (SELECT 1 FROM path_lease l
  WHERE l.checkout = s.checkout AND l.session = s.session AND l.mode = 'edit'
    AND (l.path IN (s.path, '.') OR substr(s.path, 1, length(l.path) + 1) = l.path || '/'))

-- name: unwatch
UPDATE snapshot SET live = 0
WHERE live = 1 AND NOT EXISTS (SELECT 1 FROM path_lease l
  WHERE l.checkout = snapshot.checkout AND l.session = snapshot.session AND l.mode = 'edit'
    AND (l.path IN (snapshot.path, '.') OR substr(snapshot.path, 1, length(l.path) + 1) = l.path || '/'))

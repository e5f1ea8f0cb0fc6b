-- name: mail
-- What somebody has to take: not shown to anybody yet, or shown and not answered.
SELECT count(CASE WHEN state = 'queued' THEN 1 END) AS queued,
  min(CASE WHEN state = 'queued' THEN sent_wall END) AS queued_wall,
  count(CASE WHEN state = 'seen' THEN 1 END) AS seen,
  min(CASE WHEN state = 'seen' THEN sent_wall END) AS seen_wall,
  count(CASE WHEN held_back IS NOT NULL THEN 1 END) AS held_back
FROM message WHERE state IN ('queued', 'seen') AND kind IN ('chat', 'task', 'control') AND not_before <= :now

-- name: tasks
SELECT state, count(*) AS count FROM task WHERE state NOT IN ('succeeded', 'cancelled') GROUP BY state ORDER BY state

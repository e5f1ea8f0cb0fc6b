-- name: spend
INSERT INTO spending (hour, session, agent, attempt, issue, task, model, source, input, cached, output, micros, priced,
  records)
VALUES (:hour, :session, :agent, :attempt, :issue, :task, :model, :source, :input, :cached, :output, :micros, :priced, 1)
ON CONFLICT (hour, session, agent, attempt, task, model, source, priced) DO UPDATE SET
  input = spending.input + excluded.input, cached = spending.cached + excluded.cached,
  output = spending.output + excluded.output, micros = spending.micros + excluded.micros,
  records = spending.records + 1

-- name: issue_of_attempt
SELECT issue FROM work_of_attempt WHERE id = :attempt

-- name: issue_of_task
SELECT issue FROM message WHERE id = :task

-- name: live_attempt
SELECT id, issue, session, agent, lease_ms, warned_why FROM live_attempt WHERE issue = :issue

-- name: total
SELECT coalesce(sum(input), 0) AS input, coalesce(sum(cached), 0) AS cached, coalesce(sum(output), 0) AS output,
  coalesce(sum(micros), 0) AS micros, coalesce(sum(priced), 0) AS priced,
  coalesce(sum(CASE WHEN priced = 0 THEN input - cached + output ELSE 0 END), 0) AS unpriced
FROM spending WHERE hour >= :hour AND (:agent IS NULL OR agent = :agent)

-- name: spent_on
SELECT coalesce(sum(input), 0) AS input, coalesce(sum(cached), 0) AS cached, coalesce(sum(output), 0) AS output,
  coalesce(sum(micros), 0) AS micros, coalesce(sum(priced), 0) AS priced, coalesce(sum(records), 0) AS records,
  coalesce(sum(CASE WHEN priced = 0 THEN input - cached + output ELSE 0 END), 0) AS unpriced
FROM spending
WHERE (:issue IS NULL OR issue = :issue) AND (:attempt IS NULL OR attempt = :attempt)

-- What was spent, by what is asked for: an issue and a task have a number, all else has a name.
-- name: spent_by
SELECT numbered, named, sum(input) AS input, sum(cached) AS cached, sum(output) AS output, sum(micros) AS micros,
  sum(priced) AS priced, sum(CASE WHEN priced = 0 THEN input - cached + output ELSE 0 END) AS unpriced
FROM (SELECT s.input, s.cached, s.output, s.micros, s.priced,
    CASE :by WHEN 'issue' THEN i.number WHEN 'task' THEN s.task END AS numbered,
    CASE :by WHEN 'agent' THEN s.agent WHEN 'model' THEN s.model WHEN 'attempt' THEN s.attempt END AS named
  FROM spending s LEFT JOIN issue_name i ON i.id = s.issue
  WHERE s.hour >= :hour AND (:agent IS NULL OR s.agent = :agent)) spent
GROUP BY numbered, named ORDER BY sum(micros) DESC, sum(input - cached + output) DESC, numbered, named LIMIT :limit

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

-- name: by_issue
SELECT i.number, sum(s.input) AS input, sum(s.cached) AS cached, sum(s.output) AS output, sum(s.micros) AS micros,
  sum(s.priced) AS priced, sum(CASE WHEN s.priced = 0 THEN s.input - s.cached + s.output ELSE 0 END) AS unpriced
FROM spending s LEFT JOIN issue_name i ON i.id = s.issue
WHERE s.hour >= :hour AND (:agent IS NULL OR s.agent = :agent)
GROUP BY i.number ORDER BY sum(s.micros) DESC, sum(s.input - s.cached + s.output) DESC, i.number LIMIT :limit

-- name: by_agent
SELECT s.agent AS name, sum(s.input) AS input, sum(s.cached) AS cached, sum(s.output) AS output,
  sum(s.micros) AS micros, sum(s.priced) AS priced,
  sum(CASE WHEN s.priced = 0 THEN s.input - s.cached + s.output ELSE 0 END) AS unpriced
FROM spending s
WHERE s.hour >= :hour AND (:agent IS NULL OR s.agent = :agent)
GROUP BY s.agent ORDER BY sum(s.micros) DESC, sum(s.input - s.cached + s.output) DESC, s.agent LIMIT :limit

-- name: by_model
SELECT s.model AS name, sum(s.input) AS input, sum(s.cached) AS cached, sum(s.output) AS output,
  sum(s.micros) AS micros, sum(s.priced) AS priced,
  sum(CASE WHEN s.priced = 0 THEN s.input - s.cached + s.output ELSE 0 END) AS unpriced
FROM spending s
WHERE s.hour >= :hour AND (:agent IS NULL OR s.agent = :agent)
GROUP BY s.model ORDER BY sum(s.micros) DESC, sum(s.input - s.cached + s.output) DESC, s.model LIMIT :limit

-- name: by_attempt
SELECT s.attempt AS name, sum(s.input) AS input, sum(s.cached) AS cached, sum(s.output) AS output,
  sum(s.micros) AS micros, sum(s.priced) AS priced,
  sum(CASE WHEN s.priced = 0 THEN s.input - s.cached + s.output ELSE 0 END) AS unpriced
FROM spending s
WHERE s.hour >= :hour AND (:agent IS NULL OR s.agent = :agent)
GROUP BY s.attempt ORDER BY sum(s.micros) DESC, sum(s.input - s.cached + s.output) DESC, s.attempt LIMIT :limit

-- name: by_task
SELECT s.task AS name, sum(s.input) AS input, sum(s.cached) AS cached, sum(s.output) AS output,
  sum(s.micros) AS micros, sum(s.priced) AS priced,
  sum(CASE WHEN s.priced = 0 THEN s.input - s.cached + s.output ELSE 0 END) AS unpriced
FROM spending s
WHERE s.hour >= :hour AND (:agent IS NULL OR s.agent = :agent)
GROUP BY s.task ORDER BY sum(s.micros) DESC, sum(s.input - s.cached + s.output) DESC, s.task LIMIT :limit

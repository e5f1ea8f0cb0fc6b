-- What is in the room, in the order of ids, a page at a time. Who made something is told by name: sessions are of one
-- machine.

-- name: labels
SELECT name, normal, description, created_wall FROM label WHERE normal > :after ORDER BY normal LIMIT :limit

-- name: issues
SELECT i.id, i.number, i.type, i.title, i.description, i.acceptance_criteria, i.status, i.priority, i.parent,
  i.blocked_reason, i.needs, i.version, i.created_wall, i.updated_wall, i.closed_wall, i.archived_wall,
  coalesce((SELECT s.agent FROM session s WHERE s.id = i.created_by), i.created_by) AS created_by,
  (SELECT json_group_array(l.name) FROM issue_label il JOIN label l ON l.id = il.label WHERE il.issue = i.id) AS labels,
  (SELECT json_group_array(p.path) FROM issue_path p WHERE p.issue = i.id) AS paths,
  EXISTS (SELECT 1 FROM attempt a WHERE a.issue = i.id AND a.status = 'active') AS held
FROM issue i WHERE i.id > :after ORDER BY i.id LIMIT :limit

-- name: issues_named
SELECT i.id, i.number, i.type, i.title, i.description, i.acceptance_criteria, i.status, i.priority, i.parent,
  i.blocked_reason, i.needs, i.version, i.created_wall, i.updated_wall, i.closed_wall, i.archived_wall,
  coalesce((SELECT s.agent FROM session s WHERE s.id = i.created_by), i.created_by) AS created_by,
  (SELECT json_group_array(l.name) FROM issue_label il JOIN label l ON l.id = il.label WHERE il.issue = i.id) AS labels,
  (SELECT json_group_array(p.path) FROM issue_path p WHERE p.issue = i.id) AS paths,
  EXISTS (SELECT 1 FROM attempt a WHERE a.issue = i.id AND a.status = 'active') AS held
FROM issue i WHERE i.id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- What an import has told itself is not told again elsewhere.
-- name: history
SELECT e.issue, e.type, e.at, e.agent, e.data FROM event e
WHERE e.issue IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
  AND e.type IN (SELECT value FROM json_each(CAST(:types AS TEXT)))
  AND instr(e.data, '"imported":true') = 0
ORDER BY e.id

-- name: relations
SELECT r.source, r.target, r.type, r.created_wall,
  coalesce((SELECT s.agent FROM session s WHERE s.id = r.created_by), r.created_by) AS created_by
FROM issue_relation r
WHERE r.source > :source OR (r.source = :source AND (r.target > :target OR (r.target = :target AND r.type > :type)))
ORDER BY r.source, r.target, r.type LIMIT :limit

-- name: comments
SELECT id, issue, agent, content, created_wall FROM comment WHERE id > :after ORDER BY id LIMIT :limit

-- name: decisions
SELECT id, issue, title, summary, content, status, supersedes, agent, created_wall FROM decision
WHERE id > :after ORDER BY id LIMIT :limit

-- name: attempts
SELECT id, issue, agent, kind, status, issue_version, started_wall, finished_wall, result_summary, next_steps,
  verification, failure_code, interruption_code, reason_details
FROM attempt WHERE id > :after AND status <> 'active' ORDER BY id LIMIT :limit

-- name: notes
SELECT n.id, n.attempt, n.issue, n.kind, n.content, n.next_steps, n.important, n.automatic, n.created_wall
FROM attempt_note n JOIN attempt a ON a.id = n.attempt
WHERE n.id > :after AND a.status <> 'active' ORDER BY n.id LIMIT :limit

-- name: artifacts
SELECT f.id, f.issue, f.attempt, f.type, f.uri, f.title, f.created_wall
FROM artifact f LEFT JOIN attempt a ON a.id = f.attempt
WHERE f.id > :after AND coalesce(a.status, '') <> 'active' ORDER BY f.id LIMIT :limit

-- What is looked at by somebody now waits again, elsewhere.
-- name: reviews
SELECT id, issue, issue_version, artifacts, CASE status WHEN 'claimed' THEN 'open' ELSE status END AS status, version,
  supersedes, CASE status WHEN 'claimed' THEN NULL ELSE attempt END AS attempt, findings, follow_up, agent,
  created_wall, resolved_wall
FROM review_request WHERE id > :after ORDER BY id LIMIT :limit

-- name: left_out
SELECT count(*) AS attempts FROM attempt WHERE status = 'active'

-- name: size
SELECT (SELECT count(*) FROM issue) AS issues, (SELECT count(*) FROM decision) AS decisions

-- What of a document is here already.

-- name: known_comment
SELECT id FROM comment WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_attempt
SELECT id FROM attempt WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_note
SELECT id FROM attempt_note WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_artifact
SELECT id FROM artifact WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_decision
SELECT id, status FROM decision WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_review
SELECT id, status, version FROM review_request WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_relation
SELECT source, target, type FROM issue_relation WHERE source IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_label
SELECT id, normal FROM label WHERE normal IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_types
SELECT id, type, number FROM issue WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: known_numbers
SELECT number, id FROM issue WHERE number IN (SELECT CAST(value AS BIGINT) FROM json_each(CAST(:ids AS TEXT)))

-- name: with_children
SELECT DISTINCT parent AS id FROM issue WHERE parent IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: superseded
SELECT supersedes AS id FROM decision WHERE supersedes IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: pending_reviews
SELECT issue, id FROM review_request
WHERE status IN ('open', 'claimed') AND issue IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: blocks
SELECT source, target FROM issue_relation WHERE type = 'blocks'

-- name: agent_of_attempt
SELECT agent FROM attempt WHERE id = :id

-- Writing.

-- name: write_session
INSERT INTO session (id, agent, client, named, host, in_turn, opened_at, started_at, beat_at, ended_at, ended_why,
  retired_at)
VALUES (:id, :agent, 'import', 1, '', 0, :now, :now, :now, :now, 'import', :now)
ON CONFLICT (id) DO NOTHING

-- name: write_label
INSERT INTO label (id, name, normal, description, created_wall) VALUES (:id, :name, :normal, :description, :wall)

-- name: write_issue
INSERT INTO issue (id, number, type, title, description, acceptance_criteria, status, priority, blocked_reason, version,
  open_blockers, unblocks, needs, latest_event, created_by, created_wall, updated_wall, closed_wall, archived_wall)
VALUES (:id, :number, :type, :title, :description, :acceptance_criteria, :status, :priority, :blocked_reason, :version,
  0, 0, :needs, 0, :created_by, :created_wall, :updated_wall, :closed_wall, :archived_wall)

-- name: update_issue
UPDATE issue SET type = :type, title = :title, description = :description, acceptance_criteria = :acceptance_criteria,
  status = :status, priority = :priority, parent = NULL, blocked_reason = :blocked_reason, version = :version,
  needs = :needs, updated_wall = :updated_wall, closed_wall = :closed_wall, archived_wall = :archived_wall
WHERE id = :id

-- name: adopt_issue
UPDATE issue SET parent = :parent WHERE id = :id

-- name: write_relation
INSERT INTO issue_relation (source, target, type, created_by, created_wall)
VALUES (:source, :target, :type, :created_by, :wall)

-- name: write_comment
INSERT INTO comment (id, issue, session, agent, content, created_wall)
VALUES (:id, :issue, :session, :agent, :content, :wall)

-- name: write_decision
INSERT INTO decision (id, issue, title, summary, content, status, event, session, agent, created_wall)
VALUES (:id, :issue, :title, :summary, :content, :status, :event, :session, :agent, :wall)

-- name: replace_decision
UPDATE decision SET supersedes = :supersedes WHERE id = :id

-- name: settle_decision
UPDATE decision SET status = :status WHERE id = :id

-- name: write_attempt
INSERT INTO attempt (fence, id, issue, session, agent, kind, status, token_hash, lease_ms, issue_version, context_event,
  claimed_at, acted_at, expires_at, started_wall, finished_wall, result_summary, next_steps, verification, failure_code,
  interruption_code, reason_details)
VALUES (:fence, :id, :issue, :session, :agent, :kind, :status, '', 1, :issue_version, 0,
  :now, :now, :now, :started_wall, :finished_wall, :result_summary, :next_steps, :verification, :failure_code,
  :interruption_code, :reason_details)

-- name: write_note
INSERT INTO attempt_note (id, attempt, issue, kind, content, next_steps, important, automatic, created_wall)
VALUES (:id, :attempt, :issue, :kind, :content, :next_steps, :important, :automatic, :wall)

-- name: write_artifact
INSERT INTO artifact (id, issue, attempt, type, uri, title, created_wall)
VALUES (:id, :issue, :attempt, :type, :uri, :title, :wall)

-- name: write_review
INSERT INTO review_request (event, id, issue, issue_version, target_event, artifacts, status, version, attempt, findings,
  follow_up, session, agent, created_wall, resolved_event, resolved_wall)
VALUES (:event, :id, :issue, :issue_version, 0, :artifacts, :status, :version, :attempt, :findings,
  :follow_up, :session, :agent, :wall, :resolved_event, :resolved_wall)

-- name: replace_review
UPDATE review_request SET supersedes = :supersedes WHERE id = :id

-- name: settle_review
UPDATE review_request SET status = :status, version = :version, attempt = :attempt, findings = :findings,
  follow_up = :follow_up, resolved_event = :resolved_event, resolved_wall = :resolved_wall
WHERE id = :id

-- name: write_event
INSERT INTO event (id, type, at, issue, attempt, session, agent, data)
VALUES (:id, :type, :at, :issue, :attempt, :session, :agent, :data)

-- name: decision_told
UPDATE decision SET event = :event WHERE id = :id

-- name: attempt_told
UPDATE attempt SET context_event = :event WHERE id = :id

-- name: review_told
UPDATE review_request SET event = :event, target_event = :event - 1 WHERE id = :id

-- name: review_settled
UPDATE review_request SET resolved_event = :event WHERE id = :id

-- name: note_events
UPDATE issue SET latest_event = coalesce((SELECT max(e.id) FROM event e WHERE e.issue = issue.id), latest_event)
WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

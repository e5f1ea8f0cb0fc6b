-- What a document brings, and what is told of it. Numbers of events are placeholders until the log is written.

-- What an import has told itself is not told again elsewhere.
-- name: history
SELECT e.issue, e.type, e.at, e.agent, e.data FROM event e
WHERE e.issue IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))
  AND e.type IN (SELECT value FROM json_each(CAST(:types AS TEXT)))
  AND instr(e.data, '"imported":true') = 0
ORDER BY e.id

-- name: agent_of_attempt
SELECT agent FROM attempt WHERE id = :id

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
INSERT INTO artifact (id, issue, attempt, type, uri, title, metadata, created_wall)
VALUES (:id, :issue, :attempt, :type, :uri, :title, :metadata, :wall)

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

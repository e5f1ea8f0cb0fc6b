-- name: send
INSERT INTO message (id, kind, sender, sender_session, recipient, recipient_session, text, priority, reply_to, issue,
  dedupe_key, state, held_back, not_before, expires_at, sent_at, sent_wall)
VALUES (:id, :kind, :sender, :sender_session, :recipient, :recipient_session, :text, :priority, :reply_to, :issue,
  :dedupe_key, 'queued', :held_back, :not_before, :expires_at, :now, :wall)

-- name: known_key
SELECT id, state, kind, recipient, addressed_to, text FROM message WHERE sender = :sender AND dedupe_key = :key

-- name: find
SELECT * FROM message WHERE id = :id

-- name: agents
-- The names that have been here, those that still are first. `listed`: it was not retired, or came back.
SELECT agent, max(CASE WHEN ended_at IS NULL THEN 1 ELSE 0 END) AS here,
  max(CASE WHEN retired_at IS NULL THEN 1 ELSE 0 END) AS listed FROM session
GROUP BY agent ORDER BY 2 DESC, 1 LIMIT 500

-- name: sessions_of
-- By the first letters of the id, or by the last, which are shown where all begin with a time; who is here comes first.
SELECT id, ended_at FROM session WHERE agent = :agent AND (substr(id, 1, length(:part)) = :part
  OR (length(:part) >= 4 AND substr(id, length(id) - length(:part) + 1) = :part))
ORDER BY CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END LIMIT 3

-- name: open_sessions
SELECT id FROM session WHERE agent = :agent AND ended_at IS NULL AND named = 0 LIMIT 200

-- name: everybody
SELECT id FROM session WHERE ended_at IS NULL AND named = 0 AND id <> :session LIMIT 200

-- name: addressed
-- What waits for this session of this agent and was not shown to it yet.
SELECT m.* FROM message m
WHERE m.recipient = :agent AND m.state IN ('queued', 'seen') AND (m.recipient_session IS NULL OR m.recipient_session = :session)
  AND m.sender_session <> :session AND m.not_before <= :now AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND NOT EXISTS (SELECT 1 FROM message_shown s WHERE s.session = :session AND s.message = m.id)
ORDER BY m.id DESC LIMIT :limit

-- name: broadcast
SELECT m.* FROM message m
WHERE m.recipient = '*' AND m.id > (SELECT heard FROM session WHERE id = :session) AND m.sender_session <> :session
  AND m.not_before <= :now AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY m.id DESC LIMIT :limit

-- name: shown
INSERT INTO message_shown (session, message, at_wall) VALUES (:session, :id, :wall)
ON CONFLICT (session, message) DO NOTHING

-- name: heard
UPDATE session SET heard = :id WHERE id = :session AND heard < :id

-- name: seen
UPDATE message SET state = CASE kind WHEN 'result' THEN 'done' ELSE 'seen' END, seen_wall = :wall
WHERE id = :id AND state = 'queued' AND recipient <> '*'

-- name: told
DELETE FROM notice WHERE session = :session AND event = :id

-- name: waiting
-- Shown to somebody of this name, and answered by nobody.
SELECT m.* FROM message m
WHERE m.recipient = :agent AND m.state = 'seen' AND m.kind IN ('chat', 'task', 'control') AND m.held_back IS NULL
  AND (m.recipient_session IS NULL OR m.recipient_session = :session) AND m.sent_at > :since
ORDER BY m.id DESC LIMIT :limit

-- name: take
UPDATE message SET state = :state, taken_by = :session, note = :note, taken_wall = :wall WHERE id = :id

-- name: inbox
SELECT m.* FROM message m
WHERE (m.recipient IN (:agent, '*') OR m.sender = :agent OR :all = 1) AND m.id > :since
  AND (m.recipient_session IS NULL OR m.recipient_session = :session OR m.sender = :agent OR :all = 1)
ORDER BY CASE WHEN :since > 0 THEN m.id ELSE -m.id END LIMIT :limit

-- name: late
SELECT m.* FROM message m
WHERE m.recipient <> '*' AND m.state IN ('queued', 'seen') AND m.kind IN ('chat', 'task', 'control')
  AND m.sent_at <= :before AND m.not_before <= :before
ORDER BY m.id LIMIT :limit

-- name: undeliverable
-- Nobody will read these any more: their time is over, the one session they were for has ended, or too many
-- who took the task were lost.
SELECT m.*, 0 AS dead_letter FROM message m
WHERE m.expires_at <= :now AND m.state IN ('queued', 'seen')
UNION ALL
SELECT m.*, 0 AS dead_letter FROM message m JOIN session s ON s.id = m.recipient_session
WHERE m.recipient_session IS NOT NULL AND m.state IN ('queued', 'seen') AND s.ended_at IS NOT NULL
  AND (m.expires_at IS NULL OR m.expires_at > :now)
UNION ALL
SELECT m.*, 1 AS dead_letter FROM task t JOIN message m ON m.id = t.id
WHERE t.state = 'dead_letter' AND m.state IN ('queued', 'seen') AND (m.expires_at IS NULL OR m.expires_at > :now)
LIMIT 50

-- name: of_retired
SELECT m.* FROM message m WHERE m.recipient = :agent AND m.state IN ('queued', 'seen') LIMIT 500

-- name: give_up
UPDATE message SET state = 'undeliverable' WHERE id = :id

-- name: let_go
UPDATE message SET held_back = NULL WHERE id = :id

-- name: issue
SELECT id FROM issue_name WHERE id = :id OR number = :number

-- name: issue_name
SELECT number FROM issue_name WHERE id = :id

-- name: wakes
SELECT sender, count(*) AS count FROM wake WHERE session = :session AND at > :since GROUP BY sender

-- name: note_wake
INSERT INTO wake (session, sender, at) VALUES (:session, :sender, :now) ON CONFLICT (session, sender, at) DO NOTHING

-- name: forget_wakes
DELETE FROM wake WHERE at <= :since

-- name: next_due
SELECT min(not_before) AS at FROM message
WHERE recipient = :agent AND state IN ('queued', 'seen') AND not_before > :now

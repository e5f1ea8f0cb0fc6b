-- name: create
INSERT INTO task (id, state, lapses_max) VALUES (:id, 'pending', :lapses_max)

-- name: add_path
INSERT INTO task_path (task, path) VALUES (:task, :path) ON CONFLICT (task, path) DO NOTHING

-- name: find
SELECT t.id, t.state, t.attempts, t.lapses, t.result, m.kind, m.sender, m.sender_session, m.recipient,
  m.recipient_session, m.addressed_to, m.state AS message_state, m.issue, m.reply_to, m.priority, m.held_back, m.not_before,
  m.expires_at, m.text
FROM task t JOIN message m ON m.id = t.id WHERE t.id = :id

-- The columns after the first are what lapse.py asks of a lease.
-- name: live
SELECT l.fence, l.fence AS id, l.task, l.session, l.agent, l.status, l.token_hash, l.started, l.lease_ms, l.acted_at,
  l.expires_at, s.named, s.beat_at, s.ended_at, s.in_turn, s.pid
FROM task_lease l JOIN session s ON s.id = l.session
WHERE l.task = :task AND l.status = 'held' AND instr(:gone, ' ' || l.fence || ' ') = 0

-- name: of_token
SELECT l.fence, l.fence AS id, l.task, l.session, l.agent, l.status, l.token_hash, l.started, l.lease_ms, l.acted_at,
  l.expires_at, l.late_result, s.named, s.beat_at, s.ended_at, s.in_turn, s.pid
FROM task_lease l JOIN session s ON s.id = l.session
WHERE l.task = :task AND l.token_hash = :token_hash ORDER BY l.fence DESC LIMIT 1

-- name: last_of
SELECT fence FROM task_lease WHERE task = :task AND session = :session ORDER BY fence DESC LIMIT 1

-- name: later
SELECT fence FROM task_lease WHERE task = :task AND fence > :fence LIMIT 1

-- name: take
INSERT INTO task_lease (fence, task, session, agent, status, token_hash, started, lease_ms, acted_at, expires_at,
  taken_wall)
VALUES (:fence, :task, :session, :agent, 'held', :token_hash, 0, :lease_ms, :now, :expires_at, :wall)

-- name: taken
UPDATE task SET state = 'leased', attempts = attempts + 1 WHERE id = :id

-- name: start
UPDATE task_lease SET started = 1, lease_ms = :lease_ms, acted_at = :now, expires_at = :expires_at WHERE fence = :fence

-- name: act
UPDATE task_lease SET acted_at = :now, expires_at = :expires_at WHERE fence = :fence

-- name: end
UPDATE task_lease SET status = 'ended', ended_wall = :wall WHERE fence = :fence

-- name: return_lease
UPDATE task_lease SET status = 'returned', ended_wall = :wall WHERE fence = :fence

-- name: set_state
UPDATE task SET state = :state WHERE id = :id

-- name: expire
UPDATE task SET state = 'expired' WHERE id = :id AND state = 'pending'

-- name: keep_token
UPDATE task_lease SET token_hash = :token_hash WHERE fence = :fence AND token_hash <> :token_hash

-- name: keep_late
UPDATE task_lease SET late_result = :result WHERE fence = :fence

-- name: adopt
UPDATE task_lease SET session = :session, agent = :agent, expires_at = :expires_at WHERE fence = :fence

-- name: adopt_message
UPDATE message SET taken_by = :session WHERE id = :id AND state = 'taking'

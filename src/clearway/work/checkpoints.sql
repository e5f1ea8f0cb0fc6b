-- name: current
SELECT id, issue FROM live_attempt
WHERE session = :session AND instr(:gone, id) = 0 ORDER BY acted_at DESC, id DESC LIMIT 1

-- name: paths_of
SELECT shown FROM held_path WHERE session = :session AND instr(:gone, id) = 0 ORDER BY claimed_at DESC, id LIMIT 100

-- name: last_written
SELECT kind, content, created_wall FROM attempt_note
WHERE attempt = :attempt AND automatic = 0 ORDER BY id DESC LIMIT 1

-- name: last_automatic
SELECT content FROM attempt_note WHERE attempt = :attempt AND automatic = 1 ORDER BY id DESC LIMIT 1

-- name: note
INSERT INTO attempt_note (id, attempt, issue, kind, content, important, automatic, created_wall)
VALUES (:id, :attempt, :issue, 'checkpoint', :content, 0, 1, :wall)

-- name: keep
INSERT INTO session_checkpoint (session, content, created_wall) VALUES (:session, :content, :wall)
ON CONFLICT (session) DO UPDATE SET content = excluded.content, created_wall = excluded.created_wall

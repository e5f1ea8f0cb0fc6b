-- name: open
INSERT INTO session (id, agent, client, named, host, boot, pidns, pid, started, cwd, bound, in_turn, opened_at,
  started_at, beat_at, heard)
VALUES (:id, :agent, :client, :named, :host, :boot, :pidns, :pid, :started, :cwd, :bound, 0, :now, :now, :now,
  (SELECT last_event FROM room))

-- name: reopen
UPDATE session SET agent = :agent, client = :client, named = :named, host = :host, boot = :boot, pidns = :pidns,
  pid = :pid, started = :started, cwd = :cwd, bound = :bound, in_turn = 0, started_at = :now, beat_at = :now,
  briefed_event = 0, moving_at = NULL, call_at = NULL, ended_at = NULL, ended_why = NULL, retired_at = NULL
WHERE id = :id

-- name: move
UPDATE session SET agent = :agent, client = :client, named = :named, host = :host, boot = :boot, pidns = :pidns,
  pid = :pid, started = :started, cwd = :cwd, started_at = :now
WHERE id = :id

-- name: beat
UPDATE session SET beat_at = :now WHERE id = :id

-- name: start
UPDATE session SET started_at = :now, beat_at = :now, cwd = :cwd, in_turn = 0, moving_at = NULL,
  briefed_event = :event
WHERE id = :id

-- name: open_session
SELECT id AS session, agent, in_turn, briefed_event FROM session WHERE id = :id AND ended_at IS NULL

-- name: own
SELECT id, in_turn, beat_at FROM session WHERE id = :id AND ended_at IS NULL

-- name: others_of_process
SELECT id AS session, agent, moving_at FROM session
WHERE ended_at IS NULL AND id <> :id AND host = :host AND boot = :boot AND pid = :pid AND started = :started
  AND substr(id, 1, 4) <> 'mcp-'
ORDER BY moving_at IS NULL, moving_at DESC, started_at DESC LIMIT 8

-- name: moving
UPDATE session SET moving_at = :now, in_turn = 0 WHERE id = :id

-- name: mark_call
UPDATE session SET call_at = :at WHERE id = :id

-- name: turn
UPDATE session SET in_turn = :in_turn WHERE id = :id

-- name: doing
UPDATE session SET doing = :doing WHERE id = :id

-- name: able
UPDATE session SET capabilities = :capabilities WHERE id = :id

-- name: of_process
-- A session made for one MCP connection is that connection's alone.
SELECT id FROM session
WHERE ended_at IS NULL AND host = :host AND boot = :boot AND pid = :pid AND started = :started
  AND substr(id, 1, 4) <> 'mcp-'
ORDER BY started_at DESC, opened_at DESC LIMIT 1

-- name: held
SELECT id, shown, agent, session, purpose, mode, expires_at FROM held_path
WHERE instr(:gone, id) = 0 ORDER BY claimed_at DESC, id LIMIT :limit

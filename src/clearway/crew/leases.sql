-- Whose a lease is: another session's, or with `apart` another thread's of the same session; the main thread's is open
-- to all threads. Above and below are asked for apart, so that each goes by the index; with OR neither does.
-- name: conflicting
SELECT l.id, l.shown, l.agent, l.session, l.thread, l.apart, l.purpose, l.mode, l.expires_at, l.seats FROM (
  SELECT * FROM path_lease
  WHERE checkout = :checkout AND path IN (SELECT value FROM json_each(CAST(:above AS TEXT)))
  UNION ALL
  SELECT * FROM path_lease
  WHERE checkout = :checkout AND path >= :below_from AND path < :below_to AND path <> '.'
) l
WHERE ((l.session <> :session AND NOT (l.agent = :agent AND (l.named = 1 OR :named = 1)))
    OR (:apart = 1 AND l.apart = 1 AND l.session = :session AND l.thread <> '' AND l.thread <> :thread))
  AND NOT (l.mode = 'run' AND :mode = 'run')
  AND instr(:gone, l.id) = 0
ORDER BY l.path, l.id LIMIT :limit

-- name: of_others
SELECT l.id, l.shown, l.agent, l.session, l.purpose, l.mode, l.expires_at, l.seats, c.root
FROM path_lease l JOIN checkout c ON c.id = l.checkout
WHERE c.host = :host AND c.root <> ''
  AND ((l.session <> :session AND NOT (l.agent = :agent AND (l.named = 1 OR :named = 1)))
    OR (:apart = 1 AND l.apart = 1 AND l.session = :session AND l.thread <> '' AND l.thread <> :thread))
  AND NOT (l.mode = 'run' AND :mode = 'run')
  AND instr(:gone, l.id) = 0
ORDER BY l.claimed_at DESC, l.id LIMIT :limit

-- An edit lease serves a run as well; a run lease does not serve an edit.
-- name: covering
SELECT l.id, l.shown, l.agent, l.session, l.purpose, l.mode, l.expires_at FROM path_lease l
WHERE l.checkout = :checkout
  AND l.path IN (SELECT value FROM json_each(CAST(:above AS TEXT)))
  AND ((l.session = :session AND (:apart = 0 OR l.apart = 0 OR l.thread = '' OR l.thread = :thread))
    OR (l.agent = :agent AND l.named = 1))
  AND (l.mode = 'edit' OR l.mode = :mode)
  AND (:lasting = 0 OR l.call = '')
  AND instr(:gone, l.id) = 0
ORDER BY l.path LIMIT 1

-- name: at
SELECT id, session, agent, shown, checkout, fence FROM path_lease
WHERE checkout = :checkout
  AND (path IN (SELECT value FROM json_each(CAST(:above AS TEXT))) OR (path >= :below_from AND path < :below_to))
ORDER BY path, id

-- name: current_attempt
SELECT id FROM live_attempt WHERE session = :session ORDER BY acted_at DESC, id DESC LIMIT 1

-- name: see_checkout
INSERT INTO checkout (id, host, root, branch, seen_at) VALUES (:id, :host, :root, :branch, :now)
ON CONFLICT (id) DO UPDATE SET host = excluded.host, root = excluded.root, branch = excluded.branch,
  seen_at = excluded.seen_at

-- Claiming again renews; what was taken by an edit and is now claimed becomes explicit.
-- name: renew
UPDATE path_lease SET purpose = :purpose, auto = :auto, attempt = :attempt, thread = :thread, apart = :apart,
  fence = :fence, seats = :seats, lease_ms = :lease_ms, expires_at = :expires_at
WHERE id = (
  SELECT id FROM path_lease
  WHERE checkout = :checkout AND path = :path AND session = :session AND mode = :mode AND call = ''
    AND (:apart = 0 OR thread = :thread)
  ORDER BY thread <> :thread, thread LIMIT 1)

-- A call that is told twice is still one run.
-- name: grant
INSERT INTO path_lease (id, checkout, path, shown, mode, session, agent, named, thread, apart, auto, call, seats, attempt,
  purpose, fence, lease_ms, claimed_at, expires_at)
VALUES (:id, :checkout, :path, :shown, :mode, :session, :agent, :named, :thread, :apart, :auto, :call, :seats, :attempt,
  :purpose, :fence, :lease_ms, :now, :expires_at)
ON CONFLICT (checkout, path, session, thread, mode, call) DO UPDATE SET fence = excluded.fence,
  lease_ms = excluded.lease_ms, expires_at = excluded.expires_at

-- name: note_last
INSERT INTO path_last (checkout, path, shown, session, agent, fence, held_at)
VALUES (:checkout, :path, :shown, :session, :agent, :fence, :now)
ON CONFLICT (checkout, path) DO UPDATE SET shown = excluded.shown, session = excluded.session, agent = excluded.agent,
  fence = excluded.fence, held_at = excluded.held_at, settled_wall = NULL,
  former = CASE WHEN path_last.session = excluded.session THEN path_last.former
    WHEN path_last.settled_wall IS NULL THEN path_last.session END

-- name: mine
SELECT id, session, agent, shown, checkout, fence FROM path_lease
WHERE session = :session AND (:apart = 0 OR apart = 0 OR thread = :thread)
ORDER BY path

-- What a named holder has is open to every session of its name.
-- name: mine_within
SELECT id, session, agent, shown, checkout, fence FROM path_lease
WHERE ((session = :session AND (:apart = 0 OR apart = 0 OR thread = '' OR thread = :thread))
    OR (agent = :agent AND named = 1))
  AND checkout = :checkout
  AND (path = :path OR (path >= :below_from AND path < :below_to))
ORDER BY path

-- name: of_call
SELECT id, session, agent, shown, checkout, fence FROM path_lease WHERE session = :session AND call = :call

-- name: auto_of_thread
SELECT id, session, agent, shown, checkout, fence, call FROM path_lease
WHERE session = :session AND thread = :thread AND auto = 1

-- name: holder
SELECT l.id, l.shown, l.agent, l.session, l.purpose, l.mode, l.expires_at, l.lease_ms, s.named, s.beat_at, s.ended_at,
  s.host, s.boot, s.pidns, s.pid, s.started
FROM path_lease l JOIN session s ON s.id = l.session
WHERE l.id = :id

-- name: conflicting
SELECT l.id, l.shown, l.agent, l.session, l.purpose, l.mode, l.expires_at FROM path_lease l
WHERE l.checkout = :checkout
  AND (l.path IN (SELECT value FROM json_each(CAST(:above AS TEXT))) OR (l.path >= :below_from AND l.path < :below_to))
  AND l.session <> :session
  AND NOT (l.agent = :agent AND (l.named = 1 OR :named = 1))
  AND NOT (l.mode = 'run' AND :mode = 'run')
  AND instr(:gone, l.id) = 0
ORDER BY l.path, l.id LIMIT 20

-- An edit lease serves a run as well; a run lease does not serve an edit.
-- name: covering
SELECT l.id, l.shown, l.agent, l.session, l.purpose, l.mode, l.expires_at FROM path_lease l
WHERE l.checkout = :checkout
  AND l.path IN (SELECT value FROM json_each(CAST(:above AS TEXT)))
  AND (l.session = :session OR (l.agent = :agent AND l.named = 1))
  AND (l.mode = 'edit' OR l.mode = :mode)
  AND instr(:gone, l.id) = 0
ORDER BY l.path LIMIT 1

-- name: current_attempt
SELECT id FROM live_attempt WHERE session = :session ORDER BY acted_at DESC, id DESC LIMIT 1

-- name: see_checkout
INSERT INTO checkout (id, host, root, seen_at) VALUES (:id, :host, :root, :now)
ON CONFLICT (id) DO UPDATE SET host = excluded.host, root = excluded.root, seen_at = excluded.seen_at

-- Claiming again renews; what was taken by an edit and is now claimed becomes explicit.
-- name: grant
INSERT INTO path_lease (id, checkout, path, shown, mode, session, agent, named, thread, auto, attempt, purpose, fence,
  lease_ms, claimed_at, expires_at)
VALUES (:id, :checkout, :path, :shown, :mode, :session, :agent, :named, :thread, :auto, :attempt, :purpose, :fence,
  :lease_ms, :now, :expires_at)
ON CONFLICT (checkout, path, session, mode) DO UPDATE SET purpose = excluded.purpose, auto = excluded.auto,
  attempt = excluded.attempt, thread = excluded.thread, fence = excluded.fence, lease_ms = excluded.lease_ms,
  expires_at = excluded.expires_at

-- name: mine
SELECT id, session, agent, shown, checkout, fence FROM path_lease WHERE session = :session ORDER BY path

-- name: mine_within
SELECT id, session, agent, shown, checkout, fence FROM path_lease
WHERE session = :session AND checkout = :checkout
  AND (path = :path OR (path >= :below_from AND path < :below_to))
ORDER BY path

-- name: auto_of_thread
SELECT id, session, agent, shown, checkout, fence FROM path_lease
WHERE session = :session AND thread = :thread AND auto = 1

-- name: find
SELECT path, shown, session, agent, named, live, kept, digest, mode, size, modified, inode, noticed, told, taken_at, taken_wall
FROM snapshot WHERE checkout = :checkout AND path = :path

-- Held files of others below a folder. The folders around the caller's own are asked for one after the other, so the
-- nearest come first and nothing but the index is looked at.
-- name: foreign_within
SELECT s.path, s.shown, s.session, s.agent, s.kept, s.digest, s.size, s.modified, s.inode, s.noticed, s.taken_at
FROM snapshot s
WHERE s.checkout = :checkout AND s.live = 1 AND s.path >= :below_from AND s.path < :below_to
  AND s.session <> :session AND NOT (s.agent = :agent AND (s.named = 1 OR :named = 1))
ORDER BY s.path LIMIT :limit

-- name: foreign_names_within
SELECT s.path, s.shown FROM snapshot s
WHERE s.checkout = :checkout AND s.live = 1 AND s.path >= :below_from AND s.path < :below_to
  AND s.session <> :session AND NOT (s.agent = :agent AND (s.named = 1 OR :named = 1))
ORDER BY s.path LIMIT :limit

-- name: at
SELECT path, shown, session, agent, kept, digest, size, modified, inode, noticed, taken_at FROM snapshot
WHERE checkout = :checkout AND path IN (SELECT value FROM json_each(CAST(:paths AS TEXT)))

-- name: own_leases
SELECT path, shown FROM path_lease WHERE session = :session AND checkout = :checkout AND mode = 'edit'
ORDER BY path LIMIT :limit

-- name: own
SELECT path, shown, size, modified, inode, noticed FROM snapshot
WHERE session = :session AND checkout = :checkout AND live = 1
ORDER BY path LIMIT :limit

-- Leases of others on files that nobody has looked at yet.
-- name: unwatched
SELECT l.path, l.shown, l.session, l.agent, l.named FROM path_lease l
WHERE l.checkout = :checkout AND l.session <> :session AND l.mode = 'edit' AND l.watched = 0
ORDER BY l.path LIMIT :limit

-- name: looked_at
UPDATE path_lease SET watched = 1
WHERE checkout = :checkout AND mode = 'edit' AND watched = 0
  AND path IN (SELECT value FROM json_each(CAST(:paths AS TEXT)))

-- Under which lease the caller writes here.
-- name: lease_of
SELECT session, agent, named FROM path_lease
WHERE checkout = :checkout AND mode = 'edit' AND path IN (SELECT value FROM json_each(CAST(:above AS TEXT)))
  AND (session = :session OR (agent = :agent AND named = 1))
ORDER BY path DESC LIMIT 1

-- name: put
INSERT INTO snapshot (checkout, path, shown, session, agent, named, live, kept, digest, mode, size, modified, inode,
  taken_at, taken_wall)
VALUES (:checkout, :path, :shown, :session, :agent, :named, :live, :kept, :digest, :mode, :size, :modified, :inode,
  :now, :wall)
ON CONFLICT (checkout, path) DO UPDATE SET shown = excluded.shown, session = excluded.session, agent = excluded.agent,
  named = excluded.named, live = excluded.live, kept = excluded.kept, digest = excluded.digest, mode = excluded.mode,
  size = excluded.size, modified = excluded.modified, inode = excluded.inode, noticed = NULL, told = NULL,
  taken_at = excluded.taken_at, taken_wall = excluded.taken_wall

-- The content is as it was; only what the disk says of the file is new.
-- name: touched
UPDATE snapshot SET size = :size, modified = :modified, inode = :inode
WHERE checkout = :checkout AND path = :path AND digest = :digest

-- name: notice_change
UPDATE snapshot SET noticed = :modified, told = :event WHERE checkout = :checkout AND path = :path

-- name: withdraw
DELETE FROM notice WHERE session = :session AND event = :event

-- name: note_leak
INSERT INTO leak (checkout, path, session, agent, digest, at)
VALUES (:checkout, :path, :session, :agent, :digest, :now)
ON CONFLICT (checkout, path, session) DO UPDATE SET digest = excluded.digest, at = excluded.at

-- name: leak_by
SELECT digest FROM leak WHERE checkout = :checkout AND path = :path AND session = :session

-- name: forget_leaks
DELETE FROM leak WHERE checkout = :checkout AND path = :path

-- name: others
SELECT id FROM session
WHERE ended_at IS NULL AND id <> :session AND named = 0 AND host = :host AND beat_at >= :since LIMIT 1

-- name: forget_old
DELETE FROM snapshot WHERE live = 0 AND taken_at < :before

-- name: forget_old_leaks
DELETE FROM leak WHERE at < :before

-- name: oldest
SELECT checkout, path, digest, size FROM snapshot WHERE kept = 'content' ORDER BY live, taken_at LIMIT :limit

-- name: only_print
UPDATE snapshot SET kept = 'print' WHERE digest = :digest

-- name: referred
SELECT DISTINCT digest FROM snapshot WHERE kept = 'content'

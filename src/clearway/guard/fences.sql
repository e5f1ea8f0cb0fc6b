-- What others hold for editing at or above these paths. A run is in nobody's way here: a commit changes no file.
-- name: held
SELECT l.id, l.path, l.shown, l.agent, l.session, l.purpose, l.expires_at, l.claimed_at AS since FROM path_lease l
WHERE l.checkout = :checkout AND l.mode = 'edit'
  AND l.path IN (SELECT value FROM json_each(CAST(:keys AS TEXT)))
  AND l.session <> :session AND NOT (l.agent = :agent AND (l.named = 1 OR :named = 1))
  AND instr(:gone, l.id) = 0

-- What the caller itself holds there: it came last, whoever was there before.
-- name: own
SELECT l.path FROM path_lease l
WHERE l.checkout = :checkout AND l.mode = 'edit'
  AND l.path IN (SELECT value FROM json_each(CAST(:keys AS TEXT)))
  AND (l.session = :session OR (l.agent = :agent AND (l.named = 1 OR :named = 1)))
  AND instr(:gone, l.id) = 0

-- Who came last to these paths, and whether that one is still here.
-- name: last
SELECT f.path, f.shown, f.session, f.agent, f.fence, f.former, f.settled_wall, f.held_at AS since, s.named, s.host, s.boot, s.pidns, s.pid,
  s.started, s.ended_at, s.in_turn, s.beat_at, s.id
FROM path_last f JOIN session s ON s.id = f.session
WHERE f.checkout = :checkout AND f.path IN (SELECT value FROM json_each(CAST(:keys AS TEXT)))

-- name: settle
UPDATE path_last SET settled_wall = :wall, former = NULL
WHERE checkout = :checkout AND path IN (SELECT value FROM json_each(CAST(:keys AS TEXT)))

-- Of sessions that are over nothing is left to ask once their work is committed.
-- name: forget_settled
DELETE FROM path_last
WHERE checkout = :checkout AND settled_wall IS NOT NULL
  AND path IN (SELECT value FROM json_each(CAST(:keys AS TEXT)))
  AND EXISTS (SELECT 1 FROM session s WHERE s.id = path_last.session AND s.ended_at IS NOT NULL)

-- What was left in this checkout by sessions that are over, before anybody looked at commits.
-- name: forget_the_past
DELETE FROM path_last
WHERE checkout = :checkout
  AND EXISTS (SELECT 1 FROM session s WHERE s.id = path_last.session AND s.ended_at IS NOT NULL)

-- name: note_commit
INSERT INTO commit_seen (id, checkout, session, at) VALUES (:id, :checkout, :session, :now) ON CONFLICT (id) DO NOTHING

-- name: forget_seen
DELETE FROM commit_seen WHERE at < :before

-- name: seen
SELECT id FROM commit_seen WHERE id IN (SELECT value FROM json_each(CAST(:ids AS TEXT)))

-- name: own_lease
SELECT l.expires_at, v.user_version, r.anchor_boot, r.anchor_monotonic, r.anchor_room, r.test_clock, s.pid
FROM path_lease l JOIN session s ON s.id = l.session, room r, pragma_user_version v
WHERE l.checkout = ?1 AND l.session = ?2 AND l.mode = 'edit' AND l.apart = 0 AND l.call = '' AND s.ended_at IS NULL
  AND l.path IN (SELECT value FROM json_each(?3))
ORDER BY l.expires_at DESC LIMIT 1

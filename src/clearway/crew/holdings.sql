-- `elsewhere`: in how many other checkouts somebody holds the same path, or one above or below it.
-- name: held
SELECT h.id, h.checkout, h.shown, h.mode, h.session, h.agent, h.purpose, h.call, h.expires_at, h.lease_ms, h.claimed_at,
  c.root, c.branch, c.host,
  (SELECT max(a.number) FROM live_attempt a WHERE a.session = h.session) AS number,
  (SELECT count(DISTINCT o.checkout) FROM path_lease o
    WHERE o.checkout <> h.checkout AND o.checkout <> '@' AND h.checkout <> '@' AND instr(:gone, o.id) = 0
      AND (o.path = h.path OR substr(o.path, 1, length(h.path) + 1) = h.path || '/'
        OR substr(h.path, 1, length(o.path) + 1) = o.path || '/')) AS elsewhere
FROM path_lease h JOIN checkout c ON c.id = h.checkout
WHERE instr(:gone, h.id) = 0
ORDER BY c.root, h.checkout, h.path, h.id LIMIT :limit

-- name: letters
SELECT m.* FROM message m
WHERE (:agent IS NULL OR m.sender = :agent OR m.recipient = :agent)
  AND (:issue IS NULL OR m.issue = :issue)
  AND (:before IS NULL OR m.id < :before)
ORDER BY m.id DESC LIMIT :limit

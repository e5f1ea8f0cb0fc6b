-- name: known
SELECT key FROM notified WHERE channel = :channel

-- name: claim
INSERT INTO notified (key, channel, sent, at) VALUES (:key, :channel, 0, :now)

-- name: sent
UPDATE notified SET sent = 1 WHERE key = :key AND channel = :channel

-- name: strike
DELETE FROM notified WHERE key = :key AND channel = :channel

-- name: old
SELECT key FROM notified WHERE channel = :channel AND at < :before ORDER BY at LIMIT 200

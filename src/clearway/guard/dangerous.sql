-- name: refused
SELECT agent, at, data FROM event WHERE id > :after AND type = 'refused' AND at >= :since ORDER BY id DESC

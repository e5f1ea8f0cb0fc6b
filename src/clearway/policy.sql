-- name: all
SELECT name, value FROM setting

-- name: keep
INSERT INTO setting (name, value, event) VALUES (:name, :value, :event)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, event = excluded.event

-- name: forget
DELETE FROM setting WHERE name = :name

-- name: pause
UPDATE room SET paused_at = :now, paused_until = :until

-- name: resume
UPDATE room SET paused_at = NULL, paused_until = NULL

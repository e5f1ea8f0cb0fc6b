-- name: time
SELECT now FROM server_clock

-- name: exists
SELECT EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = :schema) AS present

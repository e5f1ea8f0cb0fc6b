-- name: time
SELECT now FROM server_clock

-- Not the information schema: it shows a user only what is his own.
-- name: exists
SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = :schema) AS present

-- name: whose
SELECT project_id, test_clock FROM room

-- name: tables
SELECT tablename AS name FROM pg_tables WHERE schemaname = :schema

-- name: stamp
SELECT last_event FROM room

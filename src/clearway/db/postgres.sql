-- name: time
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now

-- name: exists
SELECT EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = :schema) AS present

-- name: repositories
SELECT common_directory FROM repository ORDER BY common_directory

-- name: issues
SELECT count(*) AS issues FROM issue

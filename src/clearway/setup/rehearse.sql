-- name: late_results
SELECT agent, data FROM event WHERE type = 'late_result' ORDER BY id LIMIT 10

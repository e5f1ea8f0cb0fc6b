-- name: doubly_held
SELECT issue FROM attempt WHERE status = 'active' GROUP BY issue HAVING count(*) > 1

-- name: show
SELECT name FROM room

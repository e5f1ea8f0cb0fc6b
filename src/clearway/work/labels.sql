-- name: list
SELECT l.name, l.description, (SELECT count(*) FROM issue_label il WHERE il.label = l.id) AS issues
FROM label l
WHERE :prefix IS NULL OR substr(l.normal, 1, length(:prefix)) = :prefix
ORDER BY l.normal LIMIT :limit OFFSET :offset

-- name: find
SELECT id, name, description FROM label WHERE normal = :normal

-- name: create
INSERT INTO label (id, name, normal, created_wall) VALUES (:id, :name, :normal, :wall)

-- name: attach
INSERT INTO issue_label (issue, label) VALUES (:issue, :label)

-- name: detach_all
DELETE FROM issue_label WHERE issue = :issue

-- name: rename
UPDATE label SET name = :name, normal = :normal WHERE id = :id

-- name: describe
UPDATE label SET description = :description WHERE id = :id

-- name: ids
SELECT id FROM label WHERE normal IN (SELECT value FROM json_each(CAST(:labels AS TEXT)))

-- name: counted
SELECT count(*) AS issues FROM (SELECT issue FROM issue_label
  WHERE label IN (SELECT value FROM json_each(CAST(:labels AS TEXT))) LIMIT :most) counted

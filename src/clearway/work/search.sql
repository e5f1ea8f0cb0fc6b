-- The newest places first that the words are found at. A title's place is above all others, so titles come first.
-- name: places [sqlite]
SELECT rowid AS place FROM search_words WHERE search_words MATCH :match AND rowid < :before
ORDER BY rowid DESC LIMIT :limit

-- name: places [postgres]
SELECT place FROM search_words WHERE words @@ to_tsquery('simple', :tsquery) AND (:before IS NULL OR place < :before)
ORDER BY place DESC LIMIT :limit

-- The same of one issue: its things are asked one by one, however common the words are.
-- name: places_of [sqlite]
SELECT own.place FROM (
  SELECT number AS place FROM search_entry WHERE issue = :issue
  UNION ALL SELECT number + 1099511627776 FROM search_entry WHERE issue = :issue) own
WHERE own.place < :before
  AND EXISTS (SELECT 1 FROM search_words WHERE search_words MATCH :match AND rowid = own.place)
ORDER BY own.place DESC LIMIT :limit

-- name: places_of [postgres]
SELECT w.place FROM (
  SELECT number AS place FROM search_entry WHERE issue = :issue
  UNION ALL SELECT number + 1099511627776 FROM search_entry WHERE issue = :issue) own
JOIN search_words w ON w.place = own.place
WHERE w.words @@ to_tsquery('simple', :tsquery) AND (:before IS NULL OR w.place < :before)
ORDER BY w.place DESC LIMIT :limit

-- Which of some places have the words in their title, too, and so were found already.
-- name: by_title [sqlite]
SELECT p.value AS place FROM json_each(:places) p
WHERE EXISTS (SELECT 1 FROM search_words WHERE search_words MATCH :match AND rowid = p.value + 1099511627776)

-- name: by_title [postgres]
SELECT w.place - 1099511627776 AS place FROM search_words w
WHERE w.words @@ to_tsquery('simple', :tsquery)
  AND w.place IN (SELECT CAST(value AS BIGINT) + 1099511627776 FROM json_each(CAST(:places AS TEXT)))

-- Which of some entries are wanted: by their kind, their issue, and the signs between their words. `literals`: what has
-- to stand in the text letter by letter, a word of an index having no signs.
-- name: wanted
SELECT e.number FROM json_each(CAST(:numbers AS TEXT)) n JOIN search_entry e ON e.number = CAST(n.value AS BIGINT)
LEFT JOIN issue i ON i.id = e.issue
WHERE (:types IS NULL OR instr(:types, ',' || e.type || ',') > 0)
  AND (:archived = 1 OR i.archived_wall IS NULL)
  AND (:epic IS NULL OR i.parent = :epic OR i.id = :epic)
  AND (:statuses IS NULL OR instr(:statuses, ',' || i.status || ',') > 0)
  AND (:labels IS NULL OR EXISTS (SELECT 1 FROM issue_label il JOIN label l ON l.id = il.label
    WHERE il.issue = e.issue AND l.normal IN (SELECT value FROM json_each(CAST(:labels AS TEXT)))))
  AND (:literals IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(CAST(:literals AS TEXT)) w
    WHERE NOT EXISTS (SELECT 1 FROM search_text t WHERE t.number = e.number
        AND instr(lower(coalesce(t.title, '') || ' ' || coalesce(t.text, '')), w.value) > 0)
      AND NOT EXISTS (SELECT 1 FROM issue_label il JOIN label l ON l.id = il.label
        WHERE e.type = 'issue' AND il.issue = e.entity AND instr(l.normal, w.value) > 0)))

-- What is shown of them: the text around the first of the words in it, and no more than that.
-- name: shown
SELECT f.number, f.type, f.entity, f.issue, f.issue_number, f.title, f.place,
  substr(f.text, CAST(CASE WHEN f.place > :lead THEN f.place - :lead ELSE 1 END AS INTEGER), CAST(:chars AS INTEGER))
    AS snippet,
  length(f.text) AS chars
FROM (SELECT t.number, t.type, t.entity, t.issue, i.number AS issue_number, coalesce(t.title, i.title, '') AS title,
    trim(coalesce(t.text, '')) AS text,
    coalesce((SELECT min(instr(lower(trim(coalesce(t.text, ''))), w.value)) FROM json_each(CAST(:words AS TEXT)) w
      WHERE instr(lower(trim(coalesce(t.text, ''))), w.value) > 0), 0) AS place
  FROM json_each(CAST(:numbers AS TEXT)) n JOIN search_text t ON t.number = CAST(n.value AS BIGINT)
  LEFT JOIN issue i ON i.id = t.issue) f

-- name: forget_words [sqlite]
INSERT INTO search_words (search_words) VALUES ('delete-all')

-- name: forget_words [postgres]
DELETE FROM search_words

-- name: forget_entries
DELETE FROM search_entry

-- name: enter_all
INSERT INTO search_entry (number, type, entity, issue)
SELECT row_number() OVER (ORDER BY created_wall, entity), type, entity, issue FROM search_source

-- name: entries
SELECT count(*) AS entries FROM search_entry

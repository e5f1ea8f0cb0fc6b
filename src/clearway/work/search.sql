-- The newest places first that the words are found at. A title's place is above all others, so titles come first.
-- name: places [sqlite]
SELECT rowid AS place FROM search_words WHERE search_words MATCH :match AND rowid < :before
ORDER BY rowid DESC LIMIT :limit

-- name: places [postgres]
SELECT place FROM search_words WHERE words @@ to_tsquery('simple', :tsquery) AND (:before IS NULL OR place < :before)
ORDER BY place DESC LIMIT :limit

-- All places of one issue: what it has to say is read and compared, however common the words are.
-- name: places_of
SELECT own.place FROM (
  SELECT number AS place FROM search_entry WHERE issue = :issue
  UNION ALL SELECT number + 1099511627776 FROM search_entry
    WHERE issue = :issue AND type IN ('issue', 'decision', 'artifact')) own
WHERE own.place < :before
ORDER BY own.place DESC LIMIT :limit

-- What some entries say. CROSS JOIN says to SQLite where to begin.
-- name: texts
SELECT t.number, coalesce(t.title, '') AS title, coalesce(t.text, '') AS text,
  (SELECT json_group_array(l.name) FROM issue_label il JOIN label l ON l.id = il.label
    WHERE t.type = 'issue' AND il.issue = t.entity) AS labels
FROM json_each(CAST(:numbers AS TEXT)) n CROSS JOIN search_text t WHERE t.number = CAST(n.value AS BIGINT)

-- name: titles
SELECT t.number, t.title
FROM json_each(CAST(:numbers AS TEXT)) n CROSS JOIN search_text t
WHERE t.number = CAST(n.value AS BIGINT) AND t.title IS NOT NULL

-- Which of some entries are wanted: by their kind, their issue, and the signs between their words. `literals`: what has
-- to stand in the text letter by letter, a word of an index having no signs.
-- name: wanted
SELECT e.number FROM json_each(CAST(:numbers AS TEXT)) n CROSS JOIN search_entry e LEFT JOIN issue i ON i.id = e.issue
WHERE e.number = CAST(n.value AS BIGINT)
  AND (:types IS NULL OR instr(:types, ',' || e.type || ',') > 0)
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

-- What is shown of them: the text around the first of the words in it, and no more than that. Each text is read once.
-- name: shown
WITH said AS MATERIALIZED (
  SELECT t.number, t.type, t.entity, t.issue, i.number AS issue_number, coalesce(t.title, i.title, '') AS title,
    trim(coalesce(t.text, '')) AS text
  FROM json_each(CAST(:numbers AS TEXT)) n CROSS JOIN search_text t LEFT JOIN issue i ON i.id = t.issue
  WHERE t.number = CAST(n.value AS BIGINT)
), word AS MATERIALIZED (SELECT value FROM json_each(CAST(:words AS TEXT))
), placed AS MATERIALIZED (
  SELECT s.*, coalesce((SELECT min(instr(lower(s.text), w.value)) FROM word w WHERE instr(lower(s.text), w.value) > 0), 0)
    AS place
  FROM said s
)
SELECT number, type, entity, issue, issue_number, title, place, length(text) AS chars,
  substr(text, CAST(CASE WHEN place > :lead THEN place - :lead ELSE 1 END AS INTEGER), CAST(:chars AS INTEGER)) AS snippet
FROM placed

-- The messages that the caller may read, as its inbox has them. What is held back is read by the human alone.
-- name: letters
SELECT id, sender, recipient, text FROM letter
WHERE id < :before AND (:human = 1 OR (held_back IS NULL AND (sender = :agent
  OR (recipient IN (:agent, '*') AND (recipient_session IS NULL OR recipient_session = :session)))))
ORDER BY id DESC LIMIT :limit

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

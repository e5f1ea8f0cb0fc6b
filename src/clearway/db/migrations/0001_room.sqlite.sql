-- The second lock on the door: the database itself refuses what the rules already forbid.

-- Overlap is looked for by index, upwards through the keys that cover the new one and downwards through the range below
-- it. The keys above are put together from the parts of the path.
CREATE TRIGGER path_lease_overlap BEFORE INSERT ON path_lease
WHEN NEW.checkout <> '@' AND (
  EXISTS (
    SELECT 1 FROM path_lease l
    WHERE l.checkout = NEW.checkout
      AND l.path IN (
        SELECT '.' UNION ALL
        SELECT group_concat(value, '/') OVER (ORDER BY key)
        FROM json_each('[' || replace(json_quote(NEW.path), '/', '","') || ']')
      )
      AND ((l.session <> NEW.session AND NOT (l.agent = NEW.agent AND (l.named = 1 OR NEW.named = 1)))
        OR (l.session = NEW.session AND l.apart = 1 AND NEW.apart = 1 AND l.thread <> '' AND l.thread <> NEW.thread))
      AND NOT (l.mode = 'run' AND NEW.mode = 'run')
  )
  OR EXISTS (
    SELECT 1 FROM path_lease l
    WHERE l.checkout = NEW.checkout
      AND l.path >= CASE NEW.path WHEN '.' THEN '' ELSE NEW.path || '/' END
      AND l.path < CASE NEW.path WHEN '.' THEN char(1114111) ELSE NEW.path || '0' END
      AND ((l.session <> NEW.session AND NOT (l.agent = NEW.agent AND (l.named = 1 OR NEW.named = 1)))
        OR (l.session = NEW.session AND l.apart = 1 AND NEW.apart = 1 AND l.thread <> '' AND l.thread <> NEW.thread))
      AND NOT (l.mode = 'run' AND NEW.mode = 'run')
  )
)
BEGIN
  SELECT RAISE(ABORT, 'path_held');
END;

-- Of a counted resource there are as many seats as the most modest of its holders says.
CREATE TRIGGER path_lease_seats BEFORE INSERT ON path_lease
WHEN NEW.checkout = '@' AND (
  SELECT count(DISTINCT l.session || CASE l.apart WHEN 1 THEN ' ' || l.thread ELSE '' END)
    >= min(NEW.seats, coalesce(min(l.seats), NEW.seats))
  FROM path_lease l
  WHERE l.checkout = NEW.checkout AND l.path = NEW.path
    AND ((l.session <> NEW.session AND NOT (l.agent = NEW.agent AND (l.named = 1 OR NEW.named = 1)))
      OR (l.session = NEW.session AND l.apart = 1 AND NEW.apart = 1 AND l.thread <> '' AND l.thread <> NEW.thread))
    AND NOT (l.mode = 'run' AND NEW.mode = 'run')
)
BEGIN
  SELECT RAISE(ABORT, 'path_held');
END;

-- An issue has one active attempt at most. No index says so: it would be one page more that every claim writes.
CREATE TRIGGER attempt_live BEFORE INSERT ON attempt
WHEN NEW.status = 'active' AND EXISTS (SELECT 1 FROM attempt a WHERE a.issue = NEW.issue AND a.status = 'active')
BEGIN
  SELECT RAISE(ABORT, 'attempt_live');
END;
CREATE TRIGGER attempt_live_again BEFORE UPDATE OF status, issue ON attempt
WHEN NEW.status = 'active' AND EXISTS (
  SELECT 1 FROM attempt a WHERE a.issue = NEW.issue AND a.status = 'active' AND a.fence <> OLD.fence
)
BEGIN
  SELECT RAISE(ABORT, 'attempt_live');
END;

-- When a path is held no longer, nobody watches over it. Its snapshot stays for a while, to be brought back. Where
-- another lease of the session still covers it, that one is to be looked at again.
CREATE TRIGGER path_lease_unwatched AFTER DELETE ON path_lease
WHEN OLD.mode = 'edit' AND OLD.checkout <> '@'
BEGIN
  UPDATE snapshot SET live = 0
  WHERE checkout = OLD.checkout AND path = OLD.path AND session = OLD.session AND live = 1;
  UPDATE snapshot SET live = 0
  WHERE checkout = OLD.checkout AND session = OLD.session AND live = 1
    AND path >= CASE OLD.path WHEN '.' THEN '' ELSE OLD.path || '/' END
    AND path < CASE OLD.path WHEN '.' THEN char(1114111) ELSE OLD.path || '0' END;
  UPDATE path_lease SET watched = 0
  WHERE checkout = OLD.checkout AND session = OLD.session AND watched = 1
    AND path IN (
      SELECT '.' UNION ALL
      SELECT group_concat(value, '/') OVER (ORDER BY key)
      FROM json_each('[' || replace(json_quote(OLD.path), '/', '","') || ']')
    );
  UPDATE path_lease SET watched = 0
  WHERE checkout = OLD.checkout AND session = OLD.session AND watched = 1
    AND path >= CASE OLD.path WHEN '.' THEN '' ELSE OLD.path || '/' END
    AND path < CASE OLD.path WHEN '.' THEN char(1114111) ELSE OLD.path || '0' END;
END;

-- A file has no clock of its own: room time runs with the machine's (clock.py).
CREATE VIEW server_clock AS SELECT NULL AS now;

CREATE TRIGGER event_is_final BEFORE UPDATE ON event
BEGIN
  SELECT RAISE(ABORT, 'event_is_final');
END;

-- The words of what can be found. Only the index is kept, the texts are read where they stand. Beginnings of up to three
-- letters are indexed, too: `c*` would otherwise gather most of the room before it finds the newest. Two signs that
-- names of languages are told apart by become words.
CREATE VIRTUAL TABLE search_words USING fts5 (
  words, content = '', contentless_delete = 1, prefix = '1 2 3', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIEW search_indexed AS
  SELECT number, number AS place, replace(replace(coalesce(title, '') || ' ' || text || ' ' || CASE type
    WHEN 'issue' THEN coalesce((SELECT group_concat(l.name, ' ') FROM issue_label il JOIN label l ON l.id = il.label
      WHERE il.issue = entity), '') ELSE '' END, '++', ' plusplus '), '#', ' sharp ') AS words
  FROM search_text
  UNION ALL
  SELECT number, number + 1099511627776, replace(replace(title, '++', ' plusplus '), '#', ' sharp ')
  FROM search_text WHERE title IS NOT NULL;

CREATE TRIGGER search_entry_new AFTER INSERT ON search_entry
BEGIN
  INSERT OR REPLACE INTO search_words (rowid, words) SELECT place, words FROM search_indexed WHERE number = NEW.number;
END;
CREATE TRIGGER search_entry_again AFTER UPDATE ON search_entry
BEGIN
  INSERT OR REPLACE INTO search_words (rowid, words) SELECT place, words FROM search_indexed WHERE number = NEW.number;
END;

-- What is new is entered; what is written anew is indexed again.
CREATE TRIGGER search_issue AFTER INSERT ON issue
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'issue', NEW.id, NEW.id FROM search_entry;
END;
CREATE TRIGGER search_comment AFTER INSERT ON comment
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'comment', NEW.id, NEW.issue FROM search_entry;
END;
CREATE TRIGGER search_decision AFTER INSERT ON decision
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'decision', NEW.id, NEW.issue FROM search_entry;
END;
CREATE TRIGGER search_attempt_note AFTER INSERT ON attempt_note
WHEN NEW.automatic = 0
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'attempt_note', NEW.id, NEW.issue FROM search_entry;
END;
CREATE TRIGGER search_artifact AFTER INSERT ON artifact
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'artifact', NEW.id, NEW.issue FROM search_entry;
END;
CREATE TRIGGER search_attempt AFTER UPDATE OF result_summary ON attempt
WHEN NEW.result_summary IS NOT NULL AND OLD.result_summary IS NULL
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'attempt', NEW.id, NEW.issue FROM search_entry;
END;
CREATE TRIGGER search_attempt_whole AFTER INSERT ON attempt
WHEN NEW.result_summary IS NOT NULL
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'attempt', NEW.id, NEW.issue FROM search_entry;
END;
CREATE TRIGGER search_review AFTER UPDATE OF findings ON review_request
WHEN NEW.findings IS NOT NULL AND OLD.findings IS NULL
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'review', NEW.id, NEW.issue FROM search_entry;
END;
CREATE TRIGGER search_review_whole AFTER INSERT ON review_request
WHEN NEW.findings IS NOT NULL
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, 'review', NEW.id, NEW.issue FROM search_entry;
END;
CREATE TRIGGER search_issue_again AFTER UPDATE OF title, description, acceptance_criteria, blocked_reason ON issue
WHEN NEW.title <> OLD.title OR NEW.description IS NOT OLD.description
  OR NEW.acceptance_criteria IS NOT OLD.acceptance_criteria OR NEW.blocked_reason IS NOT OLD.blocked_reason
BEGIN
  UPDATE search_entry SET issue = issue WHERE type = 'issue' AND entity = NEW.id;
END;
CREATE TRIGGER search_label AFTER INSERT ON issue_label
BEGIN
  INSERT OR REPLACE INTO search_words (rowid, words) SELECT place, words FROM search_indexed
  WHERE number = (SELECT number FROM search_entry WHERE type = 'issue' AND entity = NEW.issue) AND place < 1099511627776;
END;
CREATE TRIGGER search_label_gone AFTER DELETE ON issue_label
BEGIN
  INSERT OR REPLACE INTO search_words (rowid, words) SELECT place, words FROM search_indexed
  WHERE number = (SELECT number FROM search_entry WHERE type = 'issue' AND entity = OLD.issue) AND place < 1099511627776;
END;
CREATE TRIGGER search_label_renamed AFTER UPDATE OF name ON label
BEGIN
  UPDATE search_entry SET issue = issue
  WHERE type = 'issue' AND entity IN (SELECT issue FROM issue_label WHERE label = NEW.id);
END;

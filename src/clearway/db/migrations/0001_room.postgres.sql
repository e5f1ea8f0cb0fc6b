-- The second lock on the door: the database itself refuses what the rules already forbid.

-- Overlap is looked for by index: upwards through the keys that cover the new one, downwards through the range below it.
-- Of a counted resource (checkout `@`) there are as many seats as the most modest of its holders says.
CREATE FUNCTION path_lease_overlap() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  parts TEXT[] := string_to_array(NEW.path, '/');
  above TEXT[] := ARRAY[NEW.path, '.'];
  others BIGINT;
  fewest BIGINT;
BEGIN
  FOR depth IN 1 .. array_length(parts, 1) - 1 LOOP
    above := above || array_to_string(parts[1:depth], '/');
  END LOOP;
  SELECT count(DISTINCT l.session || CASE l.apart WHEN 1 THEN ' ' || l.thread ELSE '' END), least(NEW.seats, min(l.seats))
  INTO others, fewest
  FROM (
    SELECT * FROM path_lease WHERE checkout = NEW.checkout AND path = ANY (above)
    UNION ALL
    SELECT * FROM path_lease
    WHERE checkout = NEW.checkout AND path <> '.'
      AND path >= CASE NEW.path WHEN '.' THEN '' ELSE NEW.path || '/' END
      AND path < CASE NEW.path WHEN '.' THEN chr(1114111) ELSE NEW.path || '0' END
  ) l
  WHERE ((l.session <> NEW.session AND NOT (l.agent = NEW.agent AND (l.named = 1 OR NEW.named = 1)))
      OR (l.session = NEW.session AND l.apart = 1 AND NEW.apart = 1 AND l.thread <> '' AND l.thread <> NEW.thread))
    AND NOT (l.mode = 'run' AND NEW.mode = 'run');
  IF others > 0 AND (NEW.checkout <> '@' OR others >= fewest) THEN
    RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = 'path_held', CONSTRAINT = 'path_held';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER path_lease_overlap BEFORE INSERT ON path_lease FOR EACH ROW EXECUTE FUNCTION path_lease_overlap();

-- An issue has one active attempt at most.
CREATE UNIQUE INDEX attempt_live ON attempt (issue) WHERE status = 'active';

-- When a path is held no longer, nobody watches over it. Its snapshot stays for a while, to be brought back. Where
-- another lease of the session still covers it, that one is to be looked at again.
CREATE FUNCTION path_lease_unwatched() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  parts TEXT[] := string_to_array(OLD.path, '/');
  above TEXT[] := ARRAY[OLD.path, '.'];
BEGIN
  FOR depth IN 1 .. array_length(parts, 1) - 1 LOOP
    above := above || array_to_string(parts[1:depth], '/');
  END LOOP;
  UPDATE snapshot SET live = 0
  WHERE checkout = OLD.checkout AND path = OLD.path AND session = OLD.session AND live = 1;
  UPDATE snapshot SET live = 0
  WHERE checkout = OLD.checkout AND session = OLD.session AND live = 1
    AND path >= CASE OLD.path WHEN '.' THEN '' ELSE OLD.path || '/' END
    AND path < CASE OLD.path WHEN '.' THEN chr(1114111) ELSE OLD.path || '0' END;
  UPDATE path_lease SET watched = 0
  WHERE checkout = OLD.checkout AND session = OLD.session AND watched = 1 AND path = ANY (above);
  UPDATE path_lease SET watched = 0
  WHERE checkout = OLD.checkout AND session = OLD.session AND watched = 1
    AND path >= CASE OLD.path WHEN '.' THEN '' ELSE OLD.path || '/' END
    AND path < CASE OLD.path WHEN '.' THEN chr(1114111) ELSE OLD.path || '0' END;
  RETURN NULL;
END $$;
CREATE TRIGGER path_lease_unwatched AFTER DELETE ON path_lease
FOR EACH ROW WHEN (OLD.mode = 'edit' AND OLD.checkout <> '@') EXECUTE FUNCTION path_lease_unwatched();

-- Many machines share this room; its time is the server's.
CREATE VIEW server_clock AS SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now;

CREATE FUNCTION event_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = 'event_is_final', CONSTRAINT = 'event_is_final';
END $$;
CREATE TRIGGER event_is_final BEFORE UPDATE ON event FOR EACH ROW EXECUTE FUNCTION event_is_final();

-- Under the names that SQLite has for them: the place of a text in another, the values of a JSON list, and a JSON list
-- of values. So statements stay one text.
CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT strpos($1, $2) $$;
CREATE FUNCTION json_each(text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE
  AS $$ SELECT json_array_elements_text($1::json) $$;
CREATE FUNCTION json_group_done(text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT array_to_json($1)::text $$;
CREATE AGGREGATE json_group_array (text) (
  SFUNC = array_append, STYPE = text[], INITCOND = '{}', FINALFUNC = json_group_done
);

-- The words of what can be found: runs of letters and digits without accents, as SQLite's index has them. Two signs that names of
-- languages are told apart by become words.
CREATE FUNCTION search_vector(said text) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
  SELECT to_tsvector('simple', regexp_replace(
    regexp_replace(normalize(replace(replace(lower(left(said, 200000)), '++', ' plusplus '), '#', ' sharp '), NFD),
      '[\u0300-\u036F]+', '', 'g'), '[\x01-\x2F:-@\[-`{-\x7F]+', ' ', 'g'))
$$;
CREATE TABLE search_words (
  place BIGINT PRIMARY KEY,
  words TSVECTOR NOT NULL
);
CREATE INDEX search_words_found ON search_words USING gin (words);
CREATE VIEW search_indexed AS
  SELECT number, number AS place, search_vector(coalesce(title, '') || ' ' || text || ' ' || CASE type
    WHEN 'issue' THEN coalesce((SELECT string_agg(l.name, ' ') FROM issue_label il JOIN label l ON l.id = il.label
      WHERE il.issue = entity), '') ELSE '' END) AS words
  FROM search_text
  UNION ALL
  SELECT number, number + 1099511627776, search_vector(title) FROM search_text WHERE title IS NOT NULL;

CREATE FUNCTION search_again(which bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO search_words (place, words) SELECT place, words FROM search_indexed WHERE number = which AND words IS NOT NULL
  ON CONFLICT (place) DO UPDATE SET words = excluded.words
$$;
CREATE FUNCTION search_entry_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM search_again(NEW.number);
  RETURN NULL;
END $$;
CREATE TRIGGER search_entry_written AFTER INSERT OR UPDATE ON search_entry
FOR EACH ROW EXECUTE FUNCTION search_entry_written();

-- What is new is entered; what is written anew is indexed again. The argument is the type of the entry.
CREATE FUNCTION search_entered() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_entry (number, type, entity, issue)
  SELECT coalesce(max(number), 0) + 1, TG_ARGV[0], NEW.id, CASE TG_ARGV[0] WHEN 'issue' THEN NEW.id ELSE to_jsonb(NEW) ->> 'issue' END
  FROM search_entry;
  RETURN NULL;
END $$;
CREATE TRIGGER search_issue AFTER INSERT ON issue
FOR EACH ROW EXECUTE FUNCTION search_entered('issue');
CREATE TRIGGER search_comment AFTER INSERT ON comment
FOR EACH ROW EXECUTE FUNCTION search_entered('comment');
CREATE TRIGGER search_decision AFTER INSERT ON decision
FOR EACH ROW EXECUTE FUNCTION search_entered('decision');
CREATE TRIGGER search_attempt_note AFTER INSERT ON attempt_note
FOR EACH ROW WHEN (NEW.automatic = 0) EXECUTE FUNCTION search_entered('attempt_note');
CREATE TRIGGER search_artifact AFTER INSERT ON artifact
FOR EACH ROW EXECUTE FUNCTION search_entered('artifact');
CREATE TRIGGER search_attempt AFTER UPDATE OF result_summary ON attempt
FOR EACH ROW WHEN (NEW.result_summary IS NOT NULL AND OLD.result_summary IS NULL) EXECUTE FUNCTION search_entered('attempt');
CREATE TRIGGER search_attempt_whole AFTER INSERT ON attempt
FOR EACH ROW WHEN (NEW.result_summary IS NOT NULL) EXECUTE FUNCTION search_entered('attempt');
CREATE TRIGGER search_review AFTER UPDATE OF findings ON review_request
FOR EACH ROW WHEN (NEW.findings IS NOT NULL AND OLD.findings IS NULL) EXECUTE FUNCTION search_entered('review');
CREATE TRIGGER search_review_whole AFTER INSERT ON review_request
FOR EACH ROW WHEN (NEW.findings IS NOT NULL) EXECUTE FUNCTION search_entered('review');
CREATE FUNCTION search_issue_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM search_again(number) FROM search_entry WHERE type = 'issue' AND entity = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER search_issue_again AFTER UPDATE OF title, description, acceptance_criteria, blocked_reason ON issue
FOR EACH ROW WHEN ((NEW.title, NEW.description, NEW.acceptance_criteria, NEW.blocked_reason)
  IS DISTINCT FROM (OLD.title, OLD.description, OLD.acceptance_criteria, OLD.blocked_reason))
EXECUTE FUNCTION search_issue_again();
CREATE FUNCTION search_labelled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM search_again(number) FROM search_entry
  WHERE type = 'issue' AND entity = CASE TG_OP WHEN 'DELETE' THEN OLD.issue ELSE NEW.issue END;
  RETURN NULL;
END $$;
CREATE TRIGGER search_labelled AFTER INSERT OR DELETE ON issue_label FOR EACH ROW EXECUTE FUNCTION search_labelled();
CREATE FUNCTION search_label_renamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM search_again(e.number) FROM issue_label il JOIN search_entry e ON e.type = 'issue' AND e.entity = il.issue
  WHERE il.label = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER search_label_renamed AFTER UPDATE OF name ON label
FOR EACH ROW EXECUTE FUNCTION search_label_renamed();

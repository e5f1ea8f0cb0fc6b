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

-- When a path is held no longer, nobody watches over it. Its snapshot stays for a while, to be brought back.
CREATE FUNCTION path_lease_unwatched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE snapshot SET live = 0
  WHERE checkout = OLD.checkout AND path = OLD.path AND session = OLD.session AND live = 1;
  UPDATE snapshot SET live = 0
  WHERE checkout = OLD.checkout AND session = OLD.session AND live = 1
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

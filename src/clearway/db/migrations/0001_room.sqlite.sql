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

-- When a path is held no longer, nobody watches over it. Its snapshot stays for a while, to be brought back.
CREATE TRIGGER path_lease_unwatched AFTER DELETE ON path_lease
WHEN OLD.mode = 'edit' AND OLD.checkout <> '@'
BEGIN
  UPDATE snapshot SET live = 0
  WHERE checkout = OLD.checkout AND path = OLD.path AND session = OLD.session AND live = 1;
  UPDATE snapshot SET live = 0
  WHERE checkout = OLD.checkout AND session = OLD.session AND live = 1
    AND path >= CASE OLD.path WHEN '.' THEN '' ELSE OLD.path || '/' END
    AND path < CASE OLD.path WHEN '.' THEN char(1114111) ELSE OLD.path || '0' END;
END;

-- A file has no clock of its own: room time runs with the machine's (clock.py).
CREATE VIEW server_clock AS SELECT NULL AS now;

CREATE TRIGGER event_is_final BEFORE UPDATE ON event
BEGIN
  SELECT RAISE(ABORT, 'event_is_final');
END;

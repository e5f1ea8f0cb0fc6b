-- The second lock on the door: the database itself refuses what the rules already forbid.

CREATE TRIGGER path_lease_overlap BEFORE INSERT ON path_lease
WHEN EXISTS (
  SELECT 1 FROM path_lease l
  WHERE l.checkout = NEW.checkout
    AND l.session <> NEW.session
    AND NOT (l.agent = NEW.agent AND (l.named = 1 OR NEW.named = 1))
    AND NOT (l.mode = 'run' AND NEW.mode = 'run')
    AND (l.path = NEW.path OR l.path = '.' OR NEW.path = '.'
      OR (l.path >= NEW.path || '/' AND l.path < NEW.path || '0')
      OR substr(NEW.path, 1, length(l.path) + 1) = l.path || '/')
)
BEGIN
  SELECT RAISE(ABORT, 'path_held');
END;

-- A file has no clock of its own: room time runs with the machine's (clock.py).
CREATE VIEW server_clock AS SELECT NULL AS now;

CREATE TRIGGER event_is_final BEFORE UPDATE ON event
BEGIN
  SELECT RAISE(ABORT, 'event_is_final');
END;

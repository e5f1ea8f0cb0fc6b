-- name: open
-- Open sessions, those heard of last first. `holds`: a lease that has not lapsed.
SELECT s.id, s.agent, s.client, s.doing, s.in_turn, s.beat_at, s.ended_at, s.host, s.boot, s.pidns, s.pid, s.started,
  (SELECT max(a.number) FROM live_attempt a WHERE a.session = s.id AND instr(:attempts, a.id) = 0) AS number,
  (SELECT max(a.warned_why) FROM live_attempt a WHERE a.session = s.id AND instr(:attempts, a.id) = 0) AS stuck,
  EXISTS (SELECT 1 FROM held_path h WHERE h.session = s.id AND instr(:paths, h.id) = 0)
    OR EXISTS (SELECT 1 FROM live_attempt a WHERE a.session = s.id AND instr(:attempts, a.id) = 0) AS holds
FROM session s
WHERE s.ended_at IS NULL
ORDER BY s.beat_at DESC, s.id LIMIT :limit

-- name: of_agent
SELECT s.id, s.agent, s.retired_at, s.in_turn, s.beat_at, s.ended_at, s.host, s.boot, s.pidns, s.pid, s.started,
  EXISTS (SELECT 1 FROM held_path h WHERE h.session = s.id)
    OR EXISTS (SELECT 1 FROM live_attempt a WHERE a.session = s.id)
    OR EXISTS (SELECT 1 FROM task_lease t WHERE t.session = s.id AND t.status = 'held') AS holds
FROM session s
WHERE s.agent = :agent
ORDER BY s.retired_at IS NOT NULL, s.beat_at DESC, s.id LIMIT :limit

-- name: count_ended
-- Those that went on under another id have not ended.
SELECT count(*) AS count FROM session
WHERE ended_at > :since AND ended_why <> 'moved' AND retired_at IS NULL AND id <> :session

-- name: retire
UPDATE session SET retired_at = :now WHERE id = :id

-- name: count_waiting
SELECT count(*) AS count FROM message WHERE recipient = :agent AND state IN ('queued', 'seen')

-- name: two_names
SELECT session, min(agent) AS first, max(agent) AS second FROM event
WHERE id > :after AND at > :since GROUP BY session HAVING min(agent) <> max(agent) ORDER BY session LIMIT 20

-- name: two_names_of_one_process
-- A session made for one MCP connection, beside one that the hooks of the same client know.
SELECT m.id AS session, m.agent AS first, s.agent AS second
FROM session m JOIN session s
  ON s.host = m.host AND s.boot = m.boot AND s.pid = m.pid AND s.started = m.started AND s.agent <> m.agent
WHERE m.ended_at IS NULL AND s.ended_at IS NULL AND substr(m.id, 1, 4) = 'mcp-' AND substr(s.id, 1, 4) <> 'mcp-'
ORDER BY m.id LIMIT 20

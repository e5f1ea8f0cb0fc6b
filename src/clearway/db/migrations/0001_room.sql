-- The first schema of a room. The text is one for both engines: PostgreSQL reads INTEGER as BIGINT, TEXT as TEXT that
-- sorts by code point, and drops STRICT (db/migrate.py). Times are integer milliseconds: `*_at` in room time unless a
-- comment says wall. What differs between the engines stands in the files of the same number.

-- Which room this is, how far its counters are, and the anchor of room time (clock.py). Exactly one row.
CREATE TABLE room (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  project_id TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  issue_key TEXT NOT NULL DEFAULT 'ISSUE',
  instructions TEXT,
  created_wall INTEGER NOT NULL,
  test_clock INTEGER NOT NULL CHECK (test_clock IN (0, 1)),
  anchor_boot TEXT NOT NULL,
  anchor_monotonic INTEGER NOT NULL,
  anchor_wall INTEGER NOT NULL,
  anchor_room INTEGER NOT NULL,
  last_event INTEGER NOT NULL,
  last_issue INTEGER NOT NULL,
  last_fence INTEGER NOT NULL,
  paused_at INTEGER,
  paused_until INTEGER,
  CHECK (paused_at IS NOT NULL OR paused_until IS NULL)
) STRICT;

-- What the people of this room have decided (policy.py). Only what differs from the default of the house. `event`: the
-- one that told of it.
CREATE TABLE setting (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  event INTEGER NOT NULL
) STRICT;

-- Every schema change that was applied, with the checksum of its text.
CREATE TABLE schema_migration (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_wall INTEGER NOT NULL
) STRICT;

-- Where repositories without a pointer file keep their room. Used in the machine room only.
CREATE TABLE repository (
  common_directory TEXT PRIMARY KEY,
  device INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  project_id TEXT NOT NULL,
  seen_wall INTEGER NOT NULL
) STRICT;

-- One running client, or a named holder (named = 1: no client, term only), or the human. Retired, never deleted.
-- `bound` is the root of the linked worktree in which it began, if it did in one (crew/worktrees.py); `capabilities`:
-- what it says that it can do, as a JSON list.
CREATE TABLE session (
  id TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  client TEXT NOT NULL,
  named INTEGER NOT NULL CHECK (named IN (0, 1)),
  host TEXT NOT NULL,
  boot TEXT,
  pidns TEXT,
  pid INTEGER,
  started TEXT,
  cwd TEXT,
  bound TEXT,
  doing TEXT,
  capabilities TEXT,
  in_turn INTEGER NOT NULL CHECK (in_turn IN (0, 1)),
  opened_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  beat_at INTEGER NOT NULL,
  call_at INTEGER,
  moving_at INTEGER,
  briefed_event INTEGER NOT NULL DEFAULT 0,
  heard INTEGER NOT NULL DEFAULT 0,
  ended_at INTEGER,
  ended_why TEXT,
  retired_at INTEGER,
  CHECK ((ended_at IS NULL) = (ended_why IS NULL)),
  CHECK (retired_at IS NULL OR ended_at IS NOT NULL)
) STRICT;
CREATE INDEX session_live ON session (beat_at) WHERE ended_at IS NULL;
CREATE INDEX session_process ON session (pid) WHERE pid IS NOT NULL;
CREATE INDEX session_agent ON session (agent);

-- What befell a session's leases without its doing, until it has been told.
CREATE TABLE notice (
  session TEXT NOT NULL REFERENCES session (id),
  event INTEGER NOT NULL,
  PRIMARY KEY (session, event)
) STRICT;

-- What agents say to each other (crew/messages.py). Its number is that of the event that tells of it. `held_back`: why
-- a person should read it first. `taken_by`: the session that took it, or answered. `addressed_to`: whom it was for at
-- first, where it has been moved since (crew/failover.py).
CREATE TABLE message (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('chat', 'task', 'broadcast', 'control', 'result')),
  sender TEXT NOT NULL,
  sender_session TEXT NOT NULL,
  recipient TEXT NOT NULL,
  recipient_session TEXT,
  text TEXT NOT NULL,
  priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
  reply_to INTEGER,
  issue TEXT,
  dedupe_key TEXT,
  state TEXT NOT NULL CHECK (state IN ('queued', 'seen', 'taking', 'done', 'undeliverable')),
  held_back TEXT,
  note TEXT,
  addressed_to TEXT,
  taken_by TEXT,
  not_before INTEGER NOT NULL,
  expires_at INTEGER,
  sent_at INTEGER NOT NULL,
  sent_wall INTEGER NOT NULL,
  seen_wall INTEGER,
  taken_wall INTEGER,
  CHECK (state <> 'taking' OR taken_by IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX message_dedupe ON message (sender, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX message_open ON message (recipient, id) WHERE state IN ('queued', 'seen');
CREATE INDEX message_recipient ON message (recipient, id);
CREATE INDEX message_sender ON message (sender, id);
CREATE INDEX message_expiry ON message (expires_at) WHERE expires_at IS NOT NULL AND state IN ('queued', 'seen');
CREATE INDEX message_moved ON message (recipient) WHERE addressed_to IS NOT NULL AND state IN ('queued', 'seen');
CREATE INDEX message_first ON message (addressed_to) WHERE addressed_to IS NOT NULL;
CREATE INDEX message_session ON message (recipient_session) WHERE recipient_session IS NOT NULL;

-- What somebody is asked to do (crew/tasks.py): a message of the kind task, under the same number. `attempts`: how often
-- it was taken; `lapses`: how often who had it was lost since it was asked, `lapses_max` of which end it. `result`: the
-- message that answered it.
CREATE TABLE task (
  id INTEGER PRIMARY KEY REFERENCES message (id),
  state TEXT NOT NULL CHECK (state IN ('pending', 'leased', 'started', 'succeeded', 'failed', 'needs_review',
    'cancelled', 'expired', 'dead_letter')),
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  lapses INTEGER NOT NULL DEFAULT 0 CHECK (lapses BETWEEN 0 AND lapses_max),
  lapses_max INTEGER NOT NULL CHECK (lapses_max > 0),
  result INTEGER
) STRICT;
CREATE INDEX task_state ON task (state, id);

-- The files and folders that a task is expected to change, from the repository's root.
CREATE TABLE task_path (
  task INTEGER NOT NULL REFERENCES task (id),
  path TEXT NOT NULL,
  PRIMARY KEY (task, path)
) STRICT;

-- Possession of a task: at most one lease that is held each. Only the token's hash is stored. `late_result`: what its
-- holder had to say when it was over; it is kept, and applied to nothing.
CREATE TABLE task_lease (
  fence INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES task (id),
  session TEXT NOT NULL REFERENCES session (id),
  agent TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('held', 'ended', 'lapsed', 'returned')),
  token_hash TEXT NOT NULL,
  started INTEGER NOT NULL CHECK (started IN (0, 1)),
  lease_ms INTEGER NOT NULL CHECK (lease_ms > 0),
  acted_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  taken_wall INTEGER NOT NULL,
  ended_wall INTEGER,
  late_result TEXT,
  CHECK ((status = 'held') = (ended_wall IS NULL))
) STRICT;
CREATE UNIQUE INDEX task_lease_live ON task_lease (task) WHERE status = 'held';
CREATE INDEX task_lease_task ON task_lease (task, fence);
CREATE INDEX task_lease_session ON task_lease (session) WHERE status = 'held';
CREATE INDEX task_lease_expiry ON task_lease (expires_at) WHERE status = 'held';
CREATE INDEX task_lease_agent ON task_lease (agent, fence);

-- Agents whose provider lets them do no more for now (crew/quotas.py). `until`: when that is over, if that was said;
-- `source`: what said it; `event`: the one that told of it first. `tries`: how often one task was handed out after its
-- end to see whether it is over, `tried_at`: when last, `tried_task`: which.
CREATE TABLE quota (
  agent TEXT PRIMARY KEY,
  until INTEGER,
  reason TEXT NOT NULL,
  source TEXT NOT NULL,
  event INTEGER NOT NULL,
  reported_at INTEGER NOT NULL,
  reported_wall INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
  tried_at INTEGER,
  tried_task INTEGER,
  CHECK ((tried_at IS NULL) = (tries = 0))
) STRICT;

-- How tasks went from one agent to another that had none of them before (crew/failover.py).
CREATE TABLE task_move (
  event INTEGER PRIMARY KEY,
  task INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  why TEXT NOT NULL CHECK (why IN ('limited', 'silent', 'given_back')),
  UNIQUE (task, target)
) STRICT;

-- From which event on the tasks of an agent may go to others, where somebody decided that.
CREATE TABLE failover_point (
  agent TEXT PRIMARY KEY,
  event INTEGER NOT NULL
) STRICT;

-- What waits for a person and stands in no other table (crew/needs.py), until it is over. `kind` is a word for programs.
CREATE TABLE need (
  key TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  agent TEXT,
  issue TEXT,
  text TEXT NOT NULL,
  event INTEGER NOT NULL,
  opened_wall INTEGER NOT NULL
) STRICT;

-- What a person was told of outside of this room, by which way; `sent` = 0 while it is being sent.
CREATE TABLE notified (
  key TEXT NOT NULL,
  channel TEXT NOT NULL,
  sent INTEGER NOT NULL CHECK (sent IN (0, 1)),
  at INTEGER NOT NULL,
  PRIMARY KEY (key, channel)
) STRICT;
CREATE INDEX notified_age ON notified (at);

-- From when on a worker takes work (crew/workers.py): `since_at` in room time, and the event of that moment.
CREATE TABLE worker (
  agent TEXT PRIMARY KEY,
  since_at INTEGER NOT NULL,
  since_event INTEGER NOT NULL,
  set_wall INTEGER NOT NULL
) STRICT;

-- What workers of one name have started within the last hour.
CREATE TABLE worker_start (
  fence INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX worker_start_agent ON worker_start (agent, at);

-- When messages of one sender woke a session.
CREATE TABLE wake (
  session TEXT NOT NULL,
  sender TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (session, sender, at)
) STRICT;

-- Which session has been shown what was addressed to its agent.
CREATE TABLE message_shown (
  session TEXT NOT NULL REFERENCES session (id),
  message INTEGER NOT NULL,
  at_wall INTEGER NOT NULL,
  PRIMARY KEY (session, message)
) STRICT;

-- The newest automatic checkpoint of a session that works on no issue (attempt_note has the others).
CREATE TABLE session_checkpoint (
  session TEXT PRIMARY KEY REFERENCES session (id),
  content TEXT NOT NULL,
  created_wall INTEGER NOT NULL
) STRICT;

-- One worktree on one host, and the branch it was on when something was last claimed in it. `@` stands for no worktree:
-- in it are the named resources.
CREATE TABLE checkout (
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  root TEXT NOT NULL,
  branch TEXT NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;

-- Possession of a path in one checkout. A row lives as long as the lease: time, death, release and forced release
-- remove it. `path` is the canonical key, `shown` its spelling; an attempt's end takes the leases that carry its id.
-- `apart`: it belongs to one thread of its session and not to all of them. `call`: the run of a program that it lasts
-- for, else empty. `seats`: how many sessions may hold this resource at once. `watched`: what lies there was copied, or
-- could not be.
CREATE TABLE path_lease (
  id TEXT PRIMARY KEY,
  checkout TEXT NOT NULL REFERENCES checkout (id),
  path TEXT NOT NULL,
  shown TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('edit', 'run')),
  session TEXT NOT NULL REFERENCES session (id),
  agent TEXT NOT NULL,
  named INTEGER NOT NULL CHECK (named IN (0, 1)),
  thread TEXT NOT NULL,
  apart INTEGER NOT NULL CHECK (apart IN (0, 1)),
  auto INTEGER NOT NULL CHECK (auto IN (0, 1)),
  call TEXT NOT NULL,
  seats INTEGER NOT NULL CHECK (seats > 0),
  attempt TEXT,
  purpose TEXT NOT NULL,
  fence INTEGER NOT NULL UNIQUE,
  lease_ms INTEGER NOT NULL CHECK (lease_ms > 0),
  claimed_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  watched INTEGER NOT NULL DEFAULT 0 CHECK (watched IN (0, 1)),
  UNIQUE (checkout, path, session, thread, mode, call)
) STRICT;
CREATE INDEX path_lease_path ON path_lease (path);
CREATE INDEX path_lease_session ON path_lease (session, checkout, path);
CREATE INDEX path_lease_attempt ON path_lease (attempt) WHERE attempt IS NOT NULL;
CREATE INDEX path_lease_expiry ON path_lease (expires_at);
CREATE INDEX path_lease_unwatched ON path_lease (checkout, path) WHERE watched = 0 AND mode = 'edit';

-- Who was the last to hold each path of a checkout for editing, and under which fence. The row outlives the lease: what
-- was written and not committed is still that session's, and a commit asks who came last. `former`: the session before
-- it; `settled_wall`: when its work was committed.
CREATE TABLE path_last (
  checkout TEXT NOT NULL,
  path TEXT NOT NULL,
  shown TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  fence INTEGER NOT NULL,
  held_at INTEGER NOT NULL,
  former TEXT,
  settled_wall INTEGER,
  PRIMARY KEY (checkout, path)
) STRICT;
CREATE INDEX path_last_session ON path_last (session);

-- Commits whose paths were looked at when they were made: a push does not ask about them again.
CREATE TABLE commit_seen (
  id TEXT PRIMARY KEY,
  checkout TEXT NOT NULL,
  session TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX commit_seen_age ON commit_seen (at);

-- Who was told that a path is in flight in another worktree, too: once for each holder.
CREATE TABLE elsewhere_told (
  session TEXT NOT NULL,
  path TEXT NOT NULL,
  holder TEXT NOT NULL,
  PRIMARY KEY (session, path, holder)
) STRICT;

-- A held file as its holder left it (guard/snapshots.py). `kept`: its content is in the home (`content`), it was too
-- large or could not be written down (`print`), or there was no such file (`absent`). size, modified (ns) and inode are
-- what the disk said then. `live`: its holder still holds it; `noticed`: the `modified` that was reported already, by
-- the event `told`.
CREATE TABLE snapshot (
  checkout TEXT NOT NULL,
  path TEXT NOT NULL,
  shown TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  named INTEGER NOT NULL CHECK (named IN (0, 1)),
  live INTEGER NOT NULL CHECK (live IN (0, 1)),
  kept TEXT NOT NULL CHECK (kept IN ('content', 'print', 'absent')),
  digest TEXT NOT NULL,
  mode INTEGER NOT NULL,
  size INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  noticed INTEGER,
  told INTEGER,
  taken_at INTEGER NOT NULL,
  taken_wall INTEGER NOT NULL,
  PRIMARY KEY (checkout, path),
  CHECK ((noticed IS NULL) = (told IS NULL))
) STRICT;
CREATE INDEX snapshot_watched ON snapshot (checkout, path) WHERE live = 1;
CREATE INDEX snapshot_session ON snapshot (session, checkout, path) WHERE live = 1;
CREATE INDEX snapshot_age ON snapshot (taken_at);
CREATE INDEX snapshot_digest ON snapshot (digest);

-- Who changed a held file by a call: they may bring it back, too. `digest` is what they made of it.
CREATE TABLE leak (
  checkout TEXT NOT NULL,
  path TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  digest TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (checkout, path, session)
) STRICT;

-- What is to be done. `in_progress` is never stored (lifecycle.py). priority is its place in lifecycle.PRIORITIES.
-- `needs`: what whoever takes it must be able to do, as a JSON list. `forgiven`: a person has decided about it when the
-- room's fences had come so far; what failed before counts no more.
CREATE TABLE issue (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  type TEXT NOT NULL CHECK (type IN ('epic', 'task', 'bug', 'question')),
  title TEXT NOT NULL,
  description TEXT,
  acceptance_criteria TEXT,
  status TEXT NOT NULL CHECK (status IN ('open', 'ready', 'blocked', 'review', 'done', 'cancelled')),
  priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
  parent TEXT REFERENCES issue (id),
  blocked_reason TEXT,
  version INTEGER NOT NULL CHECK (version >= 1),
  open_blockers INTEGER NOT NULL CHECK (open_blockers >= 0),
  unblocks INTEGER NOT NULL CHECK (unblocks >= 0),
  reserved_for TEXT,
  reserved_until INTEGER,
  needs TEXT,
  forgiven INTEGER NOT NULL DEFAULT 0,
  latest_event INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  created_wall INTEGER NOT NULL,
  updated_wall INTEGER NOT NULL,
  closed_wall INTEGER,
  archived_wall INTEGER,
  CHECK (type <> 'epic' OR parent IS NULL),
  CHECK ((status = 'blocked') = (blocked_reason IS NOT NULL)),
  CHECK ((reserved_for IS NULL) = (reserved_until IS NULL)),
  CHECK ((status IN ('done', 'cancelled')) = (closed_wall IS NOT NULL))
) STRICT;
-- Status leads although it is always the same: else an index that begins with it is chosen, and all that is ready sorted.
CREATE INDEX issue_ready ON issue (status, priority DESC, unblocks DESC, number)
  WHERE status = 'ready' AND archived_wall IS NULL AND open_blockers = 0 AND type <> 'epic';
CREATE INDEX issue_order ON issue (priority DESC, number);
CREATE INDEX issue_shown ON issue (priority, number) WHERE archived_wall IS NULL;
CREATE INDEX issue_kind ON issue (type, status, priority, number) WHERE archived_wall IS NULL;
CREATE INDEX issue_free ON issue (status, priority, number)
  WHERE archived_wall IS NULL AND open_blockers = 0 AND type <> 'epic' AND status IN ('ready', 'review');
CREATE INDEX issue_in_review ON issue (id) WHERE status = 'review' AND archived_wall IS NULL;
CREATE INDEX issue_parent ON issue (parent, priority, number) WHERE parent IS NOT NULL;
CREATE INDEX issue_status ON issue (status, priority DESC, number) WHERE archived_wall IS NULL;
CREATE INDEX issue_blocking ON issue (unblocks DESC, number)
  WHERE unblocks > 0 AND archived_wall IS NULL AND status NOT IN ('done', 'cancelled');
-- For the board: what waits although it could begin, and what was finished last.
CREATE INDEX issue_waiting ON issue (priority DESC, number)
  WHERE open_blockers > 0 AND archived_wall IS NULL AND closed_wall IS NULL AND type <> 'epic';
CREATE INDEX issue_finished ON issue (closed_wall DESC, number DESC)
  WHERE closed_wall IS NOT NULL AND archived_wall IS NULL AND type <> 'epic';

-- The files and folders that the work on an issue is expected to change, from the repository's root.
CREATE TABLE issue_path (
  issue TEXT NOT NULL REFERENCES issue (id),
  path TEXT NOT NULL,
  PRIMARY KEY (issue, path)
) STRICT;

-- How issues stand to each other. `blocks` has no cycles; `related_to` has no direction and is kept from the smaller
-- id to the larger. issue.open_blockers and issue.unblocks follow from `blocks` (work/blocking.py).
CREATE TABLE issue_relation (
  source TEXT NOT NULL REFERENCES issue (id),
  target TEXT NOT NULL REFERENCES issue (id),
  type TEXT NOT NULL CHECK (type IN ('blocks', 'related_to', 'duplicates')),
  created_by TEXT NOT NULL,
  created_wall INTEGER NOT NULL,
  PRIMARY KEY (source, target, type),
  CHECK (source <> target)
) STRICT;
CREATE INDEX issue_relation_target ON issue_relation (target, type);

CREATE TABLE label (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  normal TEXT NOT NULL UNIQUE,
  description TEXT,
  created_wall INTEGER NOT NULL
) STRICT;

-- The labels of a new issue may be written before it: then its words are indexed once.
CREATE TABLE issue_label (
  issue TEXT NOT NULL REFERENCES issue (id) DEFERRABLE INITIALLY DEFERRED,
  label TEXT NOT NULL REFERENCES label (id),
  PRIMARY KEY (issue, label)
) STRICT;
CREATE INDEX issue_label_label ON issue_label (label);

-- What was said about an issue. Append only.
CREATE TABLE comment (
  id TEXT PRIMARY KEY,
  issue TEXT NOT NULL REFERENCES issue (id),
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  content TEXT NOT NULL,
  created_wall INTEGER NOT NULL
) STRICT;
CREATE INDEX comment_issue ON comment (issue, id);

-- Possession of an issue: at most one active attempt each. Only the token's hash is stored. `warned_at`: since when its
-- holder is known to be alive and not to move, and `carried_to`: beats carry the lease no further. What a claim writes is
-- checked by OR: for an IN of three and more SQLite makes and drops a table each time.
CREATE TABLE attempt (
  fence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  issue TEXT NOT NULL REFERENCES issue (id),
  session TEXT NOT NULL REFERENCES session (id),
  agent TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('work', 'review')),
  status TEXT NOT NULL CHECK (
    status = 'active' OR status = 'completed' OR status = 'failed' OR status = 'interrupted' OR status = 'expired'
  ),
  token_hash TEXT NOT NULL,
  lease_ms INTEGER NOT NULL CHECK (lease_ms > 0),
  issue_version INTEGER NOT NULL,
  context_event INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  acted_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  started_wall INTEGER NOT NULL,
  finished_wall INTEGER,
  result_summary TEXT,
  next_steps TEXT,
  verification TEXT,
  failure_code TEXT,
  interruption_code TEXT,
  reason_details TEXT,
  warned_at INTEGER,
  warned_why TEXT CHECK (
    warned_why = 'still' OR warned_why = 'failing' OR warned_why = 'circling' OR warned_why = 'cost'
  ),
  carried_to INTEGER,
  CHECK ((warned_at IS NULL) = (warned_why IS NULL)),
  CHECK (carried_to IS NULL OR warned_at IS NOT NULL),
  CHECK ((status = 'active') = (finished_wall IS NULL)),
  CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
  CHECK ((status = 'interrupted') = (interruption_code IS NOT NULL))
) STRICT;
CREATE INDEX attempt_issue ON attempt (issue, fence, status);
CREATE INDEX attempt_session ON attempt (session) WHERE status = 'active';
CREATE INDEX attempt_failed ON attempt (issue, status) WHERE status = 'failed' OR status = 'expired';
CREATE INDEX attempt_expiry ON attempt (expires_at) WHERE status = 'active';

-- What hooks saw of the tests while an attempt was worked on (work/evidence.py), kept when it ended: how many runs, the
-- last one and its end where that was told, and when a file was edited last.
CREATE TABLE attempt_evidence (
  attempt TEXT PRIMARY KEY REFERENCES attempt (id),
  verdict TEXT NOT NULL CHECK (verdict IN ('green', 'red', 'stale', 'untested', 'unknown', 'unedited')),
  runs INTEGER NOT NULL,
  red_runs INTEGER NOT NULL,
  edits INTEGER NOT NULL,
  command TEXT,
  status INTEGER,
  ran_wall INTEGER,
  edited_wall INTEGER
) STRICT;

-- What was spent, an hour, session, piece of work and model a row (crew/costs.py). `input` counts what was read from a
-- cache, too; `micros`: millionths of a dollar, where `priced`.
CREATE TABLE spending (
  hour INTEGER NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  attempt TEXT NOT NULL,
  issue TEXT,
  task INTEGER NOT NULL,
  model TEXT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('worker', 'transcript', 'report')),
  input INTEGER NOT NULL CHECK (input >= 0),
  cached INTEGER NOT NULL CHECK (cached BETWEEN 0 AND input),
  output INTEGER NOT NULL CHECK (output >= 0),
  micros INTEGER NOT NULL CHECK (micros >= 0),
  priced INTEGER NOT NULL CHECK (priced IN (0, 1)),
  records INTEGER NOT NULL,
  PRIMARY KEY (hour, session, agent, attempt, task, model, source, priced)
) STRICT;
CREATE INDEX spending_issue ON spending (issue) WHERE issue IS NOT NULL;

-- What an issue had cost when it was parked for its cost: that counts no more once a person lets it go on.
CREATE TABLE cost_forgiven (
  issue TEXT PRIMARY KEY REFERENCES issue (id),
  micros INTEGER NOT NULL,
  tokens INTEGER NOT NULL
) STRICT;

-- What an agent wrote down while it worked, or what was observed of it (automatic = 1). Append only.
CREATE TABLE attempt_note (
  id TEXT PRIMARY KEY,
  attempt TEXT NOT NULL REFERENCES attempt (id),
  issue TEXT NOT NULL REFERENCES issue (id),
  kind TEXT NOT NULL CHECK (kind IN ('progress', 'finding', 'warning', 'checkpoint')),
  content TEXT NOT NULL,
  next_steps TEXT,
  important INTEGER NOT NULL CHECK (important IN (0, 1)),
  automatic INTEGER NOT NULL DEFAULT 0 CHECK (automatic IN (0, 1)),
  created_wall INTEGER NOT NULL
) STRICT;
CREATE INDEX attempt_note_issue ON attempt_note (issue, kind, id);
CREATE INDEX attempt_note_attempt ON attempt_note (attempt, id);

CREATE TABLE artifact (
  id TEXT PRIMARY KEY,
  issue TEXT NOT NULL REFERENCES issue (id),
  attempt TEXT REFERENCES attempt (id),
  type TEXT NOT NULL,
  uri TEXT NOT NULL,
  title TEXT,
  metadata TEXT,
  created_wall INTEGER NOT NULL
) STRICT;
CREATE INDEX artifact_issue ON artifact (issue, id);

-- What has been decided, for the project or for one issue. Append only, but for the status of what another one replaces.
CREATE TABLE decision (
  id TEXT PRIMARY KEY,
  issue TEXT REFERENCES issue (id),
  title TEXT NOT NULL,
  summary TEXT NOT NULL,
  content TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active', 'superseded', 'rejected')),
  supersedes TEXT UNIQUE REFERENCES decision (id),
  event INTEGER NOT NULL UNIQUE,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  created_wall INTEGER NOT NULL
) STRICT;
CREATE INDEX decision_issue ON decision (issue, event) WHERE issue IS NOT NULL;
CREATE INDEX decision_project ON decision (event) WHERE issue IS NULL;
CREATE INDEX decision_in_force ON decision (event) WHERE issue IS NULL AND status = 'active';

-- Work that is to be looked at by somebody else: one state of one issue, fixed by its version and by the last event that
-- counts. `artifacts`: a JSON list of ids, in order. At most one request an issue waits or is in hand; whose it is says
-- `attempt`. `follow_up`: another issue in which what was found goes on. The event ids order what happened to it.
CREATE TABLE review_request (
  event INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  issue TEXT NOT NULL REFERENCES issue (id),
  issue_version INTEGER NOT NULL,
  target_event INTEGER NOT NULL,
  artifacts TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'claimed', 'approved', 'changes_requested', 'blocked', 'cancelled', 'superseded')),
  version INTEGER NOT NULL CHECK (version >= 1),
  supersedes TEXT REFERENCES review_request (id),
  attempt TEXT REFERENCES attempt (id),
  findings TEXT,
  follow_up TEXT REFERENCES issue (id),
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  created_wall INTEGER NOT NULL,
  resolved_event INTEGER,
  resolved_wall INTEGER,
  CHECK (status <> 'open' OR attempt IS NULL),
  CHECK (status NOT IN ('claimed', 'approved', 'changes_requested', 'blocked') OR attempt IS NOT NULL),
  CHECK ((status IN ('open', 'claimed')) = (resolved_wall IS NULL)),
  CHECK ((resolved_event IS NULL) = (resolved_wall IS NULL))
) STRICT;
CREATE UNIQUE INDEX review_pending ON review_request (issue) WHERE status IN ('open', 'claimed');
CREATE UNIQUE INDEX review_attempt ON review_request (attempt) WHERE status = 'claimed';
CREATE INDEX review_issue ON review_request (issue, event);

-- What can be found by its words (work/search.py): a row for each thing that has some, kept by triggers. `number` orders
-- them by age. The words themselves are in search_words, which each engine has in its own way: under the number what a
-- thing says, and `number + 2^40` its title alone.
CREATE TABLE search_entry (
  number INTEGER PRIMARY KEY,
  type TEXT NOT NULL CHECK (type IN ('issue', 'comment', 'decision', 'attempt_note', 'attempt', 'artifact', 'review')),
  entity TEXT NOT NULL,
  issue TEXT,
  UNIQUE (type, entity)
) STRICT;
CREATE INDEX search_entry_issue ON search_entry (issue, number);

-- The one log: gapless, in commit order, attributed, append only. `at` is wall time; order is by id.
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  issue TEXT,
  attempt TEXT,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE INDEX event_issue ON event (issue, id) WHERE issue IS NOT NULL;
-- The story of a path (crew/story.py) is told by these alone.
CREATE INDEX event_of_paths ON event (id) WHERE type = 'paths_claimed' OR type = 'paths_released' OR type = 'refused'
  OR type = 'overlap_noted' OR type = 'path_leaked' OR type = 'path_changed_outside' OR type = 'path_restored'
  OR type = 'work_rescued';

-- The state of the room at an event, compressed (retention.py): where a replay begins when the log before it was pruned.
CREATE TABLE keyframe (
  event INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  wall INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT;

-- Answers already given under an idempotency key. Replies are kept without tokens.
CREATE TABLE answered (
  operation TEXT NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  reply TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (operation, scope, key)
) STRICT;

-- When an equal refusal was last told to the log, and how many were passed over since.
CREATE TABLE refusal_told (
  session TEXT NOT NULL,
  code TEXT NOT NULL,
  subject TEXT NOT NULL,
  told_at INTEGER NOT NULL,
  passed_over INTEGER NOT NULL,
  PRIMARY KEY (session, code, subject)
) STRICT;

-- The events after which a review of an issue would look at what is there no longer: its texts, its status or what was
-- made for it have changed, or somebody works on it again. Priority, labels and remarks change nothing that was reviewed.
-- What an event says first is told by where it is written: of changed fields the texts stand at the head (updates.py).
CREATE VIEW review_change AS
  SELECT e.issue, e.id FROM event e
  WHERE e.type IN ('status_changed', 'commit_made', 'attempt_completed')
    OR (e.type IN ('issue_updated', 'labels_changed') AND (substr(e.data, 1, 26) = '{"changed_fields":["title"'
      OR substr(e.data, 1, 32) = '{"changed_fields":["description"'
      OR substr(e.data, 1, 40) = '{"changed_fields":["acceptance_criteria"'))
    OR (e.type = 'attempt_started' AND substr(e.data, 1, 14) = '{"kind":"work"')
    OR (e.type IN ('attempt_note_saved', 'checkpoint_saved') AND substr(e.data, 1, 13) = '{"artifacts":');

-- Requests with what else is known of each. `holder`: the attempt that has the issue now, `fit`: the issue could be
-- reviewed, `follow_up_attempt`: the first work that took up what was found.
CREATE VIEW review_now AS
  SELECT r.event, r.id, r.issue, r.issue_version, r.target_event, r.artifacts, r.status, r.version, r.supersedes,
    r.attempt, r.findings, r.agent, r.created_wall, r.resolved_wall, i.number, i.version AS current_version,
    f.number AS follow_up_number, a.agent AS reviewer,
    (SELECT t.id FROM attempt t WHERE t.issue = r.issue AND t.status = 'active') AS holder,
    (SELECT t.id FROM attempt t WHERE t.issue = r.issue AND t.kind = 'work' AND r.status = 'changes_requested'
      AND t.context_event > r.resolved_event ORDER BY t.fence LIMIT 1) AS follow_up_attempt,
    CASE WHEN i.archived_wall IS NULL AND i.open_blockers = 0 AND i.type <> 'epic' AND i.status IN ('ready', 'review')
      THEN 1 ELSE 0 END AS fit,
    CASE WHEN EXISTS (SELECT 1 FROM review_change c WHERE c.issue = r.issue AND c.id > r.target_event)
      THEN 1 ELSE 0 END AS stale
  FROM review_request r JOIN issue i ON i.id = r.issue LEFT JOIN issue f ON f.id = r.follow_up
    LEFT JOIN attempt a ON a.id = r.attempt;

-- Everything that can be found, from the tables in which it stands; and what each says, with its title if it has one.
CREATE VIEW search_source AS
  SELECT 'issue' AS type, id AS entity, id AS issue, created_wall FROM issue
  UNION ALL SELECT 'comment', id, issue, created_wall FROM comment
  UNION ALL SELECT 'decision', id, issue, created_wall FROM decision
  UNION ALL SELECT 'attempt_note', id, issue, created_wall FROM attempt_note WHERE automatic = 0
  UNION ALL SELECT 'attempt', id, issue, started_wall FROM attempt WHERE result_summary IS NOT NULL
  UNION ALL SELECT 'artifact', id, issue, created_wall FROM artifact
  UNION ALL SELECT 'review', id, issue, created_wall FROM review_request WHERE findings IS NOT NULL;
CREATE VIEW search_text AS
  SELECT e.number, e.type, e.entity, e.issue,
    CASE e.type WHEN 'issue' THEN (SELECT title FROM issue WHERE id = e.entity)
      WHEN 'decision' THEN (SELECT title FROM decision WHERE id = e.entity)
      WHEN 'artifact' THEN (SELECT title FROM artifact WHERE id = e.entity) END AS title,
    CASE e.type
      WHEN 'issue' THEN (SELECT coalesce(description, '') || ' ' || coalesce(acceptance_criteria, '') || ' '
        || coalesce(blocked_reason, '') FROM issue WHERE id = e.entity)
      WHEN 'comment' THEN (SELECT content FROM comment WHERE id = e.entity)
      WHEN 'decision' THEN (SELECT summary || ' ' || content FROM decision WHERE id = e.entity)
      WHEN 'attempt_note' THEN (SELECT content || ' ' || coalesce(next_steps, '') FROM attempt_note WHERE id = e.entity)
      WHEN 'attempt' THEN (SELECT result_summary || ' ' || coalesce(reason_details, '') || ' '
        || coalesce(next_steps, '') || ' ' || coalesce(verification, '') FROM attempt WHERE id = e.entity)
      WHEN 'artifact' THEN (SELECT uri FROM artifact WHERE id = e.entity)
      WHEN 'review' THEN (SELECT findings FROM review_request WHERE id = e.entity) END AS text
  FROM search_entry e;

-- What other rooms of the house may see of possession (work sees held_path, crew sees live_attempt).
CREATE VIEW live_attempt AS
  SELECT a.id, a.issue, a.session, a.agent, a.kind, a.fence, a.expires_at, a.lease_ms, a.acted_at, a.claimed_at,
    a.started_wall, a.warned_at, a.warned_why, a.carried_to, i.number, i.title
  FROM attempt a JOIN issue i ON i.id = a.issue
  WHERE a.status = 'active';
CREATE VIEW work_of_attempt AS SELECT id, issue FROM attempt;
CREATE VIEW issue_name AS SELECT id, number, title FROM issue;
-- What may wait for a person: work that failed, questions, what is blocked, and what is to be looked at.
CREATE VIEW failing_issue AS
  SELECT i.id, i.number, i.title, i.status, i.forgiven FROM issue i
  WHERE i.status NOT IN ('done', 'cancelled') AND i.archived_wall IS NULL
    AND i.id IN (
      SELECT issue FROM attempt WHERE status = 'failed' OR status = 'expired' GROUP BY issue HAVING count(*) > 2
    );
CREATE VIEW ended_attempt AS
  SELECT a.id, a.issue, a.fence, a.agent, a.status, a.finished_wall, a.failure_code, a.result_summary FROM attempt a
  WHERE a.status <> 'active';
CREATE VIEW open_question AS
  SELECT i.id, i.number, i.title, i.reserved_for, i.reserved_until, i.created_wall FROM issue i
  WHERE i.type = 'question' AND i.archived_wall IS NULL AND i.status IN ('open', 'ready', 'review');
CREATE VIEW blocked_issue AS
  SELECT i.id, i.number, i.title, i.blocked_reason, i.updated_wall, i.version FROM issue i
  WHERE i.status = 'blocked' AND i.archived_wall IS NULL;
CREATE VIEW open_review AS
  SELECT r.id, r.issue, r.agent, r.created_wall, i.number, i.title FROM review_request r JOIN issue i ON i.id = r.issue
  WHERE r.status = 'open' AND i.archived_wall IS NULL;
CREATE VIEW latest_checkpoint AS
  SELECT n.attempt, n.content, n.automatic, n.created_wall FROM attempt_note n
  WHERE n.kind = 'checkpoint' AND n.id = (
    SELECT max(m.id) FROM attempt_note m WHERE m.attempt = n.attempt AND m.kind = 'checkpoint'
  );
CREATE VIEW letter AS
  SELECT id, sender, recipient, recipient_session, text, held_back FROM message;
CREATE VIEW held_path AS
  SELECT l.id, l.checkout, l.path, l.shown, l.mode, l.session, l.agent, l.thread, l.attempt, l.purpose, l.auto, l.fence,
    l.expires_at, l.lease_ms, l.claimed_at
  FROM path_lease l;

"""Every bound of the house, named with its unit.

Characters are Unicode code points. Durations end in `_ms` where they are compared with room time and in `_seconds`
where a caller gives them.
"""

from __future__ import annotations

# --- leases -----------------------------------------------------------------------------------------------------
ISSUE_LEASE_SECONDS = 900
ISSUE_LEASE_SECONDS_MIN = 30
ISSUE_LEASE_SECONDS_MAX = 3_600
PATH_LEASE_SECONDS = 1_800
PATH_LEASE_SECONDS_MIN = 1
PATH_LEASE_SECONDS_MAX = 28_800
TASK_LEASE_SECONDS = 900  # once it is started
TASK_LEASE_SECONDS_MIN = 1
TASK_LEASE_SECONDS_MAX = 3_600
TASK_UNSTARTED_SECONDS = 60
TASK_PONDERED_MS = 15 * 60_000  # so long after its last sign a session in its turn keeps what it took and did not start
TASK_LAPSES = 5  # then nobody is given it any more
TASK_LAPSES_MAX = 100
RETENTION_DAYS = 30
RETENTION_DAYS_MAX = 3_650
RESERVATION_MS = 24 * 3_600_000  # an issue is kept for one agent this long
ATTEMPT_STILL_MS = 3_600_000  # no edit, note or other act for so long, seen by hooks: somebody should look
ATTEMPT_UNATTENDED_MS = 4 * 3_600_000  # beats renew an attempt this long after the last act that concerns it
BEAT_EVERY_MS = 15_000
REFUSAL_QUIET_MS = 60_000  # equal refusals within this time are told to the log once

# --- texts ------------------------------------------------------------------------------------------------------
TITLE_CHARS_MAX = 300
DESCRIPTION_CHARS_MAX = 100_000
CRITERIA_CHARS_MAX = 50_000
NOTE_CHARS_MAX = 50_000
SUMMARY_CHARS_MAX = 50_000
REASON_CHARS_MAX = 2_000
STEP_CHARS_MAX = 1_000
STEPS_MAX = 20
PURPOSE_CHARS_MAX = 500
LABEL_CHARS_MAX = 64
LABELS_PER_ISSUE_MAX = 50
LABEL_DESCRIPTION_CHARS_MAX = 500
COMMENT_CHARS_MAX = 50_000
ISSUE_PATHS_MAX = 20
NEEDS_MAX = 20
DECISION_SUMMARY_CHARS_MAX = 2_000
DECISION_CHARS_MAX = 100_000
REVIEW_ARTIFACTS_MAX = 20
INSTRUCTIONS_CHARS_MAX = 50_000
PROJECT_NAME_CHARS_MAX = 200
ISSUE_KEY_CHARS_MAX = 10
ISSUE_KEY = "ISSUE"  # what stands before an issue's number, where nobody chose another word
FINDINGS_CHARS = 1_000  # of a review, in a list
PLAN_ISSUES_MAX = 50
PLAN_RELATIONS_MAX = 100
PLAN_DECISIONS_MAX = 20
PLAN_LABELS_MAX = 50  # uses of labels in one plan
PLAN_REF_CHARS_MAX = 64
PLAN_ERRORS_SHOWN = 100
PLAN_FILE_BYTES_MAX = 8 * 1_048_576
IMPORT_BYTES_MAX = 256 * 1_048_576  # of a file that is imported
IMPORT_LINE_BYTES_MAX = 16 * 1_048_576  # of one record of it
IMPORT_RECORDS_MAX = 2_000_000
IMPORT_HISTORY_MAX = 20_000  # changes that one issue's record tells of
IMPORT_FAULTS_SHOWN = 100
IMPORT_CONFLICTS_SHOWN = 100
DOCUMENT_CHARS_MAX = 4 * 1_048_576  # of a document that a tool takes or gives; larger ones are files
KEY_CHARS_MAX = 128
TOKEN_CHARS_MAX = 512
AGENT_NAME_CHARS_MAX = 64
SESSION_CHARS_MAX = 256
ID_CHARS_MAX = 64
ARTIFACTS_MAX = 20
ARTIFACT_URI_CHARS_MAX = 4_096
ARTIFACT_TITLE_CHARS_MAX = 300
ARTIFACT_METADATA_BYTES_MAX = 8_192

# --- messages ---------------------------------------------------------------------------------------------------
MESSAGE_CHARS_MAX = 20_000
MESSAGE_NOTE_CHARS_MAX = 500
DEDUPE_KEY_CHARS_MAX = 128
MESSAGES_SHOWN = 20  # at once, to a model that did not ask
SHOWN_CHARS_MAX = 1_500  # of each of them
INBOX_CHARS = 1_500  # of each in a list; one alone is shown whole
MESSAGES_IN_ROOM = 10
INBOX_LOOK_MAX = 20  # messages of the inbox that a client reads as a resource
BOARD_ITEMS_MAX = 20  # issues in a column of the board
BOARD_TITLE_CHARS_MAX = 120
REMINDERS_SHOWN = 10
WAKES_MAX = 12  # so often one sender wakes one session
WAKES_WITHIN_MS = 3_600_000  # within this time
MAIL_BYTES_MAX = 16_384  # of all that one prompt shows
MAIL_BYTES_MIN = 800  # what a brief leaves for messages
REMINDED_MS = 3 * 86_400_000  # so long after it was sent, a message is not forgotten
RESULT_CHARS = 1_500  # of a result that came too late, in a list
DELAY_SECONDS_MAX = 30 * 86_400
OVERDUE_SECONDS_MAX = 30 * 86_400

# --- what providers allow, and who goes on then -------------------------------------------------------------------
QUOTA_SECONDS_MAX = 7 * 86_400  # how far away the end of a provider's limit may be
TRIED_EVERY_MS = 15 * 60_000  # after a limit's end one task is tried, and the next so much later
TRIES_MAX = 4  # then nobody guesses any more
LIMITED_GRACE_SECONDS = 60  # so long a task waits for an agent that is at its limit
SILENT_GRACE_SECONDS = 900  # and for one that gives no sign of life
GRACE_SECONDS_MAX = 86_400
FALLBACKS_CHARS_MAX = 2_000
FALLBACKS_MAX = 8  # in one chain
MOVED_AT_ONCE = 50
SICK_WITHIN_MS = 30 * 60_000  # whoever lost so many tasks in a row within this time is given no others' tasks
SICK_AFTER = 2

# --- what waits for a person ----------------------------------------------------------------------------------------
NEEDS_MAX_SHOWN = 100  # of each kind, and of all
NEEDS_WITHIN_MS = 24 * 3_600_000  # what happened is news for so long
REVIEW_WAITS_MS = 30 * 60_000  # a review that no agent has taken for so long waits for a person
NOTIFY_OVERDUE_SECONDS = 300
NOTIFY_EVERY_MS = 15_000  # so often the notifier looks
NOTIFY_GLANCE_MS = 1_000  # and so often whether a room has changed
NOTIFY_CHARS_MAX = 3_500  # of one text that is sent
NOTIFY_ALERT_CHARS = 500  # of one alert in it
NOTIFY_SECONDS_MAX = 10  # for one text to be taken
NOTIFY_REST_SECONDS_MAX = 3_600  # whatever a service asks for
NOTIFIED_KEPT_MS = 30 * 86_400_000

# --- paths ------------------------------------------------------------------------------------------------------
PATH_CHARS_MAX = 4_096
PATHS_PER_CLAIM_MAX = 64
RESOURCE_CHARS_MAX = 100
RESOURCE_SEATS_MAX = 64
HARD_LINK_LOOKS_MAX = 4_096  # files looked at for one that has several names
BRANCH_CHARS_MAX = 200
PATHS_PER_CALL_MAX = 2_048  # one patch or command may touch this many files; more is refused, not cut

# --- a room's own decisions ----------------------------------------------------------------------------------------
DECLARED_COMMANDS_CHARS_MAX = 4_000
ADDRESS_CHARS_MAX = 1_000  # of a classifier
PAUSE_SECONDS_MAX = 7 * 86_400
WAIT_SECONDS_MAX = 86_400
HISTORY_EVENTS_READ_MAX = 20_000
REPLAY_EVENTS_MAX = 1_000_000  # between a state that was kept and the event that is asked for
REPLAY_EVENTS_AT_ONCE = 2_000
INCIDENT_EVENTS_MAX = 2_000  # of the span of a report
INCIDENT_EVENTS_DEFAULT = 100

# --- replies ----------------------------------------------------------------------------------------------------
LIST_DEFAULT = 20
LIST_MAX = 100
CURSOR_CHARS_MAX = 4_096
CHANGES_DEFAULT = 50
CHANGES_MAX = 200
CHANGES_WAIT_SECONDS_MAX = 50  # Codex gives up a call after 60 s
EVENT_TYPES_MAX = 100
NUMBER_MAX = 2**53 - 1  # of a version or an event: JSON numbers are exact up to here
LIST_BYTES = 2_097_152  # a page of issues with their bodies ends when it has grown to this
HISTORY_BYTES = 32_000  # a page of activity or attempts ends when it has grown to this
SINCE_CHECKPOINT_BYTES = 1_000
SEARCH_LOOKS_MAX = 2_000  # places that one search looks at before it gives what it has and where it goes on
QUERY_CHARS_MAX = 1_000
SNIPPET_CHARS = 200
SNIPPET_CHARS_MAX = 1_000
CONTEXT_BYTES = 8_000
CONTEXT_BYTES_MIN = 1_000
CONTEXT_BYTES_MAX = 200_000
GRAPH_BYTES = 8_000
GRAPH_BYTES_MIN = 2_000
GRAPH_BYTES_MAX = 500_000
GRAPH_NODES = 100
GRAPH_NODES_MAX = 500
GRAPH_DEPTH = 2
GRAPH_DEPTH_MAX = 5
PLANNING_DEPTH = 3
GRAPH_NODES_READ_MAX = 2_000  # around one issue, of which some are shown
GRAPH_EDGES_READ_MAX = 5_000
GRAPH_WAITS_READ_MAX = 5_000  # of what waits for what in a project, to find the critical path: those that hold up most
GRAPH_PATH_SHOWN = 20
BRIEF_BYTES_MAX = 2_400
REFUSAL_BYTES_MAX = 240
ROOM_ITEMS_MAX = 50
SESSIONS_READ_MAX = 500  # of a room, to be put in order
UNHEARD_MS = 24 * 3_600_000  # a session without a sign for so long, and with nothing in hand, is no longer listed
ENDED_COUNTED_MS = 7 * 86_400_000

# --- the hook ---------------------------------------------------------------------------------------------------
PAYLOAD_BYTES_MAX = 64 * 1_048_576
HOOK_LOCK_WAIT_MS = 500  # how long a hook waits for a busy writer before it follows the fail mode
HOOK_HOST_WAIT_MS = 1_000  # how long a hook waits for the host before it sees to it itself
HOOK_WAIT_MS = 4_000  # then a hook answers by the fail mode; clients are told to give up after 5 s
OPEN_CALL_HOLDS_MS = 2 * 3_600_000  # so long a call that has not come back keeps its session's leases from lapsing
OPEN_CALLS_READ_MAX = 256
JOINS_KEPT_MS = 10 * 60_000  # an announced call of our own tools that never came
CLASSIFIER_WAIT_MS = 1_500  # for all of what a classifier is asked
GIT_WAIT_MS = 400  # how long a hook waits for what git says of a worktree; Claude Code gives a session's end 1.5 s
GIT_HOOK_WAIT_MS = 10_000  # the same in a hook that git itself runs and waits for
GIT_NAMES_BYTES_MAX = 64 * 1_048_576  # of names of paths that git prints for a commit or a push
PUSHED_COMMITS_MAX = 512  # of those that are pushed the newest are looked at
COMMIT_MESSAGE_BYTES_MAX = 1_048_576
GIT_STATUS_WAIT_MS = 1_000  # how long a hook waits for what git says before git runs over a shared work tree
GIT_TURN_WAIT_MS = 600  # how long a call waits for another that writes the same index
GIT_TURN_MS = 20_000  # a call that had the index for longer leaves the others to git's own lock
STALE_INDEX_LOCK_MS = 60_000
UNSEEN_SESSION_MS = 30 * 60_000  # a session without a known process owns what it wrote so long after its last sign
RESCUE_WAIT_MS = 2_000  # how long a hook waits for git to save the work of a tree
RESCUES_KEPT = 50
TRAIL_BYTES_MAX = 65_536  # of one session; the older half goes then
TRAIL_COMMAND_CHARS_MAX = 240
TRAIL_PRINT_BYTES_MAX = 8_192  # a longer edit is not compared with others
TRAIL_FAILURES = 5  # the same command failed so often, with nothing changed: it is not getting on
TRAIL_FAILURES_WORKED_ON = 10  # and so often, with changes in between
TRAIL_RETURNS = 3  # the same edit was made so often: it was taken back in between
TALLY_BYTES_MAX = 65_536  # of one session's figures; then they are folded into one line
TALLY_KEPT_MS = 30 * 86_400_000
TRANSCRIPT_BYTES_MAX = 32 * 1_048_576  # read at the end of one turn
COST_ROWS_MAX = 100
RUN_TOKENS_MAX = 10**12  # of one run; what is more is no count, and sums have 63 bits
RUN_MICROS_MAX = 10**12  # millionths of a dollar
OUTCOMES_MAX = 200
MODEL_CHARS_MAX = 100
STATS_DAYS = 30
STATS_DAYS_MAX = 3_650
STATS_EVENTS_READ = 2_000  # at once
TRAIL_KEPT_MS = 7 * 86_400_000  # of a session that never said farewell
SNAPSHOT_BYTES_MAX = 1_048_576  # of a larger file only a fingerprint is kept
SNAPSHOTS_BYTES_MAX = 256 * 1_048_576  # of one room
SNAPSHOTS_KEPT_MS = 7 * 86_400_000
SNAPSHOTS_PER_CLAIM_BYTES_MAX = 16 * 1_048_576  # what the claim of a folder may copy
WATCHED_MAX = 256  # foreign files that one call is compared with
COMPARED_BYTES_MAX = 32 * 1_048_576  # that are read after one call; of what is more the size has to tell
COPIED_PER_CALL_MAX = 8  # files of others that nobody has copied yet; whoever comes copies what there is
COMPANY_MS = 2 * 3_600_000  # a session that has been silent for longer is no company
READS_BYTES_MAX = 65_536  # what one session is known to have read
UNSAID_BYTES_MAX = 16_384  # what waits until a client's model can be told
NOTICES_SHOWN = 5
NEWS_BYTES_MAX = 600  # what is new since the last prompt
COMMAND_LOCK_WAIT_MS = 8_000
RETRY_MS_MIN = 0.2
RETRY_MS_MAX = 20.0
RETRY_WAITED_PART = 8  # a pause is at most this part of what was waited so far

# --- storage ----------------------------------------------------------------------------------------------------
WAL_PAGES_BEFORE_CHECKPOINT = 1_000
MAKING_WAIT_MS = 3_000  # for another process that makes the same room: it is quicker than making it twice
BACKUPS_KEPT = 7  # one a day
WAL_PAGES_MAX = 2_000  # from here on writers wait while the log is shortened
REBOOT_GAP_MS_MAX = 7 * 86_400_000  # after a reboot, a wall-clock difference up to this counts as time passed
SOCKET_PATH_BYTES_MAX = 100

# --- the host -----------------------------------------------------------------------------------------------------
HOST_IDLE_MS = 10 * 60_000  # without clients it leaves after this time
HOST_PEERS_MAX = 1_024
HOST_FIRST_WORD_MS = 5_000  # whoever connects says what he wants within this time
HOST_ANSWER_MS = 10_000  # whoever asks takes his answer within this time
HOST_HOOK_BYTES_MAX = 1_048_576  # a hook with a larger payload sees to it itself
HOST_LINE_BYTES_MAX = 8 * 1_048_576
HOST_WORKERS_AT_ONCE = 2  # as long as none of them waits
HOST_WORKERS_ASIDE_MAX = 6  # who wait for the disk while others work
HOST_WORKERS_MAX = 32
HOST_AT_ONCE_MS = 3  # a question that takes longer is one for a worker
HOST_AT_ONCE_PART = 100  # one that took longer is left to the workers for so many times as long
HOST_AT_ONCE_BYTES_MAX = 65_536  # of the payload of a hook that is looked at without a worker
HOST_AT_ONCE_ROUND_MS = 20  # in one round; what is left is done by the workers
HURRY_WAITED = 10  # times as long as it may work it may wait, for the disk or because others work
HURRY_STEPS = 4_000  # of SQLite's machine, about 0.2 ms, between two looks whether a question takes too long
HOST_WAITING_MAX = 256  # calls of one client that wait for their turn
HOST_WORKER_IDLE_SECONDS = 120  # then a worker closes its rooms and ends
HOST_ROOMS_OPEN_MAX = 32  # of one worker
HOST_LIVES_MAX = 256  # processes that are held by a descriptor
HOST_HAND_OVER_MS = 3_000  # what clients have asked before is answered within this time
HOST_START_MS = 3_000  # how long a starter waits for the first answer of a new host
HOST_SWEEP_MS = 30_000
HOST_WATCHED_MAX = 64  # rooms that somebody waits for a change of
HOST_LOG_BYTES_MAX = 1_048_576
HTTP_CONNECTIONS_MAX = 128
HTTP_BODY_SECONDS = 10
METRICS_ROOMS_MAX = 20  # the rooms that were changed last
METRICS_STATS_EVERY_MS = 60_000
STREAMS_MAX = 64
COMPLETIONS_MAX = 20  # values that a client is offered for what a person fills in
HTTP_TOKENS_MAX = 200  # that let clients in at clearway serve
SUBSCRIPTIONS_MAX = 100  # resources that one client wants to be told of
PROGRESS_SECONDS = 5  # between two words to a client whose call takes long
STREAM_EVENTS_KEPT = 400  # of one room, for those who read its stream a little behind the others

# --- the web room -------------------------------------------------------------------------------------------------
WEB_TICKET_MS = 10 * 60_000  # a link that logs in is good for this time, once
WEB_TICKETS_MAX = 16
WEB_TICKET_CHARS_MAX = 128
WEB_LOGINS_REFUSED_MAX = 10  # wrong tickets within this time; then nobody is told any more whether one is good
WEB_LOGINS_REFUSED_MS = 60_000
WEB_SESSION_MS = 7 * 86_400_000
WEB_SESSION_IDLE_MS = 24 * 3_600_000
WEB_SESSIONS_MAX = 32
WEB_ROOMS_SHOWN = 50
BOARD_CARDS = 60  # of one column
BOARD_COUNTED_MAX = 5_000  # of one column; of more it is said that there are more
BLOCKERS_SHOWN = 3
HOLDINGS_SHOWN_MAX = 500
LETTERS_DEFAULT = 50

# --- workers ------------------------------------------------------------------------------------------------------
WORKER_RUN_SECONDS = 1_800
WORKER_RUN_SECONDS_MAX = 4 * 3_600
WORKER_STARTS_PER_HOUR = 12
WORKER_STARTS_PER_HOUR_MAX = 1_000
WORKER_GRACE_SECONDS_MAX = 86_400
WORKER_TERM_SECONDS = 300  # of a lease; it is renewed while the run goes on, and a worker that is lost is noticed by it
WORKER_OUTPUT_BYTES_MAX = 4 * 1_048_576  # of what a client prints; the newest is kept
WORKER_COMPLAINT_BYTES_MAX = 65_536
WORKER_RESULT_CHARS = 8_000  # of an answer that is handed back
WORKER_TAIL_CHARS = 4_000  # of what a failing run printed
WORKER_PROMPT_BYTES_MAX = 100_000  # one argument of a program has 128 KiB on Linux
WORKER_FAILURES_IN_A_ROW = 3  # then a worker rests
WORKER_REST_MS = 60_000  # at first; each failing run after it doubles the rest
WORKER_REST_MS_MAX = 15 * 60_000
WORKER_LOOK_MS = 5_000  # so often an idle worker looks whether time has freed something
WORKER_DIFF_LINES = 30  # of a diff stat, in a result
MODEL_ANSWER_BYTES_MAX = 4 * 1_048_576

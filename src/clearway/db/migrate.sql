-- name: record
INSERT INTO schema_migration (version, name, checksum, applied_wall) VALUES (:version, :name, :checksum, :wall)

-- name: history
SELECT version, name, checksum FROM schema_migration ORDER BY version

-- name: seed
INSERT INTO room (one, project_id, created_wall, test_clock, anchor_boot, anchor_monotonic, anchor_wall, anchor_room,
  last_event, last_issue, last_fence)
VALUES (1, :project_id, :wall, :test_clock, :boot, :monotonic, :wall, :room, 0, 0, 0)

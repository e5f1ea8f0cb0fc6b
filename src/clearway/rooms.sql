-- A folder that was deleted and made anew has another identity, and is another repository.
-- name: find
SELECT project_id FROM repository WHERE common_directory = :common AND device = :device AND inode = :inode

-- name: remember
INSERT INTO repository (common_directory, device, inode, project_id, seen_wall)
VALUES (:common, :device, :inode, :project, :wall)
ON CONFLICT (common_directory) DO UPDATE SET device = excluded.device, inode = excluded.inode,
  project_id = excluded.project_id, seen_wall = excluded.seen_wall

-- name: by_fence
SELECT id, session, agent, shown, checkout, fence FROM path_lease WHERE fence = :fence

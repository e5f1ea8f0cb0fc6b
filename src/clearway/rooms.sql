-- A folder that was deleted and made anew has another inode, and is another repository. The number of a device may
-- change with a boot, so it is not asked here.
-- name: find
SELECT project_id FROM repository WHERE common_directory = :common AND inode = :inode

-- The same git directory, under the name it had before it was moved.
-- name: find_moved
SELECT project_id FROM repository WHERE device = :device AND inode = :inode ORDER BY seen_wall DESC LIMIT 1

-- name: remember
INSERT INTO repository (common_directory, device, inode, project_id, seen_wall)
VALUES (:common, :device, :inode, :project, :wall)
ON CONFLICT (common_directory) DO UPDATE SET device = excluded.device, inode = excluded.inode,
  project_id = excluded.project_id, seen_wall = excluded.seen_wall

-- name: repositories
SELECT common_directory, project_id FROM repository ORDER BY seen_wall DESC, common_directory LIMIT :limit

-- name: by_fence
SELECT id, session, agent, shown, checkout, fence FROM path_lease WHERE fence = :fence

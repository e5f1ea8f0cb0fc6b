-- name: changes_of_others
SELECT data FROM event
WHERE issue = :issue AND id > :since AND type IN ('status_changed', 'labels_changed', 'issue_updated')
  AND session <> :holder AND session <> :caller

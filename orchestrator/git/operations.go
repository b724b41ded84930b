package git

// Operations are the files and folders below the git directory of a work tree by which git knows that a merge, a
// rebase, a bisect or the like is under way there.
func Operations() []string {
	return []string{"rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE", "BISECT_LOG", "BISECT_START"}
}

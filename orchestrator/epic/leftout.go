package epic

import (
	"fmt"
	"strings"
)

// LeftOut says in a clause each of tasks that land without a git repository of its own which is in their worktree.
func (s State) LeftOut(tasks []TaskID) (clauses []string) {
	for _, id := range tasks {
		if apart := s.Task(id).Last().Apart; len(apart) > 0 {
			clauses = append(clauses, fmt.Sprintf("without the files of %s in %s, %s", strings.Join(apart, ", "), id, ownRepositories(len(apart))))
		}
	}
	return clauses
}

func ownRepositories(n int) string {
	if n == 1 {
		return "a git repository of its own, which are kept"
	}
	return "git repositories of their own, which are kept"
}

package worktree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/beadsorch/orch/orchestrator/git"
)

// setHead makes content the HEAD of the worktree, which was at from and is then at to; from may
// be empty. It is done here and not by git, which would read the settings in the admin
// directory. It fails when another process is changing HEAD, or when a file cannot be written.
func (l linked) setHead(content string, from, to git.Commit, now time.Time) error {
	head := filepath.Join(l.admin, "HEAD")
	lock, err := os.OpenFile(head+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("changing HEAD: %w", err)
	}
	_, err = lock.WriteString(content + "\n")
	if err = errors.Join(err, lock.Sync(), lock.Close()); err == nil {
		err = l.logHead(from, to, now)
	}
	if err == nil {
		err = os.Rename(head+".lock", head)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("changing HEAD: %w", err), os.Remove(head+".lock"))
	}
	return nil
}

// logHead adds a line to the reflog of HEAD, if there is one.
func (l linked) logHead(from, to git.Commit, now time.Time) error {
	log, err := os.OpenFile(filepath.Join(l.admin, "logs", "HEAD"), os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	was := cmp.Or(string(from), strings.Repeat("0", len(to)))
	_, err = fmt.Fprintf(log, "%s %s orch <orch@localhost> %d +0000\torch\n", was, to, now.Unix())
	return errors.Join(err, log.Close())
}

// quitMerge forgets that a merge is under way, which has been committed. What a merge has
// stashed stays where the next commit takes it from.
func (l linked) quitMerge() error {
	for _, name := range []string{"MERGE_HEAD", "MERGE_RR", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE"} {
		if err := os.Remove(filepath.Join(l.admin, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("ending a merge: %w", err)
		}
	}
	return nil
}

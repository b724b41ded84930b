package cmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
)

// faultPoints is at how many system calls faults are injected: at none, or with ORCH_TEST_LONG at
// some, or at as many as that says.
func faultPoints(t *testing.T) int {
	long := os.Getenv("ORCH_TEST_LONG")
	if long == "" {
		t.Skip("SKIPPED: faults of system calls are injected with ORCH_TEST_LONG=1 only")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("SKIPPED: faults of system calls cannot be injected: there is no strace here")
	}
	if out, err := exec.CommandContext(t.Context(), "strace", "-o", "/dev/null", "-e", "inject=getpid:error=EIO", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: strace does not work here: %s", out)
	}
	n, err := strconv.Atoi(long)
	require.NoError(t, err)
	if n == 1 {
		return 60
	}
	return n
}

// A callFault is one system call that fails.
type callFault struct {
	call, errno string
	when        int
	stays       bool   // all later ones fail too
	only        string // the file that it is about, relative to the repository; "" any
	children    bool   // those of git and agents too, each by its own count
}

// randomFault is a fault at random. Threads and events of the Go runtime are left alone, which ends a process
// that cannot have them: that is a kill, and has tests of its own.
func randomFault(rnd *rand.Rand) callFault {
	kinds := []callFault{
		{call: "openat", errno: "EMFILE"}, {call: "openat", errno: "EIO"}, {call: "openat", errno: "ENOSPC"},
		{call: "write", errno: "ENOSPC", only: ".git/orch/epics/e-1/journal.jsonl"},
		{call: "write", errno: "EIO", only: ".git/orch/epics/e-1/journal.jsonl"},
		{call: "fsync,fdatasync", errno: "EIO"}, {call: "fsync,fdatasync", errno: "ENOSPC"},
		{call: "rename,renameat,renameat2", errno: "EIO"}, {call: "rename,renameat,renameat2", errno: "ENOSPC"},
		{call: "mkdir,mkdirat", errno: "ENOSPC"}, {call: "unlink,unlinkat", errno: "EIO"},
		{call: "mkdir,mkdirat", errno: "EPERM"}, {call: "unlink,unlinkat", errno: "EBUSY"}, {call: "fchmod,fchmodat", errno: "EPERM"},
		{call: "pipe2,socketpair", errno: "EMFILE"}, {call: "flock", errno: "ENOLCK"}, {call: "ftruncate", errno: "EIO"},
		{call: "getdents64", errno: "EIO"}, {call: "link,linkat,symlink,symlinkat", errno: "ENOSPC"},
	}
	f := kinds[rnd.IntN(len(kinds))]
	most := 5.0 // doublings; each thread counts for itself
	if f.call == "openat" {
		most = 8
	}
	f.when, f.stays, f.children = int(math.Exp2(rnd.Float64()*most)), rnd.IntN(4) == 0, f.only == "" && rnd.IntN(3) == 0
	if f.call == "openat" {
		f.when = max(f.when, 5) // the system's loader opens what comes before
	}
	return f
}

func (c callFault) String() string {
	return fmt.Sprintf("%s %s at %d, stays %t, of children %t, %s", c.errno, c.call, c.when, c.stays, c.children, c.only)
}

// options are what strace is given to start argv with the fault.
func (c callFault) options(dir, log string, argv ...string) []string {
	when := strconv.Itoa(c.when)
	if c.stays {
		when += "+"
	}
	out := []string{"-f", "-qq", "-o", log, "-e", "trace=" + c.call, "-e", "inject=" + c.call + ":error=" + c.errno + ":when=" + when}
	if !c.children {
		out = append(out, "-b", "execve")
	}
	if c.only != "" {
		out = append(out, "-P", filepath.Join(dir, c.only))
	}
	return append(out, argv...)
}

const plainAgent = `cd "$ORCH_WORKTREE" && echo "$ORCH_TASK" >"$ORCH_TASK" && git add -A && git commit -q -m work`

var crashed = regexp.MustCompile(`(?m)^panic:|^goroutine \d+|UNEXPECTED|^fatal error:`)

// TestFaultsOfSystemCalls has system calls of a run fail, one after the other. The run says what there is to say,
// and the next one ends as if nothing had happened: all that is closed has landed, once.
func TestFaultsOfSystemCalls(t *testing.T) {
	rnd := rand.New(rand.NewPCG(uint64(len("faults")), 4))
	for n := range faultPoints(t) {
		c := randomFault(rnd)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Log(c)
			f := newFixture(t, plainAgent, "true")
			f.task("one")
			f.task("two")
			f.task("three", ".1", ".2")
			was := f.checkout()
			log := filepath.Join(filepath.Dir(f.dir), "calls")
			out, code := f.run(nil, "strace", c.options(f.dir, log, filepath.Join(f.bin, "orch"), "run", f.epic)...)
			calls, err := os.ReadFile(log)
			require.NoError(t, err)
			t.Logf("exit %d, %d calls failed", code, strings.Count(string(calls), "(INJECTED)"))
			require.NotRegexp(t, crashed, out)
			require.Contains(t, []int{cli.ExitDone, cli.ExitNeedsYou, cli.ExitLimit, cli.ExitMachine}, code, out)
			if code == cli.ExitDone {
				f.allLanded(out)
			}
			for range 3 { // what a fault within an agent has parked is for a person to say
				if out, code = f.run(nil, "orch", "run", f.epic); code != cli.ExitNeedsYou {
					break
				}
				for _, id := range []string{".1", ".2", ".3"} {
					f.run(nil, "orch", "retry", f.epic+id)
				}
			}
			require.Zero(t, code, out)
			f.allLanded(out)
			require.Equal(t, was, f.checkout())
			f.noProcesses()
		})
	}
}

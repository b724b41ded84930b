//go:build unix

package journal_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

// The test binary is also the writer that gets killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("JOURNAL_TEST_WRITER"); dir != "" {
		os.Exit(writeForEver(dir))
	}
	os.Exit(m.Run())
}

// writeForEver appends until it is killed or fails, and prints each number that it was
// told is safe. With JOURNAL_TEST_LIMIT no file can grow beyond that many bytes.
func writeForEver(dir string) int {
	if limit, err := strconv.ParseUint(os.Getenv("JOURNAL_TEST_LIMIT"), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			fmt.Println("limit:", err)
			return 2
		}
	}
	j, _, err := journal.Open(dir, time.Now)
	if err != nil {
		fmt.Println("open:", err)
		return 2
	}
	for i := 0; ; i++ {
		text := event{Kind: "note", Text: strings.Repeat("x", i*37%5000)}
		recs, err := j.AppendAll(text, text, text)
		if err != nil {
			fmt.Println("append:", err)
			_, err = j.Append(1)
			fmt.Println("append again:", err)
			return 0
		}
		fmt.Println(recs[2].Seq)
	}
}

func writer(t *testing.T, dir string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), append(env, "JOURNAL_TEST_WRITER="+dir)...)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	return c, bufio.NewScanner(out)
}

func TestAcknowledgedSurvivesKill(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	acknowledged, torn := 0, 0
	for round := range 25 {
		c, out := writer(t, dir)
		for range 1 + round*round%17 {
			require.True(t, out.Scan())
			n, err := strconv.Atoi(out.Text())
			require.NoError(t, err, out.Text())
			acknowledged = n
		}
		require.NoError(t, c.Process.Kill())
		for out.Scan() { // what it was told before it died counts
			if n, err := strconv.Atoi(out.Text()); err == nil {
				acknowledged = n
			}
		}
		require.Error(t, c.Wait())

		rec, err := journal.Read(dir)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(rec.Records), acknowledged)
		if rec.TornBytes > 0 {
			torn++
		}
		for i, r := range rec.Records {
			require.EqualValues(t, i+1, r.Seq)
		}
	}
	t.Logf("%d records, %d torn tails", acknowledged, torn)
}

// A disk that is full in the middle of a record breaks the journal for its writer, not
// for the next one.
func TestBrokenStaysBroken(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c, out := writer(t, dir, "JOURNAL_TEST_LIMIT=20000")
	acknowledged, said := 0, []string(nil)
	for out.Scan() {
		if n, err := strconv.Atoi(out.Text()); err == nil {
			acknowledged = n
			continue
		}
		said = append(said, out.Text())
	}
	require.NoError(t, c.Wait())
	require.Len(t, said, 2)
	for _, line := range said {
		require.Contains(t, line, journal.ErrBroken.Error())
		require.Contains(t, line, syscall.EFBIG.Error())
	}
	require.Positive(t, acknowledged)

	j, rec := open(t, dir)
	require.GreaterOrEqual(t, len(rec.Records), acknowledged)
	require.Positive(t, rec.TornBytes)
	_, err := j.Append("there is room again")
	require.NoError(t, err)
}

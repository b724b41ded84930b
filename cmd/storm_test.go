package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stormKills is how often a storm kills orch with each of its seeds: a few times, or with
// ORCH_TEST_LONG so often that there are a thousand kills in all, or as often as that says.
func stormKills() int {
	switch long := os.Getenv("ORCH_TEST_LONG"); long {
	case "":
		return 4
	case "1":
		return 334
	default:
		n, err := strconv.Atoi(long)
		if err != nil {
			panic("ORCH_TEST_LONG is 1, or a number of kills: " + long)
		}
		return n
	}
}

// TestKillStorm kills orch at random moments, epic after epic, with three seeds. Each epic ends
// as if nothing had happened: nothing lost, nothing landed twice, nothing left behind.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	ref := killFixture(t)
	out, code := ref.run(nil, "orch", "run", ref.epic)
	require.Equal(t, 0, code, out)
	tree := ref.must("git", "rev-parse", "epic/"+ref.epic+"^{tree}")
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			for kills, epics := 0, 0; kills < stormKills(); epics++ {
				f := killFixture(t)
				was := f.checkout()
				for killed := true; killed; {
					killed = kills < stormKills() && f.killedAfter(time.Duration(rnd.Int64N(int64(1500*time.Millisecond))))
					if killed {
						kills++
					}
				}
				out, code := f.run(nil, "orch", "run", f.epic)
				require.Equal(t, 0, code, "seed %d, epic %d, after %d kills:\n%s", seed, epics, kills, out)
				f.oracle(tree, out)
				require.Equal(t, was, f.checkout())
			}
		})
	}
}

// killedAfter runs the epic, and kills orch after a while; false when it has ended before.
func (f *fixture) killedAfter(d time.Duration) bool {
	f.t.Helper()
	c := exec.CommandContext(f.t.Context(), filepath.Join(f.bin, "orch"), "run", f.epic)
	c.Dir, c.Env = f.dir, f.env
	require.NoError(f.t, c.Start())
	kill := time.AfterFunc(d, func() { _ = c.Process.Kill() }) // it may have ended
	err := c.Wait()
	return err != nil && !kill.Stop()
}

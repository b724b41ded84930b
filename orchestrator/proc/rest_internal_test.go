package proc

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pipe whose deadline has passed before its reader had a turn gives what it holds, and
// waits for nobody who keeps it open.
func TestPumpTakesWhatIsThere(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	_, err = w.Write(bytes.Repeat([]byte("x"), 50_000))
	require.NoError(t, err)
	require.NoError(t, r.SetReadDeadline(time.Now().Add(-time.Second)))
	n := 0
	pump(r, func(b []byte) { n += len(b) })
	require.Equal(t, 50_000, n)
}

package journal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Versions are counted from 1: a header or a record that says less was not written by orch.
func TestNoVersionBelowOne(t *testing.T) {
	t.Parallel()
	for _, v := range []int{0, -1} {
		line, _, err := seal(header{Format: format, V: v, Created: time.Unix(0, 0).UTC()})
		require.NoError(t, err)
		_, err = new(chain).extend(line, nil)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "version")

		head, sum, err := seal(header{Format: format, V: version, Created: time.Unix(0, 0).UTC()})
		require.NoError(t, err)
		line, _, err = seal(entry{V: v, Seq: 1, Prev: sum, Event: []byte("{}")})
		require.NoError(t, err)
		_, err = new(chain).extend(append(head, line...), func(Record) error { return nil })
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "version")
	}
}

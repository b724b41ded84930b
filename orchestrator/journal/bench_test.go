package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

func BenchmarkAppend(b *testing.B) {
	j, _ := open(b, newDir(b))
	e := event{Kind: "started", Text: "the agent of bd-1.2 was started"}
	for b.Loop() {
		_, err := j.Append(e)
		require.NoError(b, err)
	}
}

func BenchmarkRead100k(b *testing.B) {
	dir := newDir(b)
	j, _ := open(b, dir)
	batch := make([]any, 1000)
	for i := range batch {
		batch[i] = event{Kind: "started", Text: "the agent of bd-1.2 was started"}
	}
	for range 100 {
		_, err := j.AppendAll(batch...)
		require.NoError(b, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		rec, err := journal.Read(dir)
		require.NoError(b, err)
		require.Len(b, rec.Records, 100_000)
	}
}

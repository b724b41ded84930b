package session_test

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/session"
)

// clip reads all of a text in pieces of one byte, as a slow client writes it.
func clip(t *testing.T, text string) string {
	t.Helper()
	out, err := io.ReadAll(session.Clip(iotest.OneByteReader(strings.NewReader(text))))
	require.NoError(t, err)
	return string(out)
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{}`, `{"a":"b\"c\\","d":[1,2.5,null]}`, `"\u00e9\ud83c\udf89"`, "{\"a\" : \"x\n y\"}", `{"a":"not ended`, `"ends in \`, `rubbish "x`} {
		require.Equal(t, strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(clip(t, text)), " "))
	}
	require.Equal(t, "{ }", clip(t, "{"+strings.Repeat(" \n\t", 100_000)+"}"))

	for _, filler := range []string{"x", "é", "🎉", `"`, `\`, "\n", "\x01", "\u2028", "a b"} {
		want := "begin " + strings.Repeat(filler, 1<<20) + " <promise>COMPLETE</promise>"
		text, err := json.Marshal(map[string]string{"last_assistant_message": want, "session_id": "s"})
		require.NoError(t, err)
		in, err := session.ReadInput(bytes.NewReader(text))
		require.NoError(t, err, "%q", filler)
		require.Equal(t, "s", in.Session)
		require.True(t, strings.HasPrefix(in.LastMessage, "begin "), "%q", filler)
		require.True(t, strings.HasSuffix(in.LastMessage, " <promise>COMPLETE</promise>"), "%q", filler)
		require.Contains(t, in.LastMessage, "\n...\n")
		require.Less(t, len(in.LastMessage), 300<<10)
		require.True(t, utf8.ValidString(in.LastMessage))
	}
	_, err := session.ReadInput(strings.NewReader(`{"background_tasks":[` + strings.Repeat(`{"id":"x"},`, 1<<20) + `{}]}`))
	require.ErrorIs(t, err, session.ErrInput)
}

// TestReadInputInLittleMemory: whatever comes, not more than 32 MiB is taken, all in all.
func TestReadInputInLittleMemory(t *testing.T) {
	for name, text := range map[string]func() io.Reader{
		"a long message": func() io.Reader {
			return io.MultiReader(strings.NewReader(`{"last_assistant_message":"`), io.LimitReader(fill('x'), 64<<20), strings.NewReader(`"}`))
		},
		"white space": func() io.Reader { return io.LimitReader(fill(' '), 64<<20) },
		"many fields": func() io.Reader {
			return io.MultiReader(strings.NewReader("{"), strings.NewReader(strings.Repeat(`"k":"v",`, 1<<20)))
		},
		"deep nesting": func() io.Reader { return io.LimitReader(fill('['), 64<<20) },
		"a number":     func() io.Reader { return io.LimitReader(fill('7'), 64<<20) },
	} {
		in := text()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := session.ReadInput(in)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "%s: %v", name, err)
	}
}

type fill byte

func (f fill) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = byte(f)
	}
	return len(p), nil
}

func FuzzClip(f *testing.F) {
	f.Add(`{"a":"b\"c","d":[1, 2]}`)
	f.Fuzz(func(t *testing.T, text string) {
		out, err := io.ReadAll(session.Clip(strings.NewReader(text)))
		require.NoError(t, err)
		require.Equal(t, json.Valid([]byte(text)), json.Valid(out), "%q", out)
		var was, is any
		if json.Unmarshal([]byte(text), &was) == nil && json.Unmarshal(out, &is) == nil {
			require.Equal(t, was, is)
		}
	})
}

package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	version  = 3 // 1 and 2 are read for ever; what is written is of this version
	format   = "orch-journal"
	sumBytes = 16
	sumKey   = `,"sum":"`
	sumTail  = len(sumKey) + 2*sumBytes + len(`"}`)
	// headerStart is how every header begins, in every version.
	headerStart = `{"format":"` + format + `","v":`
	// recordStart is how every record begins, in every version.
	recordStart = `{"v":`
)

// header is the first line, without its sum.
type header struct {
	Format  string    `json:"format"`
	V       int       `json:"v"`
	Created time.Time `json:"created"`
}

// entry is any other line, without its sum.
type entry struct {
	V     int             `json:"v"`
	Seq   int64           `json:"seq"`
	At    time.Time       `json:"at"`
	Prev  string          `json:"prev"`
	Event json.RawMessage `json:"event"`
}

// seal makes a line, newline included, of a header or an entry, and gives its sum. It
// fails when v is not to be had as JSON.
func seal(v any) (line []byte, sum string, err error) {
	body, err := encode(v)
	if err != nil {
		return nil, "", err
	}
	body = body[:len(body)-1]
	sum = sumOf(body)
	return fmt.Appendf(body, "%s%s\"}\n", sumKey, sum), sum, nil
}

// encode is compact JSON in which <promise> can be read.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func sumOf(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:sumBytes])
}

// What is wrong with a line that is none of a journal's.
var (
	errSum     = errors.New("its checksum does not match")
	errLineEnd = errors.New("its end was converted to CR LF")
)

// unseal reads a line, without its newline, into a header or an entry. It fails when the
// sum is not that of the line.
func unseal(line []byte, v any) (sum string, err error) {
	n := len(line) - sumTail
	if n < 0 {
		return "", errSum
	}
	body, sum := line[:n], sumOf(line[:n])
	if string(line[n:]) != sumKey+sum+`"}` {
		if unix, dos := bytes.CutSuffix(line, []byte("\r")); dos {
			if _, err := unseal(unix, v); err == nil {
				return "", errLineEnd
			}
		}
		return "", errSum
	}
	if err := json.Unmarshal(append(body[:n:n], '}'), v); err != nil {
		return "", fmt.Errorf("it is not a record: %w", err)
	}
	return sum, nil
}

// holdsRecord reports whether some record in data is whole, wherever it begins: damage to
// a newline leaves the record behind it at the end of a longer line.
func holdsRecord(data []byte) bool {
	for line := range bytes.Lines(data) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		for whole {
			i := bytes.Index(line, []byte(recordStart))
			if i < 0 {
				break
			}
			if _, err := unseal(line[i:], new(entry)); err == nil {
				return true
			}
			line = line[i+len(recordStart):]
		}
	}
	return false
}

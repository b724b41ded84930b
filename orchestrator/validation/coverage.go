package validation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/orchestrator/text"
)

// A tally counts what could be covered, and what was.
type tally struct {
	covered, total int64
}

func (t *tally) add(covered, total int64) {
	t.covered += covered
	t.total += total
}

var errNoReport = errors.New("no coverage report of a known format (go, lcov, cobertura, jacoco)")

// A reader of one format fails when the report is not of it, or damaged.
type reportReader func(report []byte) (tally, error)

func formatNamed(name string) reportReader {
	switch name {
	case "go":
		return readGo
	case "lcov":
		return readLCOV
	case "cobertura":
		return readCobertura
	case "jacoco":
		return readJaCoCo
	}
	return nil
}

// coverage passes when the report's total is no less than Min.
func (r Rule) coverage(in Input) Check {
	root, err := os.OpenRoot(in.Dir)
	if err != nil {
		return errorCheck("%v", err)
	}
	defer root.Close()
	report, err := readFile(root, r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return errorCheck("there is no %s; a rule before this one has to write it", r.Path)
	}
	if err != nil {
		return errorCheck("%v", err)
	}
	read := formatNamed(r.Format)
	if read == nil {
		read = formatOf(report)
	}
	t, err := read(report)
	if err != nil {
		return errorCheck("%s: %v", r.Path, err)
	}
	if t.total <= 0 || t.covered < 0 || t.covered > t.total {
		return errorCheck("%s covers %d of %d", r.Path, t.covered, t.total)
	}
	covered, total := float64(t.covered), float64(t.total)
	c := Check{Passed: 100*covered/total >= r.Min}
	c.Why = fmt.Sprintf("coverage is %.2f%%", math.Floor(10000*covered/total)/100) // never rounded up to Min
	if !c.Passed {
		c.Why += fmt.Sprintf(", less than %g%%", r.Min)
	}
	return c
}

// formatOf finds out by how the report begins.
func formatOf(report []byte) reportReader {
	report = bytes.TrimSpace(bytes.TrimPrefix(report, []byte("\ufeff")))
	switch {
	case bytes.HasPrefix(report, []byte("mode:")):
		return readGo
	case bytes.HasPrefix(report, []byte("TN:")), bytes.HasPrefix(report, []byte("SF:")):
		return readLCOV
	case bytes.HasPrefix(report, []byte("<")):
		return readXML
	}
	return func([]byte) (tally, error) { return tally{}, errNoReport }
}

// readGo reads a profile of `go test -coverprofile`: statements, each block once however
// often it comes (a package that several test programs cover has it several times).
func readGo(report []byte) (t tally, err error) {
	type block struct{ statements, count int64 }
	blocks := map[string]block{}
	for line := range strings.Lines(string(report)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "mode:") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return t, fmt.Errorf("not a line of a Go cover profile: %s", text.Clause(line, 200))
		}
		n := len(fields)
		statements, err1 := strconv.ParseInt(fields[n-2], 10, 32)
		count, err2 := strconv.ParseUint(fields[n-1], 10, 64)
		if err := errors.Join(err1, err2); err != nil || statements < 0 {
			return t, fmt.Errorf("not a line of a Go cover profile: %s", text.Clause(line, 200))
		}
		where := strings.Join(fields[:n-2], " ")
		blocks[where] = block{statements, max(blocks[where].count, int64(min(count, 1)))}
	}
	for _, b := range blocks {
		t.add(b.statements*b.count, b.statements)
	}
	return t, nil
}

// readLCOV reads a tracefile of lcov 1 or 2: lines, each of a file once.
func readLCOV(report []byte) (t tally, err error) {
	file, hit := "", map[string]bool{}
	for line := range strings.Lines(string(report)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "SF":
			file = value
		case "DA":
			number, rest, ok := strings.Cut(value, ",")
			count, _, _ := strings.Cut(rest, ",")
			n, err := strconv.ParseFloat(count, 64)
			if !ok || err != nil {
				return t, fmt.Errorf("not a line of a tracefile: %s", text.Clause(line, 200))
			}
			where := file + "\x00" + number
			hit[where] = hit[where] || n > 0
		}
	}
	for _, yes := range hit {
		t.total++
		if yes {
			t.covered++
		}
	}
	return t, nil
}

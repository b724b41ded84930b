package validation

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// element is a start tag, with how many are open around it.
type element struct {
	xml.StartElement
	depth int
}

func (e element) attr(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// count reads two numbers, neither of them negative.
func (e element) count(a, b string) (x, y int64, err error) {
	x, err1 := strconv.ParseInt(e.attr(a), 10, 40)
	y, err2 := strconv.ParseInt(e.attr(b), 10, 40)
	if err := errors.Join(err1, err2); err != nil || x < 0 || y < 0 {
		return 0, 0, fmt.Errorf("<%s> has no numbers %s, %s", e.Name.Local, a, b)
	}
	return x, y, nil
}

var errDone = errors.New("enough was read")

// eachElement calls each for every start tag, until it returns errDone. It fails with each's
// error, and for what is not XML.
func eachElement(report []byte, each func(element) error) error {
	d := xml.NewDecoder(bytes.NewReader(report))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names and numbers are ASCII
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := each(element{token, depth}); errors.Is(err, errDone) {
				return nil
			} else if err != nil {
				return err
			}
			depth++
		case xml.EndElement:
			depth--
		}
	}
}

// readXML reads Cobertura or JaCoCo, which it distinguishes by the outermost element.
func readXML(report []byte) (t tally, err error) {
	read := reportReader(nil)
	err = eachElement(report, func(e element) error {
		switch e.Name.Local {
		case "coverage":
			read = readCobertura
		case "report":
			read = readJaCoCo
		}
		return errDone
	})
	if err != nil {
		return t, err
	}
	if read == nil {
		return t, errNoReport
	}
	return read(report)
}

// readCobertura reads the totals of the outermost element: lines; where an old one has
// only the rate, in ten thousandths.
func readCobertura(report []byte) (t tally, err error) {
	err = eachElement(report, func(e element) error {
		if e.Name.Local != "coverage" {
			return errNoReport
		}
		if e.attr("lines-valid") != "" {
			t.covered, t.total, err = e.count("lines-covered", "lines-valid")
		} else {
			var rate float64
			rate, err = strconv.ParseFloat(e.attr("line-rate"), 64)
			if err != nil || !(rate >= 0 && rate <= 1) {
				return errors.New("<coverage> has no line-rate from 0 to 1")
			}
			t = tally{covered: int64(rate * 10000), total: 10000}
		}
		if err != nil {
			return err
		}
		return errDone
	})
	return t, err
}

// readJaCoCo reads the LINE counters just below the outermost element, or in a report of
// a class file without line numbers the INSTRUCTION ones.
func readJaCoCo(report []byte) (t tally, err error) {
	totals := map[string]*tally{"LINE": {}, "INSTRUCTION": {}}
	err = eachElement(report, func(e element) error {
		if e.depth == 0 && e.Name.Local != "report" {
			return errNoReport
		}
		total := totals[e.attr("type")]
		if e.depth != 1 || e.Name.Local != "counter" || total == nil {
			return nil
		}
		missed, covered, err := e.count("missed", "covered")
		total.add(covered, missed+covered)
		return err
	})
	if total := totals["LINE"]; total.total > 0 {
		return *total, err
	}
	return *totals["INSTRUCTION"], err
}

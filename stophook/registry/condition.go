package registry

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// Condition is what a when hook asks first.
type Condition struct {
	subject, op, value string
	number             int
}

var condition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(iteration|filesModified|phase|passed|failed|promise)\s*(==|!=|>=|<=|>|<|:)\s*([^\s].{0,199}?)\s*$`)
})

// ParseCondition reads one of:
//
//	iteration >= 10     (==, !=, >=, <=, >, <)
//	filesModified == 0  (how many)
//	phase == testing    (==, !=)
//	passed: RULE   failed: RULE   promise: COMPLETE
//
// It fails with ErrSpec.
func ParseCondition(text string) (Condition, error) {
	m := condition().FindStringSubmatch(text)
	if m == nil {
		return Condition{}, fmt.Errorf("%w: condition %q is none of iteration >= N, filesModified == N, phase == NAME, passed: RULE, failed: RULE, promise: NAME", ErrSpec, text)
	}
	c := Condition{subject: m[1], op: m[2], value: m[3]}
	var err error
	ops := []string{":"}
	switch c.subject {
	case "iteration", "filesModified":
		ops = []string{"==", "!=", ">=", "<=", ">", "<"}
		if c.number, err = strconv.Atoi(c.value); err != nil {
			return Condition{}, fmt.Errorf("%w: condition %q: %q is no number", ErrSpec, text, c.value)
		}
	case "phase":
		ops = []string{"==", "!="}
	}
	if !slices.Contains(ops, c.op) {
		return Condition{}, fmt.Errorf("%w: condition %q: %s takes %v", ErrSpec, text, c.subject, ops)
	}
	return c, nil
}

// holds reports whether the condition is so.
func (c Condition) holds(x Context) bool {
	switch c.subject {
	case "iteration":
		return compare(x.Iteration, c.op, c.number)
	case "filesModified":
		return compare(len(x.FilesModified), c.op, c.number)
	case "phase":
		return (x.ExecutionPhase == c.value) == (c.op == "==")
	case "passed":
		return len(failedRules(x, []string{c.value})) == 0
	case "failed":
		return slices.ContainsFunc(x.ValidationResults, func(v Validation) bool { return v.RuleName == c.value && !v.Passed })
	}
	return promiseOf(x) == c.value
}

func compare(a int, op string, b int) bool {
	switch op {
	case "==":
		return a == b
	case "!=":
		return a != b
	case ">=":
		return a >= b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a < b
}

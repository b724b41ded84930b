package harness

import (
	"errors"
	"fmt"
	"regexp"
	"sync"
)

// ErrOption says that a value cannot be passed to a client, since its command line would
// take it for something else.
var ErrOption = errors.New("not a value for the command line of an agent")

var sessionID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`) })

// Check fails with [ErrOption] when the session, or one of the values of options, would be
// taken for something else on a command line.
func (s Spec) Check(values ...string) error {
	if s.Session != "" && !sessionID().MatchString(s.Session) {
		return fmt.Errorf("%w: session %q", ErrOption, s.Session)
	}
	if s.Resume && s.Session == "" {
		return fmt.Errorf("%w: no session to resume", ErrOption)
	}
	for _, value := range values {
		if value != "" && value[0] == '-' {
			return fmt.Errorf("%w: %q", ErrOption, value)
		}
	}
	return nil
}

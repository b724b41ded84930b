package epic

import "time"

// clock is the time at which rules decide. A rule asks it whether a moment has come, and by
// that asks to be asked again then: what was decided holds until the first moment that any rule
// asked about and that had not come.
type clock struct {
	now  time.Time
	wake time.Time // the first such moment; zero for none
}

// at is a clock for those who do not decide.
func at(now time.Time) *clock { return &clock{now: now} }

// Before reports whether moment has not come, and notes it then.
func (c *clock) Before(moment time.Time) bool {
	if !c.now.Before(moment) {
		return false
	}
	if c.wake.IsZero() || moment.Before(c.wake) {
		c.wake = moment
	}
	return true
}

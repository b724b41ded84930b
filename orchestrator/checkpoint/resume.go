package checkpoint

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/iteration"
)

// Instructions says where the work stands, in a few lines, for whoever resumes from a checkpoint.
func (log *Log) Instructions(c Checkpoint) string {
	var s strings.Builder
	fmt.Fprintf(&s, "Going on with task %s from checkpoint %s, made %s (%s).\n", c.TaskID, c.ID, c.CreatedAt.Format("2006-01-02 15:04:05 MST"), c.Trigger)
	if c.ExecutionPhase != "" {
		fmt.Fprintf(&s, "Phase: %s, step %d.\n", c.ExecutionPhase, c.ExecutionStep)
	}
	if c.Notes != "" {
		fmt.Fprintf(&s, "Notes: %s\n", c.Notes)
	}
	if len(c.FilesModified) > 0 {
		fmt.Fprintf(&s, "Files modified: %s.\n", strings.Join(c.FilesModified, ", "))
	}
	if c.DraftContent != "" {
		fmt.Fprintf(&s, "There is a draft (%s, %d bytes).\n", cmp.Or(c.DraftType, "of no type"), len(c.DraftContent))
	}
	if log.loop != nil {
		s.WriteString(describeLoop(*log.loop))
	}
	return s.String()
}

// describeLoop says how a loop stands and what comes next.
func describeLoop(l iteration.Loop) string {
	var s strings.Builder
	fmt.Fprintf(&s, "Iteration %d of %d.", l.Iteration, l.Config.MaxIterations)
	if n := len(l.History); n > 0 {
		e := l.History[n-1]
		word := "red"
		if e.Passed {
			word = "green"
		}
		fmt.Fprintf(&s, " The last validation was %s, score %d", word, e.ValidationScore)
		if e.Failure != "" {
			s.WriteString(": " + e.Failure)
		}
		s.WriteString(".")
	}
	next := "do the work, then validate"
	switch {
	case l.Done != "":
		next = "nothing; the loop has ended with " + string(l.Done)
	case l.Last != nil && l.Last.Signal == iteration.Continue:
		next = "go on to the next iteration"
	case l.Last != nil:
		next = "complete the loop"
	}
	return s.String() + "\nNext: " + next + ".\n"
}

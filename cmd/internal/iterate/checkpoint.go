package iterate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/text"
)

func checkpointCommand(a commands) *cobra.Command {
	c := &cobra.Command{Use: "checkpoint", Short: "points that an agent can go on from: create, resume, list, expire, cleanup", Args: cli.AtMost(0, "a verb"), RunE: a.app.Group}
	var id string
	resume := verb("resume", "what to go on with, from the newest checkpoint that has not expired", 1, func(ctx context.Context, args []string) error {
		return a.read(ctx, args[0], func(log *checkpoint.Log) error {
			point, err := log.Find(id)
			if err != nil {
				return err
			}
			return a.printResume(log, point)
		})
	})
	resume.Flags().StringVar(&id, "checkpoint", "", "the `id` of another one")
	var keep int
	cleanup := verb("cleanup", "forget what has expired, and all but the newest", 1, func(ctx context.Context, args []string) error {
		return a.write(ctx, args[0], func(log *checkpoint.Log, _ place) error {
			n, err := log.CleanUp(keep)
			if err != nil {
				return err
			}
			return a.print(document.CheckpointsRemoved{TaskID: args[0], Removed: n}, fmt.Sprintf("%d removed\n", n))
		})
	})
	cleanup.Flags().IntVar(&keep, "keep", 5, "how many stay")
	c.AddCommand(createCommand(a), resume, cleanup,
		verb("list", "all checkpoints, oldest first", 1, func(ctx context.Context, args []string) error {
			return a.read(ctx, args[0], func(log *checkpoint.Log) error { return a.printCheckpoints(args[0], log.List()) })
		}),
		verb("expire TASK ID", "keep a checkpoint from being gone on from", 2, func(ctx context.Context, args []string) error {
			return a.write(ctx, args[0], func(log *checkpoint.Log, _ place) error {
				if err := log.Expire(args[1]); err != nil {
					return err
				}
				return a.print(document.CheckpointExpired{TaskID: args[0], ID: args[1], Expired: true}, args[1]+" has expired\n")
			})
		}),
	)
	return c
}

func createCommand(a commands) *cobra.Command {
	var point checkpoint.Checkpoint
	var free, draft string
	var life time.Duration
	c := verb("create", "make a checkpoint now", 1, func(ctx context.Context, args []string) error {
		point.TaskID = args[0]
		if free != "" {
			point.AgentContext = json.RawMessage(free)
		}
		var err error
		if point.DraftContent, err = a.text(draft); err != nil {
			return &cli.Error{Code: "NO_INPUT", What: "the draft cannot be read", Why: err.Error(), Err: err, Exit: cli.ExitNotFound}
		}
		if life > 0 {
			point.ExpiresAt = a.app.Now().Add(life).UTC()
		}
		return a.write(ctx, args[0], func(log *checkpoint.Log, p place) error {
			if p.work.Task == nil { // which orch does not drive; of those it does it knows the id
				if err := p.workspace.CheckTask(ctx, args[0]); err != nil {
					return err
				}
			}
			made, err := log.Create(point)
			if err != nil {
				return err
			}
			return a.print(document.CheckpointCreated{TaskID: args[0], ID: made.ID, Sequence: made.Sequence, Number: made.IterationNumber}, made.ID+"\n")
		})
	})
	c.Flags().StringVar(&point.Trigger, "trigger", checkpoint.Manual, "why it is made")
	c.Flags().StringVar(&point.ExecutionPhase, "phase", "", "what the agent is at, such as implementation")
	c.Flags().IntVar(&point.ExecutionStep, "step", 0, "which step of that")
	c.Flags().StringVar(&free, "context", "", "what the agent wants to know again, as `JSON`")
	c.Flags().StringArrayVar(&point.FilesModified, "file", nil, "a file that it has modified")
	c.Flags().StringVar(&draft, "draft", "", "a `file` with a draft; - is standard input")
	c.Flags().StringVar(&point.DraftType, "draft-type", "", "what kind of draft that is")
	c.Flags().DurationVar(&life, "expires-in", 0, "after how long it expires; 0 is never")
	return c
}

func (a commands) printResume(log *checkpoint.Log, c checkpoint.Checkpoint) error {
	words := log.Instructions(c)
	doc := document.Resume{Checkpoint: c, TaskID: c.TaskID, AgentContext: c.AgentContext, Instructions: words}
	body := words
	if c.AgentContext != nil {
		body += "Context: " + text.Clean(string(c.AgentContext)) + "\n"
	}
	if l, err := log.Loop(); err == nil {
		doc.ResumedLoop = &document.ResumedLoop{Number: l.Iteration, History: l.History, Config: l.Config}
	}
	if c.DraftContent != "" {
		body += "Draft:\n" + text.Clean(c.DraftContent) + "\n"
	}
	return a.print(doc, body)
}

func (a commands) printCheckpoints(task string, points []checkpoint.Checkpoint) error {
	var body strings.Builder
	for _, c := range points {
		state := ""
		if c.Expired || !c.ExpiresAt.IsZero() && !a.app.Now().Before(c.ExpiresAt) {
			state = "  expired"
		}
		fmt.Fprintf(&body, "%3d  %s  %s  iteration %d  %s%s\n", c.Sequence, c.ID, c.CreatedAt.Format(time.DateTime), c.IterationNumber, text.Clause(c.Trigger, 40), state)
	}
	return a.print(document.Checkpoints{TaskID: task, Checkpoints: append([]checkpoint.Checkpoint{}, points...)}, body.String())
}

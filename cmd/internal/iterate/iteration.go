package iterate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

func iterationCommand(a commands) *cobra.Command {
	c := &cobra.Command{Use: "iteration", Short: "go on with a task until its work passes: start, validate, next, complete", Args: cli.AtMost(0, "a verb"), RunE: a.app.Group}
	c.AddCommand(startCommand(a), validateCommand(a), nextCommand(a),
		verb("complete", "end the loop: as complete, or given up where a guard or the agent has ended it", 1, func(ctx context.Context, args []string) error {
			return a.write(ctx, args[0], func(log *checkpoint.Log, p place) error {
				l, err := log.End()
				if err != nil {
					return err
				}
				products, err := checkpoint.ProductText(p.work.LoopDir, time.Time{})
				if err != nil {
					return err
				}
				score := 0
				if n := len(l.History); n > 0 {
					score = l.History[n-1].ValidationScore
				}
				return a.printLoop(l, "ended with "+string(l.Done)+" in", func(d *document.Iteration) {
					d.IterationEnd = &document.IterationEnd{Score: score, Iterations: l.Iteration, At: a.app.Now().UTC(), WorkProduct: products}
				})
			})
		}),
		verb("status", "how the loop stands", 1, func(ctx context.Context, args []string) error {
			return a.status(ctx, args[0])
		}),
		verb("limit TASK N", "set the maximum of iterations, in flight", 2, func(ctx context.Context, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return &cli.Error{Code: "BAD_VALUE", What: args[1] + " is no number of iterations", Exit: cli.ExitUsage, Fix: []string{"orch iteration limit " + args[0] + " 10"}}
			}
			return a.limit(ctx, args[0], n)
		}),
	)
	return c
}

// limit sets the maximum of a task's loop, and of its attempts in a run; of one of them at
// least.
func (a commands) limit(ctx context.Context, task string, n int) error {
	if n < 1 {
		return problem(task, fmt.Errorf("%w: %d iterations are too few", iteration.ErrConfig, n))
	}
	requested, err := a.requestLimit(ctx, task, n)
	if err != nil {
		return err
	}
	at, err := a.place(ctx, task)
	if err != nil {
		return err
	}
	if _, err := checkpoint.ReadLoop(at.work.LoopDir, a.app.Now); errors.Is(err, checkpoint.ErrNoLoop) && requested {
		return a.print(document.IterationLimit{TaskID: task, Max: n}, fmt.Sprintf("%d iterations an attempt at %s\n", n, task))
	}
	return a.write(ctx, task, func(log *checkpoint.Log, _ place) error {
		l, err := log.SetLimit(n)
		if err != nil {
			return err
		}
		return a.printLoop(l, "the maximum is set:", nil)
	})
}

// verb is a command with a fixed number of arguments, of which the first is the task.
func verb(use, short string, args int, do func(context.Context, []string) error) *cobra.Command {
	if !strings.Contains(use, " ") {
		use += " TASK"
	}
	what := "a task"
	if args > 1 {
		what = fmt.Sprintf("%d arguments", args)
	}
	return &cobra.Command{Use: use, Short: short, Args: cli.Exactly(args, what), RunE: func(c *cobra.Command, args []string) error { return do(c.Context(), args) }}
}

func nextCommand(a commands) *cobra.Command {
	var notes string
	c := verb("next", "go on to the next iteration; refused past the maximum", 1, func(ctx context.Context, args []string) error {
		return a.write(ctx, args[0], func(log *checkpoint.Log, _ place) error {
			point, err := log.Next(notes)
			if err != nil {
				return err
			}
			return a.printLog(log, "advanced to", func(d *document.Iteration) { d.CheckpointID = point.ID })
		})
	})
	c.Flags().StringVar(&notes, "notes", "", "what to know of the iteration that ends; it stands in the checkpoint")
	return c
}

func startCommand(a commands) *cobra.Command {
	var set iteration.Config
	var rules []string
	var file string
	c := verb("start", "begin a loop on a task", 1, func(ctx context.Context, args []string) error {
		own, err := parseRules(rules)
		if err != nil {
			return &cli.Error{Code: "BAD_VALUE", What: err.Error(), Err: err, Exit: cli.ExitUsage, Fix: []string{`--rule "tests_pass=go test ./..."`}}
		}
		listed, err := a.listedRules(file)
		if err != nil {
			return err
		}
		own = append(own, listed...)
		if err := a.startable(ctx, args[0], iteration.Config{CompletionPromises: set.CompletionPromises, ValidationRules: own}); err != nil {
			return err
		}
		return a.write(ctx, args[0], func(log *checkpoint.Log, p place) error {
			c, err := p.workspace.Iteration(ctx, args[0])
			if err != nil {
				return err
			}
			if set.MaxIterations != 0 {
				c.MaxIterations = set.MaxIterations
			}
			if len(set.CompletionPromises) > 0 {
				c.CompletionPromises = set.CompletionPromises
			}
			if len(own) > 0 {
				c.ValidationRules = own
			}
			if set.CircuitBreakerThreshold != 0 {
				c.CircuitBreakerThreshold = set.CircuitBreakerThreshold
			}
			point, err := log.Start(args[0], c)
			if err != nil {
				return err
			}
			return a.printLog(log, "started:", func(d *document.Iteration) { d.CheckpointID = point.ID })
		})
	})
	c.Long = `Start begins a loop. What is not said is as the task's agent has it: its label
agent:NAME names one of workflow.agents (me by default), and the rules are those of
workflow.gate.`
	c.Flags().IntVar(&set.MaxIterations, "max-iterations", 0, "how many there may be")
	c.Flags().StringArrayVar(&set.CompletionPromises, "promise", nil, "a promise that completes it, in place of those that are known")
	c.Flags().IntVar(&set.CircuitBreakerThreshold, "circuit-breaker", 0, "after how many red validations in a row it ends (as its agent has it, or 3)")
	c.Flags().StringArrayVar(&rules, "rule", nil, "a rule NAME=COMMAND, in place of the gate's")
	c.Flags().StringVar(&file, "rules", "", "a `file` with rules of any type, a list as workflow.gate has it, in YAML or JSON; - is standard input")
	return c
}

// startable refuses a loop on a task that the tracker does not know, one whose own rules run
// what the settings do not, and one with a secret in its own rules or promises.
func (a commands) startable(ctx context.Context, task string, own iteration.Config) error {
	p, err := a.place(ctx, task)
	if err != nil {
		return err
	}
	if p.workspace.Project.Broken != nil { // the rules are in the settings
		return p.workspace.Project.Broken
	}
	if err := p.knows(own.ValidationRules); err != nil {
		return err
	}
	words, err := json.Marshal(own)
	if err == nil {
		err = a.app.RefuseSecrets("the loop", string(words))
	}
	if err != nil {
		return err
	}
	return p.workspace.CheckTask(ctx, task)
}

// listedRules are those of a file; none where there is none.
func (a commands) listedRules(file string) ([]validation.Rule, error) {
	body, err := a.text(file)
	if err != nil {
		return nil, &cli.Error{Code: "NO_INPUT", What: "the rules cannot be read", Why: err.Error(), Err: err, Exit: cli.ExitNotFound}
	}
	return config.Rules(map[bool]string{true: "standard input", false: file}[file == "-"], []byte(body))
}

func parseRules(texts []string) (rules []validation.Rule, err error) {
	for _, body := range texts {
		name, command, ok := strings.Cut(body, "=")
		r := validation.Rule{Name: strings.TrimSpace(name), Type: validation.Command, Command: strings.TrimSpace(command)}
		if !ok {
			return nil, fmt.Errorf("the rule %q has no command", body)
		}
		if err := r.Check(); err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func validateCommand(a commands) *cobra.Command {
	var file string
	c := verb("validate", "run the rules on the work, and say what comes next", 1, func(ctx context.Context, args []string) error {
		output, err := a.text(file)
		if err != nil {
			return &cli.Error{Code: "NO_INPUT", What: "the agent's output cannot be read", Why: err.Error(), Err: err, Exit: cli.ExitNotFound, Fix: []string{"orch iteration validate " + args[0] + " --output FILE"}}
		}
		signal := iteration.Continue
		err = a.write(ctx, args[0], func(log *checkpoint.Log, p place) error {
			l, err := log.Loop()
			if err != nil {
				return err
			}
			if file == "" { // then what it has stored in this iteration is what it says
				if output, err = checkpoint.ProductText(p.work.LoopDir, log.Began()); err != nil {
					return err
				}
			}
			v, hook, err := a.judge(ctx, p, l, output)
			if err != nil {
				return err
			}
			if p.blocked(ctx, args[0]) {
				output = stopped
			}
			o, err := log.Validate(v, output, hook)
			if err != nil {
				return err
			}
			signal = o.Signal
			return a.sayOutcome(args[0], l.Iteration, o)
		})
		if err == nil && (signal == iteration.Blocked || signal == iteration.Escalate) {
			return cli.ExitWith(cli.ExitNeedsYou)
		}
		return err
	})
	c.Long = `Validate runs the loop's rules in the task's worktree (or here, where it has none),
finds the promise in what the agent has said, and prints the signal: CONTINUE (orch
iteration next), COMPLETE, BLOCKED or ESCALATE (orch iteration complete). Exit 3 means
that a person has to look at it.`
	c.Flags().StringVar(&file, "output", "", "the `file` with what the agent has said; - is standard input; by default what was stored for the task in this iteration")
	return c
}

// stopped is what counts as said when a person has set the task to blocked: it ends the loop
// at the next look, whatever the agent says.
const stopped = "<promise>BLOCKED</promise>\nReason: the task was set to blocked in the tracker"

// maxText bounds a text from a file, in bytes.
const maxText = 4 << 20

// errNoFile says that what was named is neither a file nor a folder: nobody knows when it ends.
var errNoFile = errors.New("it is no plain file; - is standard input")

// text is that of a file, of standard input for -, or none.
func (a commands) text(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	if file == "/dev/stdin" {
		file = "-"
	}
	if info, err := os.Stat(file); err == nil && file != os.DevNull && !info.Mode().IsRegular() && !info.IsDir() {
		return "", fmt.Errorf("%s: %w", file, errNoFile)
	}
	f, err := a.app.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	log, err := io.ReadAll(io.LimitReader(f, maxText))
	return string(log), err
}

func (a commands) sayOutcome(task string, n int, o iteration.Outcome) error {
	var body strings.Builder
	fmt.Fprintf(&body, "%s  iteration %d of %s, score %d\n", o.Signal, n, task, o.Score)
	for _, r := range o.Rules {
		mark := map[bool]string{true: "✓", false: "✗"}[r.Passed]
		if r.Errored {
			mark = "!"
		}
		fmt.Fprintf(&body, " %s %s  %s\n", mark, r.Rule, text.Clause(r.Message, 200))
	}
	for _, line := range o.Feedback {
		fmt.Fprintf(&body, "\n%s\n", strings.TrimRight(text.Clean(line), "\n"))
	}
	next := map[iteration.Signal]string{iteration.Continue: "orch iteration next " + task}[o.Signal]
	if next == "" {
		next = "orch iteration complete " + task
	}
	fmt.Fprintf(&body, "\nnext: %s\n", next)
	return a.print(document.ValidateOf(task, n, o, next), body.String())
}

// printLog prints how the loop of a log stands, as printLoop does.
func (a commands) printLog(log *checkpoint.Log, did string, more func(*document.Iteration)) error {
	l, err := log.Loop()
	if err != nil {
		return err
	}
	return a.printLoop(l, did, more)
}

// printLoop prints how a loop stands, after what was done; more, where it is not nil, adds to the
// document what else there is to say.
func (a commands) printLoop(l iteration.Loop, did string, more func(*document.Iteration)) error {
	body := strings.TrimSpace(fmt.Sprintf("%s iteration %d of %d of %s", did, l.Iteration, l.Config.MaxIterations, l.TaskID))
	doc := document.IterationOf(l, body)
	if more != nil {
		more(&doc)
	}
	if len(doc.Rules) > 0 {
		body += "; rules: " + strings.Join(doc.Rules, ", ")
	}
	body += "\n"
	for _, e := range l.History {
		mark := map[bool]string{true: "✓", false: "✗"}[e.Passed]
		body += fmt.Sprintf(" %s %3d  score %3d  %-8s %s\n", mark, e.Iteration, e.ValidationScore, e.Signal, text.Clause(e.FirstUnmet, 100))
	}
	if l.Done != "" {
		body += "ended with " + string(l.Done) + "\n"
	}
	return a.print(doc, body)
}

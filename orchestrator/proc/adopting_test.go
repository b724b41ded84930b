package proc_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// adopting is a program that adopts: it starts an agent for each command line, says how those
// end that do, and waits to be killed.
func adopting(marker string, agents []string) {
	startAgents(adoptingSystem(marker), agents)
}

func adoptingSystem(marker string) *proc.System {
	return proc.New(proc.Options{Marker: marker, Guard: []string{ownFile(), "guard"}, Children: proc.NewChildren()})
}

func ownFile() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

func startAgents(s *proc.System, agents []string) {
	for n, line := range agents {
		sp := proc.Spec{Output: func(p []byte) { os.Stdout.Write(p) }}
		sp.Argv = append([]string{ownFile(), "agent"}, strings.Fields(line)...)
		p, err := s.Start(context.Background(), sp)
		if err != nil {
			panic(err)
		}
		go func() {
			exit := p.Wait()
			fmt.Printf("ended %d %s %v %s\n", n, exit.Signal, exit.Survivors, exit.Cause)
		}()
	}
	forever()
}

// leaving is an adopting program one of whose own commands leaves a daemon behind, as a tracker
// does; then an agent kills its guard.
func leaving(marker string) {
	s := adoptingSystem(marker)
	for _, what := range []string{"say", "leave-own"} { // the first has this process adopt
		run := s.Run
		if what == "say" {
			run = s.RunGuarded
		}
		res, err := run(context.Background(), command.Cmd{Argv: []string{ownFile(), "agent", what}})
		if err != nil {
			panic(err)
		}
		fmt.Print(string(res.Stdout))
	}
	startAgents(s, []string{"betray 2"})
}

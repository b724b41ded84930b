package proc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// The test binary is also the guard, the starter that is killed, and the agents with bad
// manners: no shell is assumed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "guard":
			os.Exit(proc.Guard(os.Args[2:], os.Environ()))
		case "agent":
			os.Exit(agent(os.Args[2], os.Args[3:]))
		}
	}
	os.Exit(m.Run())
}

// agent does what its first argument names.
func agent(what string, args []string) int {
	switch what {
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
	case "say":
		fmt.Print(strings.Join(args, " "))
	case "complain":
		fmt.Fprintln(os.Stderr, strings.Join(args[1:], " "))
		return number(args[0])
	case "env":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	case "exit":
		return number(args[0])
	case "die":
		syscall.Kill(os.Getpid(), syscall.Signal(number(args[0])))
		forever()
	case "obey":
		obey()
	case "excuse":
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT)
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		ready()
		<-stop
	case "ignore":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		ready()
		forever()
	case "hang":
		ready()
		forever()
	case "spin":
		ready()
		for i := 0; ; i++ {
		}
	default:
		return hostile(what, args)
	}
	return 0
}

// hostile does what makes trouble.
func hostile(what string, args []string) int {
	switch what {
	case "flood":
		flood(number(args[0]))
	case "daemons": // n daemons, and an exit
		for range number(args[0]) {
			below(true, "double", "ignore")
		}
	case "daemons-and-stay":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		for range number(args[0]) {
			below(true, "double", "ignore")
		}
		forever()
	case "leave": // a daemon that is named before the agent exits, whether it got to say so or not
		fmt.Println("ready", below(false, "agent", "hang"))
	case "leave-own": // the same with the environment that it was given
		cmd := exec.Command("/proc/self/exe", "agent", "ignore")
		cmd.Stdout, cmd.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println("left", cmd.Process.Pid)
	case "double": // the middle process of a daemon's double fork
		fmt.Println("ready", below(false, append([]string{"agent"}, args...)...))
	case "children": // short-lived orphans
		for range number(args[0]) {
			below(true, "double", "exit", "0")
		}
	case "kill-guard": // with a daemon that kept its environment
		cmd := exec.Command("/proc/self/exe", "agent", "ignore")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println("ready", cmd.Process.Pid)
		ready()
		syscall.Kill(os.Getppid(), syscall.SIGKILL)
		forever()
	case "stop-guard":
		ready()
		reported()
		syscall.Kill(os.Getppid(), syscall.SIGSTOP)
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		forever()
	case "stop-tree": // the guard, and then itself
		ready()
		reported()
		below(true, "double", "hang")
		syscall.Kill(os.Getppid(), syscall.SIGSTOP)
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		forever()
	case "stop-self":
		ready()
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		forever()
	case "stop-briefly": // its guard, which it wakes again
		syscall.Kill(os.Getppid(), syscall.SIGSTOP)
		syscall.Kill(os.Getppid(), syscall.SIGCONT)
	case "betray": // n daemons that know nothing of anybody, and the end of the guard at once
		for range number(args[0]) {
			below(true, "double", "ignore")
		}
		syscall.Kill(os.Getppid(), syscall.SIGKILL)
		forever()
	case "betray-hopping": // the same, with daemons that are another process each moment
		for range number(args[0]) {
			away(args[1])
		}
		syscall.Kill(os.Getppid(), syscall.SIGKILL)
		forever()
	case "leave-hopping":
		for range number(args[0]) {
			away(args[1])
		}
	case "hop":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		os.NewFile(3, "told").Write([]byte("on its way"))
		hop(number(args[0]), []byte("hopped\n"))
	case "who":
		markers := []string{}
		for _, a := range proc.GuardsAbove("guard") {
			markers = append(markers, a.Marker)
		}
		fmt.Println("above", markers)
	case "double-who":
		below(true, "double", "who")
		forever() // a daemon ends with its agent
	case "run-adopting": // an orch: marker, and the agents to start, a / between them
		adopting(args[0], strings.Split(strings.Join(args[1:], " "), " / "))
	case "run-concealed": // prints its own number, and waits
		if err := proc.Conceal("KEPT"); err != nil {
			panic(err)
		}
		fmt.Println("secret", os.Getenv("SECRET"))
		ready()
		forever()
	case "run-leaving": // an orch whose own command leaves a daemon, while a guard dies
		leaving(args[0])
	case "run-bound": // the same, of a command of its own
		s := proc.New(proc.Options{Marker: args[0]})
		if _, err := s.Run(context.Background(), command.Cmd{Argv: []string{ownFile(), "agent", "touch", args[1]}, Bound: true}); err != nil {
			panic(err)
		}
	case "touch": // leaves its pid there, and waits
		if err := os.WriteFile(args[0]+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			panic(err)
		}
		if err := os.Rename(args[0]+".new", args[0]); err != nil {
			panic(err)
		}
		forever()
	case "run-start": // a starter that waits to be killed: marker, guard?, what to start
		starter(args)
	default:
		panic("no such agent: " + what)
	}
	return 0
}

// below starts this program again in a session of its own, with no environment but the
// standard streams. Waiting for it is what tells the middle process from the daemon.
func below(wait bool, args ...string) (pid int) {
	if args[0] != "agent" {
		args = append([]string{"agent"}, args...)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{}, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	if wait {
		cmd.Wait()
	}
	return cmd.Process.Pid
}

// away starts a daemon that hops, and returns when it is about to.
func away(times string) {
	told, tell, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("/proc/self/exe", "agent", "hop", times)
	cmd.Env, cmd.Stdout, cmd.ExtraFiles = []string{}, os.Stdout, []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	told.Read(make([]byte, 10))
}

func flood(bytesLeft int) {
	line := append(bytes.Repeat([]byte{'x', 0xff, 0x00}, 21), '\n')
	chunk := bytes.Repeat(line, 1024)
	for bytesLeft > 0 {
		n, err := os.Stdout.Write(chunk[:min(len(chunk), bytesLeft)])
		if err != nil {
			return
		}
		bytesLeft -= n
	}
}

// obey waits for the first signal and names it.
func obey() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	ready()
	fmt.Println("got", <-signals)
}

func ready() { fmt.Println("ready", os.Getpid()) }

func forever() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR2)
	<-never
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// reported waits until the guard of this process has said that it started it, after which it lets go of its output.
// One that is stopped before is taken for a guard that does not start.
func reported() {
	for {
		to, err := os.Readlink("/proc/" + strconv.Itoa(os.Getppid()) + "/fd/1")
		if err != nil || to == os.DevNull {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

package proc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tickTime is the unit of times in /proc/<pid>/stat. USER_HZ is 100 on every
// architecture that Go runs on.
const tickTime = 10 * time.Millisecond

// identity names a process beyond the reuse of its pid.
type identity struct {
	pid   int
	start uint64 // in ticks since boot
}

// stat is what we read of /proc/<pid>/stat, proc(5).
type stat struct {
	identity
	state       byte
	ppid, pgid  int
	cpu, reaped time.Duration // used by itself; by the children that it has waited for
}

// becomeReaper makes orphans below this process its children, whatever session they are in.
func becomeReaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// orphans gives the children of this process's first thread, which is where the kernel puts
// orphans: a quick look, that misses the others.
func orphans() []int {
	return childrenOf("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
}

func zombie(pid int) bool {
	s, err := readStat(pid)
	return err == nil && s.zombie()
}

// children gives the children of this process, zombies too. What is born while it looks is
// seen the next time.
func children() []int {
	self := os.Getpid()
	var found []int
	for _, p := range processes() {
		if p.ppid == self {
			found = append(found, p.pid)
		}
	}
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return found
	}
	for _, list := range lists {
		for _, pid := range childrenOf(list) {
			if !slices.Contains(found, pid) {
				found = append(found, pid)
			}
		}
	}
	return found
}

// endStranger kills and waits for a child of this process; false when it carries the entry own.
// Only this process can wait for it, and does not meanwhile: so the number of a child, and of
// its group, is still its own. It is quick about it, since what forks is to be caught: a group
// dies at one blow, with what was born into it, and also where who made it has ended.
func endStranger(pid int, own string, known func(int) bool) bool {
	if hasEntry(pid, []byte(own)) {
		return false
	}
	signalGroup(pid, syscall.SIGKILL)
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	if bury(pid) {
		return true
	}
	if s, err := readStat(pid); err == nil && s.pgid != pid && !known(s.pgid) {
		killGroups([]stat{s})
	}
	return true
}

func childrenOf(list string) []int {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil // a thread that has ended, or a kernel without such lists
	}
	var found []int
	for word := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(word)); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// guardAttr also wakes a guard that was stopped when its starter dies, so that it sees the end of
// its lifeline. That the starter's thread ends alone does no harm.
func guardAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}

// plainAttr is for a command without a guard; one that is bound is told to end when its starter dies. The threads that
// start processes live as long as this process.
func plainAttr(bound bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if bound {
		attr.Pdeathsig = syscall.SIGTERM
	}
	return attr
}

// commandAttr also makes the command die with its guard.
func commandAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// redirect makes fd to a copy of fd from; where it fails, to stays what it was.
func redirect(from, to int) bool {
	return unix.Dup3(from, to, 0) == nil
}

// groupLeft is for systems without adoption; here the reaper sees everything.
func groupLeft(int) bool { return false }

// signalTree signals everything below this process. SIGKILL also goes to the process groups
// found there, which the kernel does at one blow: no process can fork its way out of that.
func signalTree(_ int, sig syscall.Signal) {
	tree := below(os.Getpid())
	if sig == syscall.SIGKILL {
		killGroups(tree)
	}
	for _, p := range tree {
		if p.signal(sig) && p.stopped() {
			p.signal(syscall.SIGCONT) // it takes no other signal before
		}
	}
}

func killGroups(tree []stat) {
	done := []int{0, 1, syscall.Getpgrp()}
	for _, p := range tree {
		if !slices.Contains(done, p.pgid) {
			done = append(done, p.pgid)
			signalGroup(p.pgid, syscall.SIGKILL)
		}
	}
}

// signal reaches the process that was seen, or none: it is held by a handle while its start
// time is compared.
func (id identity) signal(sig syscall.Signal) bool {
	handle, err := os.FindProcess(id.pid)
	if err != nil {
		return false
	}
	defer handle.Release()
	now, err := readStat(id.pid)
	return err == nil && now.identity == id && handle.Signal(sig) == nil
}

func (s stat) zombie() bool { return s.state == 'Z' || s.state == 'X' }

// stopped is so by a signal, or by who traces it.
func (s stat) stopped() bool { return s.state == 'T' || s.state == 't' }

// halted reports whether a guard does not run, or nothing of what it guards: then nothing in
// there can have it go on.
func halted(guard, command int) bool {
	if s, err := readStat(guard); err != nil || s.stopped() {
		return err == nil
	}
	if s, err := readStat(command); err != nil || !s.stopped() {
		return false
	}
	for _, p := range below(guard) {
		if !p.stopped() {
			return false
		}
	}
	return true
}

// wake has those go on that are stopped.
func wake(found []identity) {
	for _, p := range found {
		if now, err := readStat(p.pid); err == nil && now.stopped() {
			p.signal(syscall.SIGCONT)
		}
	}
}

// below gives the processes below pid, zombies aside, parents first.
func below(pid int) []stat {
	var found []stat
	for _, p := range subtree(pid) {
		if !p.zombie() {
			found = append(found, p)
		}
	}
	return found
}

// treeCPU is the processor time used below pid so far, by children of the past too.
func treeCPU(pid int) time.Duration {
	var sum time.Duration
	if root, err := readStat(pid); err == nil {
		sum = root.reaped
	}
	for _, p := range subtree(pid) {
		sum += p.cpu + p.reaped
	}
	return sum
}

// usedBelow is how many processes are below pid, and how much memory they have that they share with nobody.
func usedBelow(pid int, memory bool) (processes int, used int64) {
	page := int64(os.Getpagesize())
	tree := below(pid)
	if !memory {
		return len(tree), 0
	}
	for _, p := range tree {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/statm")
		fields := bytes.Fields(text)
		if err != nil || len(fields) < 3 {
			continue // it has ended
		}
		resident, err := strconv.ParseInt(string(fields[1]), 10, 64)
		shared, wrong := strconv.ParseInt(string(fields[2]), 10, 64)
		if err == nil && wrong == nil {
			used += max(0, resident-shared) * page
		}
	}
	return len(tree), used
}

// seesTimes says that the processor time of other processes can be read.
const seesTimes = true

// ownCPU is the processor time used by pid and below it so far.
func ownCPU(pid int) time.Duration {
	sum := treeCPU(pid)
	if root, err := readStat(pid); err == nil {
		sum += root.cpu
	}
	return sum
}

// subtree looks at all processes once; what is born meanwhile is seen the next time.
func subtree(pid int) []stat {
	children := make(map[int][]stat)
	for _, p := range processes() {
		children[p.ppid] = append(children[p.ppid], p)
	}
	found := slices.Clone(children[pid])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// processes gives all processes that can be seen; one that ends meanwhile is left out.
func processes() []stat {
	var found []stat
	for _, pid := range pids() {
		if p, err := readStat(pid); err == nil {
			found = append(found, p)
		}
	}
	return found
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var found []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

func readStat(pid int) (stat, error) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(line)
}

var errStat = errors.New("malformed process status")

// parseStat reads one line of proc_pid_stat(5). The name in parentheses may hold anything.
func parseStat(line []byte) (stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return stat{}, errStat
	}
	fields := bytes.Fields(line[end+1:]) // the first of them is field 3, the state
	if len(fields) < 20 || len(fields[0]) != 1 {
		return stat{}, errStat
	}
	bad := false
	number := func(field []byte) int64 {
		n, err := strconv.ParseInt(string(field), 10, 64)
		bad = bad || err != nil
		return n
	}
	field := func(n int) int64 { return number(fields[n-3]) }
	s := stat{
		identity: identity{pid: int(number(bytes.TrimSpace(line[:open]))), start: uint64(field(22))},
		state:    fields[0][0],
		ppid:     int(field(4)), pgid: int(field(5)),
		cpu:    time.Duration(field(14)+field(15)) * tickTime,
		reaped: time.Duration(field(16)+field(17)) * tickTime,
	}
	if bad {
		return stat{}, errStat
	}
	return s, nil
}

// marked gives the processes whose environment, as it was at their start, has the entry marker,
// the guards that have it on their command line, since theirs cannot be read by all, and what is
// below those, whatever its environment. Those of other users cannot be read and are left out, as
// are this process and its ancestors.
func marked(marker string) ([]identity, error) {
	entry, own := []byte(marker), lineage(os.Getpid())
	var found []identity
	add := func(p stat) {
		if !p.zombie() && !slices.Contains(own, p.pid) && !slices.Contains(found, p.identity) {
			found = append(found, p.identity)
		}
	}
	for _, pid := range pids() {
		guard := guards(pid, entry)
		if slices.Contains(own, pid) || !guard && !hasEntry(pid, entry) {
			continue
		}
		if guard {
			for _, p := range below(pid) { // before the guard: it is what holds them together
				add(p)
			}
		}
		if p, err := readStat(pid); err == nil {
			add(p)
		}
	}
	return found, nil
}

func hasEntry(pid int, entry []byte) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for one := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(one, entry) {
			return true
		}
	}
	return false
}

// holders gives the other processes that have one of these pipes open, as far as it may look.
func holders(pipes []*os.File) []identity {
	var names []string
	for _, pipe := range pipes {
		if info, err := pipe.Stat(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				names = append(names, "pipe:["+strconv.FormatUint(s.Ino, 10)+"]")
			}
		}
	}
	var found []identity
	for _, p := range processes() {
		if p.pid != os.Getpid() && holds(p.pid, names) {
			found = append(found, p.identity)
		}
	}
	return found
}

func holds(pid int, names []string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if to, err := os.Readlink(dir + "/" + e.Name()); err == nil && slices.Contains(names, to) {
			return true
		}
	}
	return false
}

// guards reports whether a process is a guard with this marker, by its command line.
func guards(pid int, marker []byte) bool {
	argv := arguments(pid)
	at, end := slices.Index(argv, string(marker)), slices.Index(argv, "--")
	return at > 0 && at < end
}

// arguments is the command line of a process; nil when there is none.
func arguments(pid int) []string { return strings0("/proc/" + strconv.Itoa(pid) + "/cmdline") }

// environment is that of a process as it was at its start; nil when it cannot be read.
func environment(pid int) []string { return strings0("/proc/" + strconv.Itoa(pid) + "/environ") }

// strings0 reads the strings of a file that end in a zero byte.
func strings0(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// lineage is pid and its ancestors.
func lineage(pid int) []int {
	var found []int
	for pid > 0 && !slices.Contains(found, pid) {
		found = append(found, pid)
		p, err := readStat(pid)
		if err != nil {
			break
		}
		pid = p.ppid
	}
	return found
}

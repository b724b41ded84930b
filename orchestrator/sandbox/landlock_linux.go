package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// ABI is the version of the kernel's landlock, asked of the kernel itself; 0 where it has none, or none that is on.
func ABI() int {
	version, err := syscall.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// systemReadable is what of the system is read and run where there are no mounts. Folders of it that hold what is
// other people's are not among it.
func systemReadable() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/snap", "/gnu/store", "/proc",
		"/sys/devices", "/sys/class", "/sys/bus", "/sys/block", "/sys/fs/cgroup", "/sys/kernel/mm",
		"/var/cache/fontconfig", "/var/lib/ca-certificates", "/var/lib/dpkg/status"}
}

// devices are read and written, as they are by every program. The terminals in /dev/pts are not among them: those of the
// person are there too.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/shm"}
}

// restrictFiles has landlock refuse this process, and what it becomes, all files that the policy does not name, signals to
// processes outside, and sockets there, as far as the kernel's version goes.
func restrictFiles(p Policy) error {
	if abi := ABI(); abi < minABI {
		return fmt.Errorf("landlock: version %d of the kernel's is too old or off, %d is needed", abi, minABI)
	}
	var rules []landlock.Rule
	for _, path := range systemReadable() {
		rules = append(rules, readRule(path)...)
	}
	rules = append(rules, landlock.PathAccess(syscall.AccessFSReadDir, "/dev").IgnoreIfMissing())
	for _, path := range devices() {
		rules = append(rules, writeRule(path)...)
	}
	for _, path := range p.Named {
		rules = append(rules, readRule(path)...)
	}
	rules = append(rules, writeRule(p.PrivateHome)...)
	if p.Service != "" {
		rules = append(rules, landlock.RODirs(p.Service).WithResolveUnix())
	}
	for _, b := range p.Bounds {
		switch b.Kind {
		case Readable, Layered:
			rules = append(rules, readRule(b.From)...)
		case Writable:
			rules = append(rules, writeRule(b.From)...)
		}
	}
	bounds := landlock.V9
	bounds.HandledAccessNet = 0
	return bounds.BestEffort().Restrict(rules...)
}

// restrictScope has landlock refuse this process, and what it becomes, signals and abstract sockets beyond itself, where the kernel can.
func restrictScope() error {
	return landlock.Config{Scoped: landlock.V6.Scoped}.BestEffort().RestrictScoped()
}

// readRule and writeRule are the rule for one path; none where nothing is there.
func readRule(path string) []landlock.Rule {
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil
	case info.IsDir():
		return []landlock.Rule{landlock.RODirs(path).IgnoreIfMissing()}
	}
	return []landlock.Rule{landlock.ROFiles(path).IgnoreIfMissing()}
}

func writeRule(path string) []landlock.Rule {
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil
	case info.IsDir():
		return []landlock.Rule{landlock.RWDirs(path).WithRefer().WithIoctlDev().IgnoreIfMissing()}
	case info.Mode()&fs.ModeDevice != 0:
		return []landlock.Rule{landlock.RWFiles(path).WithIoctlDev().IgnoreIfMissing()}
	}
	return []landlock.Rule{landlock.RWFiles(path).IgnoreIfMissing()}
}

// dropAllCapabilities takes them from all threads of this process, which goes on.
func dropAllCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return fmt.Errorf("dropping capabilities: %w", errno)
	}
	return nil
}

// keptCapabilities are those that root keeps where there are no namespaces: files of other owners, and nothing of the machine.
func keptCapabilities() []int {
	return []int{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID}
}

// dropCapabilities takes all others from this thread and from what it becomes; who has none has nothing to lose.
func dropCapabilities(keep []int) error {
	kept := uint64(0)
	for _, c := range keep {
		kept |= 1 << c
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("asking for capabilities: %w", err)
	}
	if data[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := range 64 {
			if kept&(1<<c) != 0 {
				continue
			}
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); errors.Is(err, unix.EINVAL) {
				break // the kernel has no more
			} else if err != nil {
				return fmt.Errorf("dropping a capability: %w", err)
			}
		}
	}
	for n := range data {
		mask := uint32(kept >> (32 * n))
		data[n].Effective &= mask
		data[n].Permitted &= mask
		data[n].Inheritable = 0
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}

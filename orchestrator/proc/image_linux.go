package proc

import (
	"os"
	"path/filepath"
	"strings"
)

// image is the program that runs in this process, also where its file was removed or replaced
// since: proc_pid_exe(5).
const image = "/proc/self/exe"

// Image is a path by which this process starts the program that it runs, whatever has become of
// its file; "" where the system has none.
func Image() string {
	if _, err := os.Stat(image); err != nil {
		return ""
	}
	return image
}

// KeepName has other programs, such as ps, see a process that was started by its Image under the
// name of its file. A program calls it before [Conceal]. Where it cannot be done the name says little.
func KeepName() {
	const nameOfProcess = "/proc/self/comm"
	if name, err := os.ReadFile(nameOfProcess); err == nil && strings.TrimSpace(string(name)) == filepath.Base(image) {
		_ = os.WriteFile(nameOfProcess, []byte(filepath.Base(os.Args[0])), 0)
	}
}

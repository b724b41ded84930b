package protect

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// unwrapCommand removes programs that run the rest of their arguments.
func unwrapCommand(argv []string) []string {
	for len(argv) > 0 {
		program := path.Base(argv[0])
		switch {
		case argv[0] == "":
		case assignment().MatchString(argv[0]):
		case slices.Contains([]string{"env", "timeout", "nice", "nohup", "exec", "command", "time", "stdbuf", "sudo", "setsid", "xargs", "npx", "ionice", "chronic", "!"}, program):
			argv = argv[1:]
			for len(argv) > 0 && (strings.HasPrefix(argv[0], "-") || number().MatchString(argv[0])) {
				option := argv[0]
				argv = argv[1:]
				switch {
				case program == "env" && (option == "-S" || option == "--split-string") && len(argv) > 0:
					argv = append(strings.Fields(argv[0]), argv[1:]...)
				case program == "env" && strings.HasPrefix(option, "-S"):
					argv = append(strings.Fields(option[2:]), argv...)
				case len(argv) > 0 && slices.Contains(withValue(program), option):
					argv = argv[1:]
				}
			}
			continue
		default:
			return argv
		}
		argv = argv[1:]
	}
	return argv
}

// withValue are options of a program whose next argument is their value.
func withValue(program string) []string {
	return map[string][]string{
		"env": {"-u", "--unset", "-C", "--chdir"}, "timeout": {"-s", "--signal", "-k", "--kill-after"}, "sudo": {"-u", "-g"},
		"xargs": {"-I", "-d", "--delimiter", "-a", "--arg-file", "-E", "-n", "-P", "-L", "-s"}, "exec": {"-a"}, "stdbuf": {"-i", "-o", "-e"},
	}[program]
}

// chdir reports whether a word is the option with which env goes to a folder.
func chdir(word string, rest []string) (dir string, ok bool) {
	if (word == "-C" || word == "--chdir") && len(rest) > 0 {
		return rest[0], true
	}
	return strings.CutPrefix(word, "--chdir=")
}

var (
	assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*=`) })
	number     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[0-9.]+[smhd]?\z`) })
)

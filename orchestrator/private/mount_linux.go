package private

import (
	"os"
	"strings"
)

// mountBelow is a mount point at or below path, "" where there is none, or none can be seen.
func mountBelow(path string) string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			if at := unescape(fields[4]); at == path || strings.HasPrefix(at, path+"/") {
				return at
			}
		}
	}
	return ""
}

// unescape undoes the octal escapes of the kernel's tables: a blank is \040.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

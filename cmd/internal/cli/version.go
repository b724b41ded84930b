package cli

import (
	"cmp"
	"runtime/debug"
)

// Version is which orch this is: its release, and the commit it was built from; "" where the
// build does not say.
func Version() (release, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			commit = s.Value[:12]
		}
	}
	return cmp.Or(info.Main.Version, "(devel)"), commit
}

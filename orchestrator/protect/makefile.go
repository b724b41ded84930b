package protect

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// makePart is the lines of a Makefile that settle what targets do: their rules, with those
// that they depend on, the variables in them, and what is in force for the whole file. It
// goes by the text, and counts a line in rather than out.
func makePart(text []byte, targets []string) (out []string) {
	rules, rest := makeBlocks(text)
	wanted := makeWanted(rules, targets)
	phony := makePhony(rules, rest)
	for _, r := range rules {
		if r.general() || slices.ContainsFunc(wanted, r.makes) {
			out = append(out, r.lines...)
		}
	}
	for _, target := range wanted {
		if phony[target] {
			out = append(out, ".PHONY: "+target)
		}
	}
	return append(out, variables(rest, out, assigned())...)
}

// makeWanted is targets with all that they depend on; without any, those of the first rule.
func makeWanted(rules []block, targets []string) []string {
	if len(targets) == 0 {
		for _, r := range rules {
			if len(r.targets) > 0 && !strings.HasPrefix(r.targets[0], ".") {
				targets = []string{r.targets[0]}
				break
			}
		}
	}
	wanted := slices.Clone(targets)
	for n := 0; n < len(wanted); n++ {
		for _, r := range rules {
			if !r.makes(wanted[n]) {
				continue
			}
			for _, need := range r.needs {
				if !slices.Contains(wanted, need) {
					wanted = append(wanted, need)
				}
			}
		}
	}
	return wanted
}

// makePhony are the targets that are said to be no files.
func makePhony(rules []block, rest []string) map[string]bool {
	phony := map[string]bool{}
	for _, r := range rules {
		if r.makes(".PHONY") {
			for _, need := range r.needs {
				for _, target := range makeWords(need, rest) {
					phony[target] = true
				}
			}
		}
	}
	return phony
}

// makeShadowed are those of the wanted targets that make does not make once there is a file, or a folder, of their name:
// which a rule makes and are not phony, unless what they depend on is always made anew.
func makeShadowed(rules []block, rest, wanted []string) (out []string) {
	phony := makePhony(rules, rest)
	var always func(target string, deep int) bool
	always = func(target string, deep int) bool {
		if phony[target] {
			return true
		}
		return deep < maxDepth && slices.ContainsFunc(rules, func(r block) bool {
			return r.makes(target) && slices.ContainsFunc(r.needs, func(need string) bool { return always(need, deep+1) })
		})
	}
	for _, target := range wanted {
		made := slices.ContainsFunc(rules, func(r block) bool { return r.makes(target) || r.makesLike(target) })
		if made && !always(target, 0) {
			out = append(out, target)
		}
	}
	return out
}

// makesLike reports whether the rule is one for targets of a pattern, and this is one.
func (b block) makesLike(target string) bool {
	return slices.ContainsFunc(b.targets, func(t string) bool {
		begin, end, ok := strings.Cut(t, "%")
		return ok && len(target) > len(begin)+len(end) && strings.HasPrefix(target, begin) && strings.HasSuffix(target, end)
	})
}

// makeWords are the words of a text with the variables in it that lines set and that name no others.
func makeWords(text string, lines []string) []string {
	for _, line := range lines {
		if m := assigned().FindStringSubmatch(line); m != nil {
			if _, value, ok := strings.Cut(line, "="); ok && !strings.Contains(value, "$") {
				text = strings.NewReplacer("$("+m[2]+")", value, "${"+m[2]+"}", value).Replace(text)
			}
		}
	}
	return strings.Fields(text)
}

// makeIncludes are the files that a Makefile includes, some of which may be patterns.
func makeIncludes(rest []string) (out []string) {
	for _, line := range rest {
		if files, ok := cutWord(line, "include", "-include", "sinclude"); ok {
			files, _, _ = strings.Cut(files, "#")
			for _, word := range makeWords(strings.NewReplacer("$(wildcard ", " ", "${wildcard ", " ").Replace(files), rest) {
				word = makeReference().ReplaceAllString(word, "")
				out = append(out, strings.TrimLeft(strings.TrimRight(word, ")}"), "/"))
			}
		}
	}
	return out
}

// block is a rule of a Makefile.
type block struct {
	targets, needs []string
	lines          []string
}

// makes reports whether the rule has a target.
func (b block) makes(target string) bool { return slices.Contains(b.targets, target) }

// general reports whether the rule is in force for others: a pattern, or a special target;
// or one whose targets are not known from its text.
func (b block) general() bool {
	return slices.ContainsFunc(b.targets, func(t string) bool {
		return t != ".PHONY" && strings.HasPrefix(t, ".") || strings.ContainsAny(t, "%$")
	})
}

// makeBlocks splits a Makefile into rules and other lines. Comments are left out.
func makeBlocks(text []byte) (rules []block, rest []string) {
	joined := strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\\\n", " ")
	inRule := false
	for line := range strings.SplitSeq(joined, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "":
		case inRule && strings.HasPrefix(line, "\t"):
			last := &rules[len(rules)-1]
			last.lines = append(last.lines, line)
		case strings.HasPrefix(trimmed, "#"):
		case !assigned().MatchString(line) && ruleLine().MatchString(line) && !strings.HasPrefix(line, "\t"):
			left, right, _ := strings.Cut(line, ":")
			right = strings.TrimPrefix(right, ":")
			needs, inline, _ := strings.Cut(right, ";")
			b := block{targets: strings.Fields(left), needs: strings.Fields(strings.ReplaceAll(needs, "|", " ")), lines: []string{strings.Join(strings.Fields(strings.TrimSuffix(line, ";"+inline)), " ")}}
			if inline != "" {
				b.lines = append(b.lines, inline)
			}
			rules, inRule = append(rules, b), true
		default:
			inRule = inRule && (strings.HasPrefix(trimmed, "if") || strings.HasPrefix(trimmed, "else") || strings.HasPrefix(trimmed, "endif"))
			rest = append(rest, trimmed)
		}
	}
	return rules, rest
}

var (
	makeReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(?:\([^()]*\)|\{[^{}]*\})`) })
	ruleLine      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[^:=#]+::?([^=]|\z)`) })
	// assigned matches a line that sets a variable, whose name is the second group.
	assigned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A\s*((?:export|override|private|define)\s+)*([A-Za-z0-9_.-]+)\s*(?:[:?+!]{0,3}=|\z)`)
	})
)

// variables are those of the lines that matter to what is kept: which set a variable that is
// used in it, or in one of these in turn; and all that are no such setting.
func variables(lines, kept []string, set *regexp.Regexp) (out []string) {
	used := strings.Join(kept, "\n")
	taken := map[int]bool{}
	for again := true; again; {
		again = false
		for n, line := range lines {
			if taken[n] {
				continue
			}
			m := set.FindStringSubmatch(line)
			if m == nil || inForce(line, m) || mentions(used, m[2]) {
				taken[n], again = true, true
				used += "\n" + line
			}
		}
	}
	for n, line := range lines {
		if taken[n] {
			out = append(out, line)
		}
	}
	return out
}

// inForce reports whether a setting matters whether it is used or not: it runs something, or
// changes how all is run.
func inForce(line string, m []string) bool {
	name := m[2]
	return m[1] != "" || slices.Contains([]string{"SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", ".DEFAULT_GOAL", "PATH", "VPATH", ".RECIPEPREFIX", "endef"}, name) ||
		strings.Contains(line, "!=") || runsInMake().MatchString(line)
}

var runsInMake = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$[({](shell|eval|file|call|guile|load)\b`)
})

// mentions reports whether a variable is used in text.
func mentions(text, name string) bool {
	for _, form := range []string{"$(" + name, "${" + name, "{{" + name, "{{ " + name} {
		for at, rest := 0, text; ; {
			i := strings.Index(rest, form)
			if i < 0 {
				break
			}
			at += i + len(form)
			rest = text[at:]
			if rest == "" || !nameChar(rest[0]) {
				return true
			}
		}
	}
	return len(name) == 1 && strings.Contains(text, "$"+name)
}

func nameChar(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// justPart is the lines of a justfile that settle what recipes do: these with those that they
// depend on, and all that is no recipe.
func justPart(text []byte, targets []string) (out []string) {
	type recipe struct {
		name  string
		needs []string
		lines []string
	}
	var all []recipe
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\\\n", " "), "\n") {
		trimmed := strings.TrimSpace(line)
		indented := line != "" && (line[0] == ' ' || line[0] == '\t')
		m := justRecipe().FindStringSubmatch(line)
		switch {
		case trimmed == "" || !indented && strings.HasPrefix(trimmed, "#"):
		case indented && len(all) > 0:
			last := &all[len(all)-1]
			last.lines = append(last.lines, line)
		case m != nil:
			all = append(all, recipe{m[1], strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune(" ()&", r) }), []string{trimmed}})
		default:
			out = append(out, trimmed)
		}
	}
	if len(targets) == 0 && len(all) > 0 {
		targets = []string{all[0].name}
		if slices.ContainsFunc(all, func(r recipe) bool { return r.name == "default" }) {
			targets = append(targets, "default")
		}
	}
	wanted := slices.Clone(targets)
	for n := 0; n < len(wanted); n++ {
		for _, r := range all {
			if r.name == wanted[n] {
				out = append(out, r.lines...)
				for _, need := range r.needs {
					if !slices.Contains(wanted, need) {
						wanted = append(wanted, need)
					}
				}
			}
		}
	}
	return out
}

var justRecipe = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A@?([A-Za-z_][A-Za-z0-9_-]*)(?:\s[^:]*)?:(?:([^=].*))?\z`)
})

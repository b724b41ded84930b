package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AtMost takes up to n arguments; what names them for the [Usage] error of more.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return Usage("%s takes %s: %s", c.CommandPath(), what, c.UseLine())
		}
		return nil
	}
}

// Exactly takes n arguments; what names them for the [Usage] error of others.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return Usage("%s takes %s: %s", c.CommandPath(), what, c.UseLine())
		}
		return nil
	}
}

// Group is what a command does that only groups others, and was given none of them: it prints its help. For a
// program, which cannot read that, it fails with a [Usage] error.
func (a *Invocation) Group(c *cobra.Command, _ []string) error {
	if !a.JSON {
		return c.Help()
	}
	var verbs []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			verbs = append(verbs, sub.Name())
		}
	}
	return Usage("%s takes a verb: %s", c.CommandPath(), strings.Join(verbs, ", "))
}

// RefuseArgs has the command and all below it fail with a [Usage] error for arguments that they do not take,
// also where the command is none of orch's own.
func RefuseArgs(c *cobra.Command) {
	if takes := c.Args; takes != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := takes(c, args)
			var said *Error
			if err != nil && !errors.As(err, &said) {
				err = Usage("%s: %s", c.CommandPath(), err)
			}
			return err
		}
	}
	for _, sub := range c.Commands() {
		RefuseArgs(sub)
	}
}

// CheckValues fails with a [Usage] error where the value of a flag is one of the command's flags: the value
// was forgotten, and the next flag was taken for it.
func CheckValues(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if _, any := f.Annotations[anyWord]; any {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			name, isFlag := strings.CutPrefix(v, "--")
			name, _, _ = strings.Cut(name, "=")
			if isFlag && c.Flags().Lookup(name) != nil && err == nil {
				err = Usage("--%s takes a value, and %s is a flag", f.Name, v)
			}
		}
	})
	return err
}

// anyWord marks the flags whose values may be named as a flag.
const anyWord = "any-word"

// TakeAnyWord has [CheckValues] take each value of a flag, such as a word of another program's command line.
func TakeAnyWord(f *pflag.Flag) { f.Annotations = map[string][]string{anyWord: {}} }

// linesAnnotation marks the commands that print a document a line.
const linesAnnotation = "prints-lines"

// PrintsLines are the annotations of a command that prints a document a line: its errors are one line as well.
func PrintsLines() map[string]string { return map[string]string{linesAnnotation: ""} }

// DoesPrintLines reports whether a command has the annotations of [PrintsLines].
func DoesPrintLines(c *cobra.Command) bool {
	_, ok := c.Annotations[linesAnnotation]
	return ok
}

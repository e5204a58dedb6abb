package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/likely"
)

// knownCommand rejects arguments that remain after no command has matched, such as a
// misspelled command.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, command := range c.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	return exit.Usagef("unknown command %q%s; see %s --help", args[0], likely.Hint(args[0], names), c.CommandPath())
}

// RefuseMisspelt makes cobra's own commands, help and completion, reject unknown words;
// by default they print help and succeed. It must be called after SetOut, because
// completion captures the output when it is created.
func RefuseMisspelt(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "help":
			command.Args = func(_ *cobra.Command, args []string) error {
				if found, rest, err := root.Find(args); err == nil && found == root {
					return knownCommand(root, rest)
				}
				return nil
			}
		case "completion":
			command.Args = knownCommand
			command.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// NoArgs refuses positional arguments as a usage error.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments, got %q", c.CommandPath(), args)
	}
	return nil
}

// flagError returns the error for a command line with invalid flags.
func flagError(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return exit.Usage(err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Deprecated == "" {
			names = append(names, "--"+f.Name)
		}
	})
	typed := unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); short != "" { // -kubeconfig instead of --kubeconfig
		typed, _, _ = strings.Cut(short, "=")
	}
	return exit.Usagef("%w%s", err, likely.Hint("--"+typed, names))
}

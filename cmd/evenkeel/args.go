package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// version is set by the linker.
var version = "dev"

// knownCommand rejects the arguments left when no command matched: a misspelt
// one.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exit.Usagef("unknown command %q; see %s --help", args[0], c.CommandPath())
}

// noArgs refuses positional arguments as a usage error.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments, got %q", c.CommandPath(), args)
	}
	return nil
}

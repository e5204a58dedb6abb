package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/evenkeel/evenkeel/internal/commands"
)

func newSimulateCommand() *cobra.Command {
	options := commands.NewSimulateOptions()
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Replay usage in virtual time and compare what policies come to; needs no cluster",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options.Notes = c.ErrOrStderr()
			return commands.Simulate(c.Context(), options, c.OutOrStdout(), progressOf(c))
		},
	}
	options.Version = version
	options.AddTo(c.Flags())
	return c
}

// progressOf is where progress is drawn: nowhere but on a terminal.
func progressOf(c *cobra.Command) io.Writer {
	if file, ok := c.ErrOrStderr().(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/commands"
)

func newTopCommand() *cobra.Command {
	var options app.Options
	var format string
	var observe time.Duration
	c := &cobra.Command{
		Use:   "top",
		Short: "Show each node's real usage per window, its age, source and state",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return commands.Top(c.Context(), options, format, observe, c.OutOrStdout())
		},
	}
	options.AddCommon(c.Flags())
	c.Flags().StringVarP(&format, "output", "o", "table", "Output format: "+commands.Formats+".")
	c.Flags().DurationVar(&observe, "observe", 0, "How long to sample before printing; 0 takes one reading, too short for a state.")
	return c
}

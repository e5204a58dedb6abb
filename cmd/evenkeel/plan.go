package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/commands"
)

func newPlanCommand() *cobra.Command {
	var options app.Options
	var format string
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what would be moved, where to and why, and each node before and after; evict nothing",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return commands.Plan(c.Context(), options, format, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	options.AddCommon(c.Flags())
	c.Flags().StringVarP(&format, "output", "o", "table", "Output format: "+commands.Formats+".")
	return c
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
)

func newRunCommand() *cobra.Command {
	var options app.Options
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the policy's descheduling plugins: one cycle, or cycles by interval or schedule",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return app.Run(c.Context(), options) },
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddRunner(c.Flags())
	return c
}

package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
)

func newServeCommand() *cobra.Command {
	options := app.Options{Interval: 5 * time.Minute}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer kube-scheduler in every replica and run cycles in the leader",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if options.Schedule != "" && !c.Flags().Changed("descheduling-interval") {
				options.Interval = 0
			}
			return app.Serve(c.Context(), options)
		},
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddRunner(c.Flags())
	options.AddExtender(c.Flags())
	return c
}

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/migration/compat"
)

func newExtenderCommand() *cobra.Command { return extenderCommand(app.Extender) }

// extenderCommand runs what the command line asks for.
func extenderCommand(run func(context.Context, app.Options) error) *cobra.Command {
	var options app.Options
	var earlier compat.Extender
	c := &cobra.Command{
		Use:   "extender",
		Short: "Answer kube-scheduler's filter and prioritize requests; never evict",
		Args:  noArgs,
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			preset, err := earlier.Settle(c.Flags())
			if err != nil {
				return exit.Usage(err)
			}
			options.Given, options.MemoryOnly, options.LogBodies = preset, preset != nil, earlier.LogBodies
			return c.Root().PersistentPreRunE(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			earlier.Tell(c.Context())
			return run(c.Context(), options)
		},
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddExtender(c.Flags())
	earlier.Add(c.Flags())
	c.Flags().BoolVar(&options.Observe, "observe", false, "Change nothing: answer neutrally, and compare where kube-scheduler puts pods with what it would have been told.")
	return c
}

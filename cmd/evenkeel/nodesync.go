package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/migration/compat"
)

func newNodeSyncCommand() *cobra.Command { return nodeSyncCommand(app.NodeSync) }

// nodeSyncCommand runs what the command line asks for.
func nodeSyncCommand(run func(context.Context, app.Options) error) *cobra.Command {
	var options app.Options
	var earlier compat.NodeSync
	var remove bool
	c := &cobra.Command{
		Use:   "nodesync",
		Short: "Keep annotations, labels and taints on nodes up to date, or take them off; never evict",
		Long: "Publishes on nodes what the policy's nodesync asks for, in a process of its own: `run` and `serve` do it as well,\n" +
			"but only for the cycles that they run.\n\n" +
			compat.NodeSyncHelp + "\n" +
			"With --remove it takes off all nodes what was ever written. Switch it off in the policy first, or it is written again.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if remove {
				return app.RemoveNodeSync(c.Context(), options, c.OutOrStdout())
			}
			if err := earlier.Settle(c.Flags()); err != nil {
				return exit.Usage(err)
			}
			options.Marking = &app.Marking{Prometheus: earlier.Prometheus, Interval: earlier.Interval, WebAddress: earlier.WebAddress}
			return run(c.Context(), options)
		},
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddMarking(c.Flags())
	earlier.Add(c.Flags())
	c.Flags().BoolVar(&remove, "remove", false, "Remove everything that nodesync wrote.")
	return c
}

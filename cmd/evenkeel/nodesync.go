package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
)

func newNodeSyncCommand() *cobra.Command {
	var options app.Options
	var remove bool
	c := &cobra.Command{
		Use:   "nodesync --remove",
		Short: "Take off the nodes the annotations, labels and taints that nodesync wrote",
		Long: "What nodesync writes to nodes is switched on in the policy and written by `run` and `serve`.\n" +
			"This command takes it back; switch it off in the policy first, or it is written again.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !remove {
				return &app.UsageError{Err: errors.New("nodesync: --remove is the only thing it does; writing is switched on in the policy")}
			}
			return app.RemoveNodeSync(c.Context(), options, c.OutOrStdout())
		},
	}
	options.AddKubeconfig(c.Flags())
	c.Flags().BoolVar(&remove, "remove", false, "Remove everything that nodesync wrote.")
	return c
}

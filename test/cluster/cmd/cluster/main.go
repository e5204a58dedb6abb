// Command cluster starts and stops the local test cluster by hand: `up` builds it, starts
// it with nodes and stays in the foreground until Ctrl-C or, with --detach, in the
// background until `down`. Package cluster runs the cluster; this command keeps a process
// ID and a log next to the state folder.
package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
)

func main() { os.Exit(workshop.Main("cluster", command().ExecuteContext)) }

func command() *cobra.Command {
	var home string
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real Kubernetes cluster on loopback, with nodes that kwok simulates, or real ones",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if home != "" {
				return nil
			}
			dir, err := cluster.ModuleDir(c.Context())
			home = filepath.Join(dir, "_build", "cluster")
			return err
		},
	}
	root.PersistentFlags().StringVar(&home, "home", "", "folder for the state, the log and the process id (default _build/cluster in the module)")
	root.AddCommand(upCommand(&home), downCommand(&home))
	return root
}

func downCommand(home *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster that `up` started and wait until it is gone",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return instance{home: *home}.stop(c.Context(), c.OutOrStdout())
		},
	}
}

package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/compat/process"
	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/cli"
	"github.com/evenkeel/evenkeel/internal/commands"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
)

// newOptions returns options for a process, which can also read legacy policies.
func newOptions() flags.Options { return flags.Options{Converters: legacyFormats().Converters} }

func newRunCommand() *cobra.Command {
	options := newOptions()
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the policy's descheduling plugins: one cycle, or cycles by interval or schedule",
		Args:  cli.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return app.Run(c.Context(), options) },
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddRunner(c.Flags())
	return c
}

func newServeCommand() *cobra.Command {
	options := newOptions()
	options.Interval = 5 * time.Minute
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer kube-scheduler in every replica and run cycles in the leader",
		Args:  cli.NoArgs,
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
	options.AddWebhook(c.Flags())
	return c
}

func newExtenderCommand() *cobra.Command { return extenderCommand(app.Extender) }

// extenderCommand returns the command extender.
func extenderCommand(run func(context.Context, flags.Options) error) *cobra.Command {
	options := newOptions()
	var legacy process.Extender
	c := &cobra.Command{
		Use:   "extender",
		Short: "Answer kube-scheduler's filter and prioritize requests; never evict",
		Args:  cli.NoArgs,
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			preset, err := legacy.Settle(c.Flags())
			if err != nil {
				return exit.Usage(err)
			}
			options.Given, options.MemoryOnly, options.LogBodies = preset, preset != nil, legacy.LogBodies
			// The legacy extender had no flags for TLS. Its flags still work, with a warning.
			options.InsecureServing = options.InsecureServing || preset != nil
			return c.Root().PersistentPreRunE(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			legacy.Tell(c.Context())
			return run(c.Context(), options)
		},
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddExtender(c.Flags())
	legacy.Add(c.Flags())
	c.Flags().BoolVar(&options.Observe, "observe", false, "Answer neutrally: keep all nodes and prefer none.")
	_ = c.Flags().MarkDeprecated("observe", "the extender still answers neutrally, but compares nothing; the flag will be removed in two versions, "+
		"and evenkeel simulate --recording shows what a policy would have done") // lookup fails for flags that do not exist
	return c
}

func newNodeSyncCommand() *cobra.Command { return nodeSyncCommand(app.NodeSync) }

// nodeSyncCommand returns the command nodesync.
func nodeSyncCommand(run func(context.Context, flags.Options) error) *cobra.Command {
	options := newOptions()
	var legacy process.NodeSync
	var remove bool
	c := &cobra.Command{
		Use:   "nodesync",
		Short: "Publish usage annotations and hot-node labels and taints, or remove them (never evicts)",
		Long: "Publishes on nodes what the policy's nodesync enables, in a separate process. `run` and `serve` do it as well,\n" +
			"but only during the cycles that they run.\n\n" +
			process.NodeSyncHelp + "\n" +
			"With --remove, it removes from all nodes everything it ever wrote. Disable it in the policy first, or it will be written again.",
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if remove {
				return commands.RemoveNodeSync(c.Context(), options, c.OutOrStdout())
			}
			if err := legacy.Settle(c.Flags()); err != nil {
				return exit.Usage(err)
			}
			options.NodeSync = &flags.NodeSync{Prometheus: legacy.Prometheus, Interval: legacy.Interval, WebAddress: legacy.WebAddress, Pages: process.NodePages}
			if os.Getenv("KUBERNETES_SERVICE_HOST") == "" { // started by a user, outside a cluster
				options.NodeSync.Progress = c.ErrOrStderr()
			}
			return run(c.Context(), options)
		},
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddNodeSync(c.Flags())
	legacy.Add(c.Flags())
	c.Flags().BoolVar(&remove, "remove", false, "Remove everything that nodesync wrote.")
	return c
}

func newCleanupCommand() *cobra.Command {
	options := newOptions()
	var wanted commands.CleanupOptions
	c := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what Evenkeel left in a cluster outside its manifests, when uninstalling or by hand; never evict",
		Long: "Deletes steering keys, releases the pods held by the gate evenkeel.io/steer, removes what nodesync wrote on nodes,\n" +
			"and names the Deployments that an earlier version scaled up for a move and did not scale back. Stop Evenkeel first. It is safe to run it again.\n" +
			"Exit code 0: nothing is left; 1: something could not be removed.",
		Example: "  evenkeel cleanup --namespace evenkeel --dry-run\n  evenkeel cleanup --namespace evenkeel --ledger",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return commands.Cleanup(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddLedger(c.Flags())
	wanted.AddTo(c.Flags())
	return c
}

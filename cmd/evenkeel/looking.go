package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/compat/process"
	"github.com/evenkeel/evenkeel/internal/cli"
	"github.com/evenkeel/evenkeel/internal/commands"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/output"
)

func newPlanCommand() *cobra.Command {
	options := newOptions()
	var wanted commands.PlanOptions
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show which pods would be evicted, where their replacements would go, and why (never evicts)",
		Long: "Shows what a cycle would do now: first a summary and whether steering of replacements is proven, then each hot node\n" +
			"with its moves, then the pods that stay, by owner, why and for how long. It changes nothing. Log lines only with -v=1 or more.\n" +
			"Exit code 0: planned, even if nothing would be evicted; 1: usage or the cluster could not be read; 2: the command line or the\n" +
			"policy is wrong. With --exit-code 1: pods would be evicted; 2: any error.",
		Example: "  evenkeel plan --policy-config-file policy.yaml\n" +
			"  evenkeel plan --policy-config-file policy.yaml -o name | xargs -n 1 evenkeel explain --policy-config-file policy.yaml pod",
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if options.WatchAtMost < 0 {
				return exit.Usagef("--observe: %v is negative", options.WatchAtMost)
			}
			wanted.Progress = c.ErrOrStderr()
			return commands.Plan(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddLooking(c.Flags())
	flags.AddRemote(c.Flags(), &options.Extender, "URL of a running extender or serve process, to see whether kube-scheduler asks it.")
	c.Flags().StringVarP(&wanted.Format, "output", "o", "table", "Output format: "+commands.PlanFormats+". name prints NAMESPACE/NAME of each pod that would be evicted.")
	output.AddColor(c.Flags(), &wanted.Color)
	c.Flags().DurationVar(&options.WatchAtMost, "observe", 0, "Maximum time to observe first if no usage source has history. The plan is provisional if this is shorter than the policy's usage.observationPeriod. It covers at least hot.consecutiveSamples samples, 45s by default. 0 observes for usage.observationPeriod.")
	c.Flags().BoolVar(&wanted.ExitCode, "exit-code", false, "Exit with 1 if pods would be evicted and with 2 for any error, like diff.")
	return c
}

func newTopCommand() *cobra.Command {
	options := newOptions()
	var wanted commands.TopOptions
	c := &cobra.Command{
		Use:   "top",
		Short: "Show each node's real usage, the hottest first, and which nodes are hot",
		Long: "Prints one line for each node after one reading, the hottest node first: usage, requests, pods and state.\n" +
			"A state that ends in \"now\" is provisional: it uses only that reading, whereas evicting uses windows.\n" +
			"-o wide adds each window that was evaluated, and the age and source of usage.\n" +
			"If serve or extender runs in the cluster, top shows what it has observed, by port-forward with your own permissions.",
		Example: "  evenkeel top\n  evenkeel top --watch\n  evenkeel top --observe 3m -o wide --policy-config-file policy.yaml",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			wanted.Progress = c.ErrOrStderr()
			return commands.Top(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddLooking(c.Flags())
	wanted.AddTo(c.Flags())
	return c
}

func newRequestsCommand() *cobra.Command {
	options := newOptions()
	var wanted commands.RequestsOptions
	c := &cobra.Command{
		Use:   "requests [NODE...]",
		Short: "Show which owners' CPU requests misled kube-scheduler and made nodes hot",
		Long: "Shows each node that is hot by CPU and which owners made it hot, because their pods use more CPU than they ask for;\n" +
			"then, for each owner, what pods ask for and use, what that has cost, and which request would have prevented it.\n" +
			"It changes nothing. If serve or extender runs in the cluster, requests uses what that process knows of the last day,\n" +
			"by port-forward with your own permissions. Otherwise it takes one reading, whose advice is provisional.",
		Example: "  evenkeel requests\n  evenkeel requests worker-3\n  evenkeel requests --all -o wide\n  evenkeel requests --observe 1h\n  evenkeel requests -o patch",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, nodes []string) error {
			wanted.Nodes, wanted.Progress = nodes, c.ErrOrStderr()
			return commands.Requests(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddLooking(c.Flags())
	wanted.AddTo(c.Flags())
	return c
}

func newUICommand() *cobra.Command {
	options := newOptions()
	var wanted commands.UIOptions
	c := &cobra.Command{
		Use:   "ui",
		Short: "Show the page of a process in the cluster: hot nodes, moves and what stops evicting",
		Long: "Forwards a local port to the page that serve and extender provide at --report-address, and prints its URL.\n" +
			"It needs permission to list pods and to create pods/portforward in the namespace, and reads the Lease to find the\n" +
			"leader if that is allowed. The page changes nothing.",
		Example: "  evenkeel ui\n  evenkeel ui --open -n evenkeel",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			wanted.Progress = c.ErrOrStderr()
			return commands.UI(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddLedger(c.Flags())
	wanted.AddTo(c.Flags())
	return c
}

func newExplainCommand() *cobra.Command {
	options := newOptions()
	var wanted commands.ExplainOptions
	c := &cobra.Command{
		Use:   "explain {node NAME | pod NAMESPACE/NAME}",
		Short: "Explain why a node is or isn't hot, or why a pod would or wouldn't be moved",
		Example: "  evenkeel explain node worker-3 --policy-config-file policy.yaml\n" +
			"  evenkeel explain pod shop/web-7d9f-abcde --extender-url http://127.0.0.1:8889",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, words []string) error {
			wanted.Progress = c.ErrOrStderr()
			return commands.Explain(c.Context(), options, wanted, words, c.OutOrStdout())
		},
	}
	options.AddLooking(c.Flags())
	c.Flags().StringVarP(&wanted.Format, "output", "o", "table", "Output format: "+commands.ExplainFormats+".")
	output.AddColor(c.Flags(), &wanted.Color)
	flags.AddRemote(c.Flags(), &wanted.Extender, "URL of the reports (--report-address) of a running extender or serve process, reached for example by kubectl port-forward. Without it, this command observes and plans itself.")
	return c
}

func newHistoryCommand() *cobra.Command {
	options := newOptions()
	var wanted commands.HistoryOptions
	c := &cobra.Command{
		Use:   "history [FILE...]",
		Short: "List evictions with their reasons and outcomes, from the ledger or from log files",
		Long: "Reads the stored ledger, which keeps the last 2,000 moves. With --from-logs it reads the log files of processes\n" +
			"that evict instead, in text or JSON format, including those of a dry run, and does not contact a cluster.",
		Example: "  evenkeel history --since 12h\n  evenkeel history --owner shop/web -o wide\n" +
			"  kubectl -n evenkeel logs deploy/evenkeel --since=168h | evenkeel history --from-logs -",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, files []string) error {
			wanted.More, wanted.In = files, c.InOrStdin()
			return commands.History(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddLedger(c.Flags())
	wanted.AddTo(c.Flags())
	return c
}

func newDoctorCommand() *cobra.Command {
	options := newOptions()
	wanted := commands.DoctorOptions{LegacyPlugins: process.PluginNames()}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the policy, RBAC, usage sources and scheduler integration, and suggest fixes",
		Args:  cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			wanted.Progress = c.ErrOrStderr()
			if options.As != "" { // the command's own requests are not impersonated
				wanted.As, wanted.AsGroups, options.As, options.AsGroups = options.As, options.AsGroups, "", nil
			}
			return commands.Doctor(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddLooking(c.Flags())
	c.Flags().StringVarP(&wanted.Format, "output", "o", "table", "Output format: "+output.Formats+".")
	output.AddColor(c.Flags(), &wanted.Color)
	c.Flags().StringVar(&wanted.Mode, "mode", "serve", "Component to check for: run, serve, extender or nodesync.")
	c.Flags().StringVar(&wanted.Prometheus, "prom", "", "With --mode nodesync: URL of Prometheus, instead of the address in the policy.")
	c.Flags().Lookup("as").Usage = "User whose permissions to check, such as system:serviceaccount:evenkeel:evenkeel. All other requests are made as the caller."
	flags.AddRemote(c.Flags(), &wanted.Extender, "URL of the extender, used to verify that kube-scheduler is calling it.")
	c.Flags().StringVar(&wanted.SchedulerConfig, "scheduler-config", "", "File with kube-scheduler's configuration, to check its extenders entry.")
	return c
}

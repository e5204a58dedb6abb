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

func newTopCommand() *cobra.Command {
	var options app.Options
	var wanted commands.TopOptions
	c := &cobra.Command{
		Use:   "top",
		Short: "Show each node's real usage, the hottest first, and which nodes are hot",
		Long: "Prints one line for each node after one reading, the hottest node first: usage, requests, pods and state.\n" +
			"A state that ends in \"now\" goes by that reading alone and is provisional: evicting goes by windows.\n" +
			"-o wide adds each window that was looked at, the age of usage and where it is from.\n" +
			"Where serve or extender runs in the cluster, what it has observed is shown, by port-forward under your own rights.",
		Example: "  evenkeel top\n  evenkeel top --watch\n  evenkeel top --observe 3m -o wide --policy-config-file policy.yaml",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			wanted.Progress = c.ErrOrStderr()
			return commands.Top(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddCommon(c.Flags())
	wanted.AddTo(c.Flags())
	return c
}

func newExplainCommand() *cobra.Command {
	var options app.Options
	var wanted commands.ExplainOptions
	c := &cobra.Command{
		Use:   "explain {node NAME | pod NAMESPACE/NAME}",
		Short: "Say why a node is hot or not and why a pod would be moved, where to, or not",
		Example: "  evenkeel explain node worker-3 --policy-config-file policy.yaml\n" +
			"  evenkeel explain pod shop/web-7d9f-abcde --extender-url http://127.0.0.1:8889",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, words []string) error {
			wanted.Progress = c.ErrOrStderr()
			return commands.Explain(c.Context(), options, wanted, words, c.OutOrStdout())
		},
	}
	options.AddCommon(c.Flags())
	c.Flags().StringVarP(&wanted.Format, "output", "o", "table", "Output format: "+commands.Formats+".")
	app.AddRemote(c.Flags(), &wanted.Extender, "URL of the reports (--report-address) of a running extender or serve process, as kubectl port-forward reaches them; without it this command observes and plans itself.")
	return c
}

func newHistoryCommand() *cobra.Command {
	var options app.Options
	var wanted commands.HistoryOptions
	c := &cobra.Command{
		Use:   "history [FILE...]",
		Short: "Say which pods were evicted, when, why and what came of it, by the ledger or by log files",
		Long: "Reads the stored ledger, which keeps the last 2,000 moves. With --from-logs it reads the log files of processes\n" +
			"that evict instead, in the text or the JSON format, also those of a dry run, and asks no cluster.",
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
	var options app.Options
	var wanted commands.DoctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check policy, permissions, usage sources and kube-scheduler's wiring, and say how to mend what is wrong",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			wanted.Progress = c.ErrOrStderr()
			return commands.Doctor(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddCommon(c.Flags())
	c.Flags().StringVarP(&wanted.Format, "output", "o", "table", "Output format: "+commands.Formats+".")
	c.Flags().StringVar(&wanted.Mode, "mode", "serve", "Command whose process is checked: run, serve, extender or nodesync.")
	c.Flags().StringVar(&wanted.Prometheus, "prom", "", "With --mode nodesync: URL of Prometheus, in place of the address in the policy.")
	c.Flags().StringVar(&wanted.As, "as", "", "Whose permissions to check, such as system:serviceaccount:evenkeel:evenkeel; without it those of the caller.")
	app.AddRemote(c.Flags(), &wanted.Extender, "URL of the extender, to ask whether kube-scheduler asks it.")
	c.Flags().StringVar(&wanted.SchedulerConfig, "scheduler-config", "", "File with kube-scheduler's configuration, to check its extenders entry.")
	return c
}

func newRecordCommand() *cobra.Command {
	var options app.Options
	var record commands.RecordOptions
	c := &cobra.Command{
		Use:   "record",
		Short: "Write what nodes, pods and usage of a cluster do into a file that simulate replays; changes nothing",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return commands.Record(c.Context(), options, record, c.OutOrStdout())
		},
	}
	options.AddCommon(c.Flags())
	record.AddTo(c.Flags())
	return c
}

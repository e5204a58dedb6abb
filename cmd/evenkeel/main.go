// Command evenkeel balances Kubernetes nodes by real usage. Its files hold
// commands that look, that read files, and that keep running; internal/app
// wires what they do.
package main

import (
	"context"
	"os"
	"slices"
	"time"

	build "github.com/prometheus/common/version"
	"github.com/spf13/cobra"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/migration/compat"
)

func main() { os.Exit(run()) }

func run() int {
	defer logs.FlushLogs()
	build.Version = version // of the metric evenkeel_build_info
	root, args := newRoot(), compat.WithGoFlags(os.Args[1:])
	root.SetArgs(args)
	patience := time.Second
	if c, _, err := root.Find(args); err == nil && slices.Contains(lasting, c.Name()) {
		patience = lastingPatience
	}
	return untilSignalled(stopSignals(), patience, func(ctx context.Context) error {
		return root.ExecuteContext(klog.NewContext(ctx, klog.Background()))
	})
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "evenkeel",
		Short:         "Evens out the real usage of Kubernetes nodes, by eviction and by scheduling",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	logConfig := logsapi.NewLoggingConfiguration()
	logsapi.AddFlags(logConfig, root.PersistentFlags())
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := logsapi.ValidateAndApply(logConfig, nil); err != nil {
			return exit.Usagef("logging flags: %w", err)
		}
		return nil
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Usage(err) })
	root.AddCommand(newRunCommand(), newExtenderCommand(), newServeCommand(), newPlanCommand(), newTopCommand(),
		newNodeSyncCommand(), newCleanupCommand(), newDoctorCommand(), newExplainCommand(), newHistoryCommand(), newSimulateCommand(), newRecordCommand(), newConvertCommand(), newLintCommand(), newCertificatesCommand())
	return root
}

// Command evenkeel balances Kubernetes nodes by real usage. Its files hold
// commands that look, that read files, and that keep running; internal/app
// wires what they do.
package main

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	build "github.com/prometheus/common/version"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	nameAfter(root, os.Args[0])
	refuseMisspelt(root)
	root.SetArgs(args)
	patience := time.Second
	if c, _, err := root.Find(args); err == nil && slices.Contains(lasting, c.Name()) {
		patience = lastingPatience
	}
	return untilSignalled(stopSignals(), patience, func(ctx context.Context) error {
		return root.ExecuteContext(klog.NewContext(ctx, klog.Background()))
	})
}

// quiet are the commands that log nothing below a warning unless -v asks for it:
// what they print is the answer.
var quiet = []string{"plan", "explain"}

// warnings is a log in klog's text format without the lines of level Info. Each
// is written as a whole, and begins with an I.
type warnings struct{ out io.Writer }

// Write implements io.Writer.
func (w warnings) Write(line []byte) (int, error) {
	if len(line) > 0 && line[0] == 'I' {
		return len(line), nil
	}
	return w.out.Write(line)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "evenkeel",
		Short:         "Balances Kubernetes nodes by real usage: moves pods off hot nodes and steers new pods to cool ones",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	logConfig := logsapi.NewLoggingConfiguration()
	logsapi.AddFlags(logConfig, root.PersistentFlags())
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		var streams *logsapi.LoggingOptions // nil: stderr
		if slices.Contains(quiet, c.Name()) && !c.Flags().Changed("v") && !c.Flags().Changed("vmodule") && logConfig.Format == logsapi.DefaultLogFormat {
			streams = &logsapi.LoggingOptions{ErrorStream: warnings{os.Stderr}, InfoStream: io.Discard}
		}
		if err := logsapi.ValidateAndApplyWithOptions(logConfig, streams, nil); err != nil {
			return exit.Usagef("logging flags: %w", err)
		}
		return nil
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newRunCommand(), newExtenderCommand(), newServeCommand(), newPlanCommand(), newTopCommand(), newUICommand(),
		newNodeSyncCommand(), newCleanupCommand(), newDoctorCommand(), newExplainCommand(), newHistoryCommand(), newSimulateCommand(), newRecordCommand(), newConvertCommand(), newLintCommand(), newCertificatesCommand(), newOptionsCommand(), newVersionCommand())
	// Flags that all commands have are left to `evenkeel options`, as kubectl does.
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	root.SetUsageTemplate(root.UsageTemplate() + ofAll)
	return root
}

// Package cli holds what the command lines of evenkeel and evenkeel-sim have in common:
// the root command with its logging flags, the argument checks, and how a process ends.
// Other packages implement the commands.
package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// Program is a command line.
type Program struct {
	// Short describes the program in one line.
	Short string
	// Version is the version that the program reports.
	Version string
	// Commands are the program's own; version, options, help and completion are
	// added to them.
	Commands []*cobra.Command
	// Quiet lists the commands that log only warnings and errors unless -v is given, because
	// their users want only the output.
	Quiet []string
	// Lasting lists the commands that have work to finish when they are stopped: replies,
	// moves, a Lease, a file. All other commands may be stopped at any point.
	Lasting []string
}

// Run executes a process's command line and returns the exit code.
func (p Program) Run(binary string, args []string) int {
	defer logs.FlushLogs()
	root := p.Root(binary)
	RefuseMisspelt(root)
	root.SetArgs(args)
	patience := time.Second
	if c, _, err := root.Find(args); err == nil && slices.Contains(p.Lasting, c.Name()) {
		patience = lastingPatience
	}
	return untilSignalled(stopSignals(), patience, func(ctx context.Context) error {
		return root.ExecuteContext(klog.NewContext(ctx, klog.Background()))
	})
}

// Root returns the root command, named after the binary that was called.
func (p Program) Root(binary string) *cobra.Command {
	root := &cobra.Command{
		Use:           "evenkeel",
		Short:         p.Short,
		Version:       p.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	logConfig := logsapi.NewLoggingConfiguration()
	logsapi.AddFlags(logConfig, root.PersistentFlags())
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		var streams *logsapi.LoggingOptions // nil means stderr
		if slices.Contains(p.Quiet, c.Name()) && !c.Flags().Changed("v") && !c.Flags().Changed("vmodule") && logConfig.Format == logsapi.DefaultLogFormat {
			streams = &logsapi.LoggingOptions{ErrorStream: warnings{os.Stderr}, InfoStream: io.Discard}
		}
		if err := logsapi.ValidateAndApplyWithOptions(logConfig, streams, nil); err != nil {
			return exit.Usagef("logging flags: %w", err)
		}
		return nil
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(p.Commands...)
	root.AddCommand(newOptionsCommand(), newVersionCommand())
	// As in kubectl, `evenkeel options` lists the flags that all commands have.
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	root.SetUsageTemplate(root.UsageTemplate() + ofAll)
	nameAfter(root, binary)
	return root
}

// warnings writes a log in klog's text format without the lines of level Info, which
// begin with an I. Each Write is a whole line.
type warnings struct{ out io.Writer }

// Write implements io.Writer.
func (w warnings) Write(line []byte) (int, error) {
	if len(line) > 0 && line[0] == 'I' {
		return len(line), nil
	}
	return w.out.Write(line)
}

package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/internal/cleanup"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
)

// CleanupOptions are the flags of `evenkeel cleanup` besides the common ones.
type CleanupOptions struct {
	// Format is one of output.Formats.
	Format string
	// Mode is the mode whose processes have ended; empty means all modes.
	Mode string
	// Ledger also deletes the stored data. DryRun deletes nothing.
	Ledger, DryRun bool
	// Timeout bounds the whole run.
	Timeout time.Duration
}

// AddTo adds the flags.
func (o *CleanupOptions) AddTo(flags *pflag.FlagSet) {
	flags.StringVarP(&o.Format, "output", "o", "table", "Output format: "+output.Formats+".")
	flags.StringVar(&o.Mode, "mode", "", "Clean up after one mode while processes of others keep running: serve|run|nodesync. Empty: after all.")
	flags.BoolVar(&o.DryRun, "dry-run", false, "Show what would be removed, and change nothing.")
	flags.BoolVar(&o.Ledger, "ledger", false, "Also delete the ledger, the Leases and the kill switch, once everything else is removed.")
	flags.DurationVar(&o.Timeout, "timeout", 2*time.Minute, "How long to try before giving up.")
}

func (o *CleanupOptions) validate() error {
	if o.Timeout <= 0 {
		return exit.Usagef("--timeout: %v must be above 0", o.Timeout)
	}
	if _, ok := after[o.Mode]; !ok {
		return exit.Usagef("--mode: %q is not one of serve, run and nodesync; omit it to clean up after all of them", o.Mode)
	}
	return output.Check(nil, o.Format, output.Formats, "")
}

// after maps the values of --mode.
var after = map[string]cleanup.Mode{"": cleanup.All, "serve": cleanup.Evicting, "run": cleanup.Evicting, "nodesync": cleanup.NodeSync}

// Cleanup runs `evenkeel cleanup`: it removes what Evenkeel left in a cluster. It returns
// an error if something could not be removed.
func Cleanup(ctx context.Context, options flags.Options, wanted CleanupOptions, out io.Writer) error {
	if err := wanted.validate(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, wanted.Timeout)
	defer cancel()
	connection, err := options.Connect()
	if err != nil {
		return err
	}
	if err := connection.Reach(limited); err != nil {
		return err
	}
	client, err := connection.Dynamic()
	if err != nil {
		return err
	}
	report := cleanup.Run(limited, cleanup.Config{
		Client: connection.Client, Dynamic: client, Clock: connection.Clock, Namespace: cmp.Or(options.Namespace, flags.DefaultNamespace),
		Leases: []string{defaultLeaseName, nodeSyncLeaseName}, After: after[wanted.Mode], Ledger: wanted.Ledger, DryRun: wanted.DryRun,
	})
	interrupted := limited.Err()
	if err := output.Show(out, wanted.Format, "never", report, func(p *layout.Page) { report.Table(p, interrupted) }); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(interrupted, context.DeadlineExceeded):
		return fmt.Errorf("cleanup: not finished within %v (--timeout)", wanted.Timeout)
	case len(report.Left) > 0:
		return fmt.Errorf("cleanup: not removed: %d", len(report.Left))
	}
	return nil
}

// nodeSyncLeaseName is the name of the Lease of a separate nodesync process.
const nodeSyncLeaseName = "evenkeel-nodesync"

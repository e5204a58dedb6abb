package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/internal/app"
)

const nodeSyncName = "nodesync"

func newNodeSyncCommand() *cobra.Command { return nodeSyncCommand(app.NodeSync) }

// nodeSyncCommand runs what the command line asks for.
func nodeSyncCommand(run func(context.Context, app.Options) error) *cobra.Command {
	marking := &app.Marking{}
	options := app.Options{Marking: marking}
	var remove bool
	var rules rulesFlags
	c := &cobra.Command{
		Use:   nodeSyncName,
		Short: "Keep annotations, labels and taints on nodes up to date, or take them off; never evict",
		Long: "Publishes on nodes what the policy's nodesync asks for, in a process of its own: `run` and `serve` do it as well,\n" +
			"but only for the cycles that they run.\n\n" +
			"The flags of dynamicScheduler may be given with one dash, as it wrote them:\n" +
			"  evenkeel nodesync -prom http://prometheus:9090 -r rule.yaml -s 10 -webaddr :9000\n\n" +
			"With --remove it takes off all nodes what was ever written. Switch it off in the policy first, or it is written again.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if remove {
				options.Marking = nil
				return app.RemoveNodeSync(c.Context(), options, c.OutOrStdout())
			}
			if err := rules.settle(c.Flags(), &options); err != nil {
				return &app.UsageError{Err: err}
			}
			return run(c.Context(), options)
		},
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddMarking(c.Flags())
	rules.add(c.Flags())
	c.Flags().BoolVar(&remove, "remove", false, "Remove everything that nodesync wrote.")
	return c
}

// What usage.sampleInterval may be.
const (
	minSeconds = 5
	maxSeconds = 300
)

// rulesFlags are those flags of dynamicScheduler that have no equal.
type rulesFlags struct {
	file    string
	seconds int
}

func (r *rulesFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&r.file, "rules", "r", "rule.yaml", "File with dynamicScheduler's rules, in place of --policy-config-file; the default holds where neither is given, but --prom is.")
	flags.IntVarP(&r.seconds, "seconds", "s", 10, "Seconds between two samples, in place of the policy's usage.sampleInterval: 5 to 300.")
}

// settle takes the flags for what they mean to the options.
func (r *rulesFlags) settle(flags *pflag.FlagSet, options *app.Options) error {
	switch {
	case options.PolicyFile != "" && flags.Changed("rules"):
		return errors.New("nodesync: --rules and --policy-config-file exclude each other")
	case options.PolicyFile != "":
	case flags.Changed("rules"), flags.Changed("prom"):
		options.PolicyFile = r.file
	default:
		return errors.New("nodesync: it needs --policy-config-file, --rules or --remove")
	}
	if flags.Changed("seconds") {
		if r.seconds < minSeconds || r.seconds > maxSeconds {
			return fmt.Errorf("nodesync: --seconds %d: must be from %d to %d", r.seconds, minSeconds, maxSeconds)
		}
		options.Marking.Interval = time.Duration(r.seconds) * time.Second
	}
	return nil
}

// withGoFlags gives the flags of dynamicScheduler that were written with one dash, as Go's own flag package reads them, the
// second one. No other command has such flags.
func withGoFlags(args []string) []string {
	if len(args) == 0 || args[0] != nodeSyncName {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch dashes := len(arg) - len(strings.TrimLeft(arg, "-")); {
		case dashes == 1 && slices.Contains([]string{"kubeconfig", "prom", "webaddr"}, name):
			args[i] = "-" + arg
		case dashes == 2 && slices.Contains([]string{"r", "s"}, name):
			args[i] = arg[1:]
		}
	}
	return args
}

package process

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// The bounds of usage.sampleInterval.
const (
	minSeconds = 5
	maxSeconds = 300
)

// NodeSync holds dynamicScheduler's flags, which also work with current policies.
type NodeSync struct {
	// Prometheus, if not empty, overrides the address of the policy's Prometheus source.
	Prometheus string
	// WebAddress is the address that serves NodePages; "0" disables it.
	WebAddress string
	// Interval, if not 0, overrides the time between two samples.
	Interval time.Duration

	file    string
	seconds int
}

// NodeSyncHelp explains how the flags may be written.
const NodeSyncHelp = "The flags of dynamicScheduler may be given with one dash, as it wrote them:\n" +
	"  evenkeel nodesync -prom http://prometheus:9090 -r rule.yaml -s 10 -webaddr :9000\n"

// Add adds the flags to those of nodesync.
func (n *NodeSync) Add(flags *pflag.FlagSet) {
	flags.StringVar(&n.Prometheus, "prom", "", "URL of Prometheus, instead of the address in the policy.")
	flags.StringVar(&n.WebAddress, "webaddr", ":9000", `Address of /nodes, which lists the labelled nodes, and /status; "0" disables them.`)
	flags.StringVarP(&n.file, "rules", "r", "rule.yaml", "dynamicScheduler rule file to use instead of --policy-config-file. The default is used if --prom is the only other input.")
	flags.IntVarP(&n.seconds, "seconds", "s", 10, "Seconds between two samples, instead of the policy's usage.sampleInterval: 5 to 300.")
}

// Settle translates these flags to current flags.
func (n *NodeSync) Settle(flags *pflag.FlagSet) error {
	switch own := flags.Lookup(policyFlag).Value; {
	case own.String() != "" && flags.Changed("rules"):
		return errors.New("nodesync: --rules and --policy-config-file cannot be used together")
	case own.String() != "":
	case flags.Changed("rules"), flags.Changed("prom"):
		if err := own.Set(n.file); err != nil {
			return err
		}
	default:
		return errors.New("nodesync: --policy-config-file, --rules or --remove is required")
	}
	if flags.Changed("seconds") {
		if n.seconds < minSeconds || n.seconds > maxSeconds {
			return fmt.Errorf("nodesync: --seconds %d: must be from %d to %d", n.seconds, minSeconds, maxSeconds)
		}
		n.Interval = time.Duration(n.seconds) * time.Second
	}
	return nil
}

// WithGoFlags adds a second dash to dynamicScheduler's flags that were written with one,
// as Go's flag package allows. No other command has such flags.
func WithGoFlags(args []string) []string {
	if len(args) == 0 || args[0] != "nodesync" {
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

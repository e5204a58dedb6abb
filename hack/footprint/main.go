// Command footprint compares the memory of `evenkeel extender` and `evenkeel serve` on a
// large cluster with that of a process that has only client-go's shared informers for
// nodes and pods. The processes run one after the other, without environment variables
// that tune the garbage collector, and watch the same fake API server, which is another
// process. Every tenth node is hot, so that serve, in a dry run, plans moves in every
// cycle.
//
// The command defines what is compared and for how long. objects.go describes the
// cluster. The fake API server serves only what the measured processes request. Figures
// are read from /proc, so the command runs only on Linux.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// options are the flags.
type options struct {
	fleet
	sources []string
	limit   string
	settle  time.Duration
	// patience is the maximum time for a process to receive the whole cluster.
	patience time.Duration
	binary   string
	// apiServer is the URL of the API server for the role informers.
	apiServer string
	// stripped makes the informers keep only the parts of pods that some filter or plugin
	// reads.
	stripped bool
	role     string
	// commands holds the evenkeel commands to measure.
	commands []string
	bare     bool
	// empty also measures a cluster with one node and one pod.
	empty bool
	// lines prints Go benchmark lines below the table.
	lines bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM) //nolint:forbidigo // this is package main
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is package main
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o := options{}
	flags := pflag.NewFlagSet("footprint", pflag.ContinueOnError)
	flags.IntVar(&o.nodes, "nodes", 5000, "Nodes of the cluster.")
	flags.IntVar(&o.podsPerNode, "pods-per-node", 30, "Pods on each node.")
	flags.BoolVar(&o.watchList, "watch-list", true, "Let clients get their first list as a stream, as API servers since 1.34 do.")
	flags.IntVar(&o.updates, "updates", 50, "Pods that change, per second.")
	flags.Float64Var(&o.churn, "churn", 1, "Percentage of the pods that are replaced, per minute.")
	flags.StringSliceVar(&o.commands, "commands", []string{"extender", "serve"}, "Commands of evenkeel to measure.")
	flags.BoolVar(&o.bare, "informers", true, "Measure bare informers beside them.")
	flags.BoolVar(&o.empty, "empty", true, "Measure each with an empty cluster first.")
	flags.BoolVar(&o.lines, "bench", false, "Print Go benchmark lines below the table.")
	flags.StringSliceVar(&o.sources, "sources", []string{"MetricsServer", "Prometheus"}, "Usage sources to measure evenkeel with.")
	flags.StringVar(&o.limit, "memory-limit", "", "GOMEMLIMIT of evenkeel's processes, such as 900MiB; without it none.")
	flags.DurationVar(&o.settle, "settle", 3*time.Minute, "How long each process runs once it knows all.")
	flags.DurationVar(&o.patience, "patience", 10*time.Minute, "How long each process may take until it knows all.")
	flags.StringVar(&o.binary, "evenkeel", "bin/evenkeel", "The binary to measure.")
	flags.StringVar(&o.apiServer, "api-server", "", "For the role informers: URL of the API server.")
	flags.BoolVar(&o.stripped, "stripped", false, "For the role informers: strip pods hard before they are stored.")
	flags.StringVar(&o.role, "role", "measure", "What this process is: measure, serve or informers; the first starts the others.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch o.role {
	case "measure":
		return compare(ctx, &o, out)
	case "serve":
		return serve(ctx, &o.fleet, out)
	case "informers":
		return watchOnly(ctx, o.apiServer, o.stripped, out)
	}
	return fmt.Errorf("--role: there is no %q", o.role)
}

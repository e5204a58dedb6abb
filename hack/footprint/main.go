// Command footprint measures the memory of `evenkeel extender` on a large cluster against that of a process with nothing but
// client-go's shared informers for nodes and pods. Both run as processes of their own, one after the other, with the
// garbage collector's defaults, and watch the same fake API server, which is a process of its own as well.
//
// It decides what is compared and for how long. What a cluster looks like stands in objects.go; the fake serves what the two
// ask for and nothing else. Figures are read from /proc, so it runs on Linux alone.
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
	settle  time.Duration
	binary  string
	// apiServer is where the role informers finds the API server.
	apiServer string
	role      string
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
	flags.StringSliceVar(&o.sources, "sources", []string{"MetricsServer", "Prometheus"}, "Usage sources to measure evenkeel with.")
	flags.DurationVar(&o.settle, "settle", 3*time.Minute, "How long each process runs once it knows all.")
	flags.StringVar(&o.binary, "evenkeel", "bin/evenkeel", "The binary to measure.")
	flags.StringVar(&o.apiServer, "api-server", "", "For the role informers: URL of the API server.")
	flags.StringVar(&o.role, "role", "measure", "What this process is: measure, serve or informers; the first starts the others.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch o.role {
	case "measure":
		return measure(ctx, &o, out)
	case "serve":
		return serve(ctx, &o.fleet, out)
	case "informers":
		return watchOnly(ctx, o.apiServer, out)
	}
	return fmt.Errorf("--role: there is no %q", o.role)
}

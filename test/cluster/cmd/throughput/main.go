// Command throughput measures how many pods per second kube-scheduler places on a real
// local control plane: alone, with extenders that decide nothing, with Evenkeel's
// extender, and with Evenkeel's plugin compiled in. Package throughput defines what is
// compared.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

// flags are the command line.
type flags struct {
	nodes, pods, rounds int
	names               []string
	binary, scheduler   string
	bench, keep, apart  bool

	variants []throughput.Variant
}

func main() { os.Exit(workshop.Main("throughput", command().ExecuteContext)) }

func command() *cobra.Command {
	var f flags
	c := workshop.Command("throughput", "Measure kube-scheduler's pods per second with and without Evenkeel on a local cluster",
		func(ctx context.Context, out, progress io.Writer) error { return run(ctx, f, out, progress) })
	set := c.Flags()
	set.IntVar(&f.nodes, "nodes", 1000, "number of nodes, every tenth of which is hot")
	set.IntVar(&f.pods, "pods", 1000, "number of pods that each variant places in a round")
	set.IntVar(&f.rounds, "rounds", 5, "number of rounds; each runs every variant once")
	set.StringSliceVar(&f.names, "variants", nil, "variants to run; without it all")
	set.StringVar(&f.binary, "binary", "", "evenkeel binary; without it this checkout is built")
	set.StringVar(&f.scheduler, "scheduler-binary", "", "kube-scheduler binary with the plugin; without it this checkout is built")
	set.BoolVar(&f.bench, "bench", false, "print the figures in the format of Go's benchmarks, and the table on standard error")
	set.BoolVar(&f.apart, "apart", false, "run the control plane and kube-schedulers on the first processor, and what runs elsewhere on a real cluster on the others (Linux)")
	set.BoolVar(&f.keep, "keep", false, "keep the logs even if all went well")
	c.AddCommand(handlerCommand())
	return c
}

func (f *flags) complete() (err error) {
	switch {
	case f.nodes < 10:
		return fmt.Errorf("--nodes: want at least 10, got %d", f.nodes)
	case f.pods < 2 || f.pods > f.nodes*maxPodsPerNode:
		return fmt.Errorf("--pods: want 2 to %d on so many nodes, got %d", f.nodes*maxPodsPerNode, f.pods)
	case f.rounds < 1:
		return fmt.Errorf("--rounds: want at least 1, got %d", f.rounds)
	}
	if f.variants, err = throughput.Choose(f.names); err != nil {
		return fmt.Errorf("--variants: %w", err)
	}
	return nil
}

func run(ctx context.Context, f flags, out, progress io.Writer) error {
	if err := f.complete(); err != nil {
		return err
	}
	s, err := newStage(ctx, f, progress)
	if err != nil {
		return err
	}
	report, err := s.play(ctx, out)
	err = errors.Join(err, s.Close())
	if len(report.Figures) > 0 {
		table := out
		if f.bench {
			table = progress
		}
		err = errors.Join(err, report.Table(table))
	}
	return s.CleanUp(err, f.keep)
}

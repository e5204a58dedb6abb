// Command soak runs Evenkeel for a long time on a real local cluster whose pods' usage
// changes continuously, and measures what Evenkeel does and whether its own resource
// usage stays as low as at the start. Package soak defines what is counted and when a run
// has failed; docs/soak.md explains how to read the results.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/hostile"
	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

// tracesVariable is the environment variable that names the folder with traces if no flag
// does.
const tracesVariable = "EVENKEEL_TRACES"

// flags are the command line.
type flags struct {
	shape        soak.Shape
	runFor       time.Duration
	step         time.Duration
	sample       time.Duration
	trace        string
	policy       string
	interval     time.Duration
	replicas     int
	binary       string
	baseline     bool
	hostile      bool
	faults       bool
	output       string
	keep         bool
	pendingLimit time.Duration
	verbosity    int
}

func main() {
	if hostile.Main(context.Background()) {
		return
	}
	os.Exit(workshop.Main("soak", command().ExecuteContext))
}

func command() *cobra.Command {
	var f flags
	c := workshop.Command("soak", "Run Evenkeel for long on a local cluster whose usage changes all the time",
		func(ctx context.Context, out, progress io.Writer) error { return run(ctx, f, out, progress) })
	set := c.Flags()
	set.DurationVar(&f.runFor, "for", time.Hour, "how long to run once all is up")
	set.IntVar(&f.shape.Nodes, "nodes", 200, "number of nodes, of 32 cores and 256Gi")
	set.IntVar(&f.shape.Pods, "pods", 4000, "number of pods")
	set.IntVar(&f.shape.Deployments, "deployments", 0, "number of Deployments; 0: one per 40 pods")
	set.Float64Var(&f.shape.MeanCPUPercent, "mean-cpu", 45, "mean CPU usage of all nodes, in percent")
	set.Float64Var(&f.shape.MeanMemoryPercent, "mean-memory", 40, "mean memory usage of all nodes, in percent")
	set.Uint64Var(&f.shape.Seed, "seed", 1, "seed of all that is drawn by lot")
	set.StringVar(&f.trace, "trace", os.Getenv(tracesVariable), "trace of CPU utilisation, or a folder of traces; without it or $"+tracesVariable+" usage is generated")
	set.DurationVar(&f.step, "step", time.Minute, "how long a step of the trace lasts, which was five minutes")
	set.DurationVar(&f.sample, "sample", 10*time.Second, "time between two samples of the truth and of the processes")
	set.StringVar(&f.policy, "policy", "", "policy file; without it the shipped policy.yaml")
	set.DurationVar(&f.interval, "descheduling-interval", time.Minute, "time between two cycles")
	set.IntVar(&f.replicas, "replicas", 2, "evenkeel processes; kube-scheduler asks the first")
	set.StringVar(&f.binary, "binary", "", "evenkeel binary; without it this checkout is built")
	set.BoolVar(&f.baseline, "baseline", false, "run the same without Evenkeel")
	set.BoolVar(&f.hostile, "hostile", false, "let a client loose on the first process that forges requests and floods its port")
	set.BoolVar(&f.faults, "faults", false, "have the API server fail each process in turn, drawn by lot")
	set.StringVarP(&f.output, "output", "o", "table", "table or json; with json the minutes are told on standard error")
	set.BoolVar(&f.keep, "keep", false, "keep the logs even if all went well")
	set.DurationVar(&f.pendingLimit, "pending-limit", 2*time.Minute, "how long a pod may be unscheduled before it counts as stuck")
	set.IntVar(&f.verbosity, "evenkeel-v", 2, "verbosity of evenkeel's logs")
	return c
}

func (f *flags) complete() error {
	switch {
	case f.output != "table" && f.output != "json":
		return fmt.Errorf("--output: want table or json, got %q", f.output)
	case f.runFor < f.sample || f.sample < time.Second:
		return errors.New("--for has to be at least --sample, and that at least 1s")
	case f.replicas < 1 || f.replicas > 9:
		return fmt.Errorf("--replicas: want 1 to 9, got %d", f.replicas)
	case f.baseline && (f.hostile || f.faults):
		return errors.New("--baseline runs no process that --hostile or --faults could trouble")
	case f.interval < time.Second:
		return fmt.Errorf("--descheduling-interval: want at least 1s, got %v", f.interval)
	}
	if f.shape.Deployments == 0 {
		f.shape.Deployments = max(1, f.shape.Pods/40)
	}
	f.shape.Node = soak.Amounts{CPUMilli: workshop.NodeCores * 1000, MemoryBytes: workshop.NodeGiB << 30}
	return nil
}

func run(ctx context.Context, f flags, out, progress io.Writer) error {
	if err := f.complete(); err != nil {
		return err
	}
	if f.output == "table" {
		progress = out
	}
	s, err := newStage(ctx, f, progress)
	if err != nil {
		return err
	}
	report, err := s.play(ctx)
	err = errors.Join(err, s.Close())
	if report == nil {
		return s.CleanUp(err, f.keep)
	}
	if f.output == "json" {
		err = errors.Join(err, report.JSON(out))
	} else {
		fmt.Fprintln(out)
		err = errors.Join(err, report.Table(out))
	}
	if len(report.Failures) > 0 {
		err = errors.Join(err, errors.New("the run has failed"))
	}
	return s.CleanUp(err, f.keep)
}

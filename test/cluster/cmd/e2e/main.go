// Command e2e runs the end-to-end cases of a tier: it compiles each package's test binary
// once and hands the cases to several lanes, each with its own control plane, because
// cases mostly wait. Package tiers finds the cases of a tier; a case that does not run
// counts as a failure. The control planes can be of any Kubernetes release with modules
// in the folder versions; cases do not depend on the release.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

func main() { os.Exit(workshop.Main("e2e", command().ExecuteContext)) }

// options are the flags.
type options struct {
	tier, match, kubernetes string
	lanes                   int
	list                    bool
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:           "e2e",
		Short:         "Run the end-to-end cases of a tier, several at a time",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return run(c.Context(), o, c.OutOrStdout()) },
	}
	flags := c.Flags()
	flags.StringVar(&o.tier, "tier", string(tiers.Test), "tier to run: test, all, matrix (the core cases), or measure, whose cases assert nothing")
	flags.StringVar(&o.kubernetes, "kubernetes", string(cluster.DefaultRelease), "release of Kubernetes to run the cases on; test/cluster/versions has the others")
	flags.IntVar(&o.lanes, "lanes", 5, "number of cases to run at a time")
	flags.StringVar(&o.match, "run", "", "regular expression; only test functions whose package and name it matches are run")
	flags.BoolVar(&o.list, "list", false, "list the cases of the tier and run none")
	return c
}

func run(ctx context.Context, o options, out io.Writer) error {
	release, err := cluster.ParseRelease(ctx, o.kubernetes)
	if err != nil {
		return fmt.Errorf("--kubernetes: %w", err)
	}
	module, err := cluster.ModuleDir(ctx)
	if err != nil {
		return err
	}
	cases, err := tiers.Cases(module)
	if err != nil {
		return err
	}
	tasks, left, err := choose(cases, o)
	if err != nil {
		return err
	}
	r := &report{out: out, release: release, total: len(tasks), left: left}
	if o.list {
		show(tasks, out)
		r.leftOut()
		return nil
	}
	if !prometheus.Installed() {
		fmt.Fprintln(out, "no prometheus on the PATH: its cases are left out")
	}
	w, err := build(ctx, module, release, tasks, out)
	if err != nil {
		return err
	}
	begin := time.Now()
	runAll(ctx, w, tasks, o, r)
	r.summarize(time.Since(begin))
	return errors.Join(ctx.Err(), r.err(), r.write(w.summary()), os.RemoveAll(w.temp))
}

// choose returns the tier's test functions that match, and those that the release
// excludes.
func choose(cases []tiers.Case, o options) (tasks []tiers.Case, left []tiers.CoreCase, err error) {
	pattern, err := regexp.Compile(o.match)
	if err != nil {
		return nil, nil, fmt.Errorf("--run: %w", err)
	}
	if tiers.Tier(o.tier) == tiers.Matrix {
		core, err := tiers.CoreCases()
		if err != nil {
			return nil, nil, err
		}
		if tasks, left, err = tiers.On(o.kubernetes, core, cases); err != nil {
			return nil, nil, err
		}
	} else {
		tasks = tiers.Tier(o.tier).Of(cases)
	}
	tasks = slices.DeleteFunc(tasks, func(c tiers.Case) bool { return !pattern.MatchString(c.Package + " " + c.Name) })
	left = slices.DeleteFunc(left, func(c tiers.CoreCase) bool { return !pattern.MatchString(c.Package + " " + c.Name) })
	if len(tasks) == 0 {
		return nil, nil, fmt.Errorf("no case of tier %q matches %q on Kubernetes %s", o.tier, o.match, o.kubernetes)
	}
	return tasks, left, nil
}

func show(tasks []tiers.Case, out io.Writer) {
	for _, task := range tasks {
		fmt.Fprintln(out, task.Package, task.Name)
	}
}

// runAll runs the cases that must run alone one by one, and the others in lanes.
func runAll(ctx context.Context, w workplace, tasks []tiers.Case, o options, r *report) {
	apart := slices.DeleteFunc(slices.Clone(tasks), func(c tiers.Case) bool { return !c.Alone })
	others := slices.DeleteFunc(slices.Clone(tasks), func(c tiers.Case) bool { return c.Alone })
	took := lastRun(w.summary())
	drain(ctx, w, newQueue(apart, took), r)
	q := newQueue(others, took)
	var lanes errgroup.Group
	for range o.lanes {
		lanes.Go(func() error {
			drain(ctx, w, q, r)
			return nil
		})
	}
	_ = lanes.Wait() // only cases have errors
}

// drain is one lane: it runs cases from the queue until the queue is empty.
func drain(ctx context.Context, w workplace, q *queue, r *report) {
	lane := runner{workplace: w}
	for with := ""; ctx.Err() == nil; {
		task, ok := q.next(with)
		if !ok {
			break
		}
		with = task.Package
		result := lane.run(ctx, task)
		if ctx.Err() != nil {
			break
		}
		result.check()
		r.add(result)
	}
	if err := lane.close(); err != nil && ctx.Err() == nil {
		fmt.Fprintln(r.out, err)
	}
}

// check adds problems that the test binary does not report: the case did not run, or was
// skipped without need.
func (o *outcome) check() {
	switch {
	case o.failed:
	case !o.ran:
		o.problems = append(o.problems, "it did not run")
	case len(o.skipped) > 0 && !o.mayBeSkipped():
		o.problems = append(o.problems, "it was skipped although this machine has what it needs")
	}
}

// mayBeSkipped reports whether the machine lacks something without which the case may be
// skipped.
func (o *outcome) mayBeSkipped() bool {
	switch {
	case strings.Contains(o.output, kubelets.ErrUnable.Error()):
		return kubelets.Unable() != nil
	case strings.Contains(o.output, evenkeel.ErrNoHistory.Error()):
		return true
	}
	return !prometheus.Installed()
}

// Command e2e runs the end-to-end cases of a tier: it compiles each package's
// test binary once and hands the cases to several lanes, each with its own
// control plane, because cases mostly wait. Package tiers lists what to run in
// which tier; a listed case that does not run is a failure, as is a case that
// is not listed. The control planes are of any release of Kubernetes that there
// are modules for; cases do not know of which.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

func main() { os.Exit(workshop.Main("e2e", command().ExecuteContext)) }

// options are the flags.
type options struct {
	tier, match, kubernetes string
	lanes                   int
	list                    bool
	record                  bool
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
	flags.BoolVar(&o.list, "list", false, "list the cases of the tier, with their subtests, and run none")
	flags.BoolVar(&o.record, "record", false, "write the times and subtests of what passed into tiers/cases.txt")
	return c
}

func run(ctx context.Context, o options, out io.Writer) error {
	release, err := cluster.ParseRelease(ctx, o.kubernetes)
	if err != nil {
		return fmt.Errorf("--kubernetes: %w", err)
	}
	if o.record && release != cluster.DefaultRelease {
		return fmt.Errorf("--record: the list has the times of Kubernetes %s, not of %s", cluster.DefaultRelease, release)
	}
	cases, err := tiers.Cases()
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
	w, err := build(ctx, release, tasks, out)
	if err != nil {
		return err
	}
	begin := time.Now()
	runAll(ctx, w, tasks, o, r)
	r.summarize(time.Since(begin))
	err = errors.Join(ctx.Err(), r.err(), r.write(w.summary()), os.RemoveAll(w.temp))
	if o.record {
		err = errors.Join(err, save(filepath.Join(w.module, "tiers", "cases.txt"), r.record(cases)))
	}
	return err
}

// choose returns the test functions of the tier that match, and those that the
// release leaves out.
func choose(cases []tiers.Case, o options) (tasks []*tiers.Task, left []tiers.CoreCase, err error) {
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
		tasks = tiers.Tasks(cases, tiers.Tier(o.tier))
	}
	tasks = slices.DeleteFunc(tasks, func(t *tiers.Task) bool { return !pattern.MatchString(t.Package + " " + t.Name) })
	left = slices.DeleteFunc(left, func(c tiers.CoreCase) bool { return !pattern.MatchString(c.Package + " " + c.Name) })
	if len(tasks) == 0 {
		return nil, nil, fmt.Errorf("no case of tier %q matches %q on Kubernetes %s", o.tier, o.match, o.kubernetes)
	}
	return tasks, left, nil
}

func show(tasks []*tiers.Task, out io.Writer) {
	for _, task := range tasks {
		for _, name := range append([]string{task.Name}, task.Subtests...) {
			fmt.Fprintln(out, task.Package, name)
		}
	}
}

// runAll runs the cases marked alone one by one, and the others in lanes.
func runAll(ctx context.Context, w workplace, tasks []*tiers.Task, o options, r *report) {
	apart := slices.Clone(tasks)
	apart = slices.DeleteFunc(apart, func(t *tiers.Task) bool { return !t.Alone })
	others := slices.DeleteFunc(slices.Clone(tasks), func(t *tiers.Task) bool { return t.Alone })
	drain(ctx, w, newQueue(apart), o, r)
	q := newQueue(others)
	var lanes errgroup.Group
	for range o.lanes {
		lanes.Go(func() error {
			drain(ctx, w, q, o, r)
			return nil
		})
	}
	_ = lanes.Wait() // a lane only has the errors of its cases
}

// drain is a lane: it runs cases of the queue until it is empty.
func drain(ctx context.Context, w workplace, q *queue, o options, r *report) {
	lane := runner{workplace: w}
	for with := ""; ctx.Err() == nil; {
		task := q.next(with)
		if task == nil {
			break
		}
		with = task.Package
		result := lane.run(ctx, task)
		if ctx.Err() != nil {
			break
		}
		result.compare(o)
		r.add(result)
	}
	if err := lane.close(); err != nil && ctx.Err() == nil {
		fmt.Fprintln(r.out, err)
	}
}

// compare compares what ran with the list, unless the list is being updated.
func (o *outcome) compare(with options) {
	if o.failed {
		return
	}
	if !with.record {
		if len(o.skipped) == 0 {
			o.problems = append(o.problems, o.task.Differences(o.ran)...)
		}
	}
	if len(o.skipped) > 0 && prometheus.Installed() && !strings.Contains(o.output, evenkeel.ErrNoHistory.Error()) {
		o.problems = append(o.problems, "it was skipped although there are a prometheus and the history that it needs")
	}
}

// save replaces the list.
func save(path string, cases []tiers.Case) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing the list of cases: %w", err)
	}
	return errors.Join(tiers.Write(file, cases), file.Close())
}

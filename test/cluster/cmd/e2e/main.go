// Command e2e runs the end-to-end cases of a tier: it compiles each package's
// test binary once and hands the cases to several lanes, each with its own
// control plane, because cases mostly wait. Package tiers lists what to run in
// which tier; a listed case that does not run is a failure, as is a case that
// is not listed.
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
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

func main() { os.Exit(workshop.Main("e2e", command().ExecuteContext)) }

// options are the flags.
type options struct {
	tier, match string
	lanes       int
	list        bool
	record      bool
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
	flags.StringVar(&o.tier, "tier", string(tiers.Test), "tier to run: test, all, or measure, whose cases assert nothing")
	flags.IntVar(&o.lanes, "lanes", 5, "number of cases to run at a time")
	flags.StringVar(&o.match, "run", "", "regular expression; only test functions whose package and name it matches are run")
	flags.BoolVar(&o.list, "list", false, "list the cases of the tier, with their subtests, and run none")
	flags.BoolVar(&o.record, "record", false, "write the times and subtests of what passed into tiers/cases.txt")
	return c
}

func run(ctx context.Context, o options, out io.Writer) error {
	cases, err := tiers.Cases()
	if err != nil {
		return err
	}
	tasks, err := choose(cases, o)
	if err != nil {
		return err
	}
	if o.list {
		show(tasks, out)
		return nil
	}
	if !prometheus.Installed() {
		fmt.Fprintln(out, "no prometheus on the PATH: its cases are left out")
	}
	w, err := build(ctx, tasks, out)
	if err != nil {
		return err
	}
	r := &report{out: out, total: len(tasks)}
	begin := time.Now()
	runAll(ctx, w, tasks, o, r)
	r.summarize(time.Since(begin))
	err = errors.Join(ctx.Err(), r.err(), r.write(filepath.Join(w.tests(), "summary.json")), os.RemoveAll(w.temp))
	if o.record {
		err = errors.Join(err, save(filepath.Join(w.module, "tiers", "cases.txt"), r.record(cases)))
	}
	return err
}

// choose returns the test functions of the tier that match.
func choose(cases []tiers.Case, o options) ([]*tiers.Task, error) {
	pattern, err := regexp.Compile(o.match)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	tasks := slices.DeleteFunc(tiers.Tasks(cases, tiers.Tier(o.tier)), func(t *tiers.Task) bool {
		return !pattern.MatchString(t.Package + " " + t.Name)
	})
	if len(tasks) == 0 {
		return nil, fmt.Errorf("no case of tier %q matches %q", o.tier, o.match)
	}
	return tasks, nil
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
	if len(o.skipped) > 0 && prometheus.Installed() {
		o.problems = append(o.problems, "it was skipped although there is a prometheus")
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

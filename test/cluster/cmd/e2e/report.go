package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

// report collects the outcomes. It reports each case when it ends, and all cases at the
// end.
type report struct {
	out     io.Writer
	release cluster.Release
	total   int
	// left holds the cases that the release excludes.
	left []tiers.CoreCase

	mu       sync.Mutex
	outcomes []outcome
}

// figures matches the figures that a case has measured, in its output.
var figures = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: (figures: .*)$`)

// add reports a case: with its full output if it failed, otherwise with its figures.
func (r *report) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, o)
	if !o.ok() {
		fmt.Fprintf(r.out, "\n%s\n", o.output)
		for _, problem := range o.problems {
			fmt.Fprintf(r.out, "%s %s: %s\n", o.task.Package, o.task.Name, problem)
		}
	}
	fmt.Fprintf(r.out, "%3d/%d %-4s %6.1fs %s %s\n", len(r.outcomes), r.total, o.word(), o.took.Seconds(), o.task.Package, o.task.Name)
	if o.ok() {
		for _, found := range figures.FindAllStringSubmatch(o.output, -1) {
			fmt.Fprintf(r.out, "        %s\n", found[1])
		}
	}
}

// word describes the outcome in a word.
func (o *outcome) word() string {
	switch {
	case !o.ok():
		return "FAIL"
	case len(o.skipped) > 0:
		return "skip"
	}
	return "ok"
}

// summarize prints the duration of each case, the longest first. It repeats what was
// skipped or failed and why, because CI shows the end of a long output.
func (r *report) summarize(took time.Duration) {
	slices.SortStableFunc(r.outcomes, func(a, b outcome) int { return cmp.Compare(b.took, a.took) })
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table)
	var sum time.Duration
	for i := range r.outcomes {
		o := &r.outcomes[i]
		sum += o.took
		fmt.Fprintf(table, "%s\t%.0fs\t%s\t%s\n", o.word(), o.took.Seconds(), o.task.Package, o.task.Name)
	}
	table.Flush()
	failed := 0
	for i := range r.outcomes {
		o := &r.outcomes[i]
		for _, name := range o.skipped {
			fmt.Fprintf(r.out, "skipped: %s %s: %s\n", o.task.Package, name, o.whySkipped(name))
		}
		if !o.ok() {
			failed++
			fmt.Fprintf(r.out, "FAILED: %s %s\n", o.task.Package, o.task.Name)
			for _, line := range o.complaints() {
				fmt.Fprintf(r.out, "    %s\n", line)
			}
		}
	}
	r.leftOut()
	fmt.Fprintf(r.out, "Kubernetes %s: %d cases, %d failed, in %.0f s; one after the other they take %.0f s\n",
		r.release, len(r.outcomes), failed, took.Seconds(), sum.Seconds())
}

// leftOut prints the cases that the release excludes, and why.
func (r *report) leftOut() {
	for _, c := range r.left {
		fmt.Fprintf(r.out, "left out on Kubernetes %s: %s %s: %s\n", r.release, c.Package, c.Name, c.Why)
	}
}

// err returns an error if cases failed or did not run.
func (r *report) err() error {
	failed := 0
	for i := range r.outcomes {
		if !r.outcomes[i].ok() {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed", failed, len(r.outcomes))
	}
	if len(r.outcomes) < r.total {
		return fmt.Errorf("%d of %d cases did not run", r.total-len(r.outcomes), r.total)
	}
	return nil
}

// record is a line of the summary.
type record struct {
	Package, Name string
	OK            bool
	Seconds       float64
}

// write writes all outcomes as JSON, a line per case.
func (r *report) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	defer file.Close()
	encoder := json.NewEncoder(file)
	for i := range r.outcomes {
		o := &r.outcomes[i]
		if err := encoder.Encode(record{o.task.Package, o.task.Name, o.ok(), o.took.Seconds()}); err != nil {
			return fmt.Errorf("writing the summary: %w", err)
		}
	}
	return nil
}

// lastRun returns the durations of the cases in the run that wrote the summary, in
// seconds, by package and name; empty if there was no run.
func lastRun(summary string) map[[2]string]float64 {
	took := map[[2]string]float64{}
	file, err := os.Open(summary)
	if err != nil {
		return took
	}
	defer file.Close()
	for lines := json.NewDecoder(file); ; {
		var r record
		if lines.Decode(&r) != nil {
			return took
		}
		took[[2]string{r.Package, r.Name}] = r.Seconds
	}
}

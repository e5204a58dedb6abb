package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/lane"
	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

// testFlags are passed to every test binary. Parallel subtests mostly wait. A case that
// hangs is ended and prints the stacks of its goroutines.
var testFlags = []string{"-test.v", "-test.parallel=4", "-test.timeout=25m"}

// runner is one lane. It runs one case at a time, on a control plane that it keeps for
// further cases of the same package.
type runner struct {
	workplace
	worker *lane.Worker
	with   string
}

// run runs a case.
func (r *runner) run(ctx context.Context, task tiers.Case) outcome {
	begin := time.Now()
	output, code, err := r.hand(ctx, task)
	result := outcome{task: task, took: time.Since(begin), output: string(output)}
	result.read()
	switch {
	case err != nil:
		result.problems = append(result.problems, err.Error())
	case code != 0 && !result.failed:
		result.problems = append(result.problems, "the test binary says that the case failed")
	}
	if !result.ok() {
		// A failed case may leave the control plane in any state.
		_ = r.close()
	}
	return result
}

// hand makes a test binary run the case. Binaries of packages whose cases share a control
// plane run many cases, all others only one.
func (r *runner) hand(ctx context.Context, task tiers.Case) (output []byte, code int, err error) {
	if !shares(task.Package) {
		return r.single(ctx, task)
	}
	if r.with != task.Package {
		_ = r.close() // how another package's control plane ends does not matter here
	}
	if r.worker == nil {
		if r.worker, err = lane.Start(ctx, r.binary(task), r.folder(task), r.binDir, r.temp, testFlags...); err != nil {
			return nil, 1, err
		}
		r.with = task.Package
	}
	return r.worker.Run(lane.Case{Run: task.Run()})
}

// shares reports whether a package's cases share a control plane, which is the case for
// packages that use package stage.
func shares(of string) bool { return of == "e2e" || strings.HasPrefix(of, "e2e/") }

func (r *runner) single(ctx context.Context, task tiers.Case) (output []byte, code int, err error) {
	if err := r.close(); err != nil {
		return nil, 1, err
	}
	arguments := append([]string{"-test.run=" + task.Run()}, testFlags...)
	command := exec.CommandContext(ctx, r.binary(task), arguments...)
	command.Dir, command.Env = r.folder(task), append(os.Environ(), "TMPDIR="+r.temp)
	output, err = command.CombinedOutput()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return output, exit.ExitCode(), nil
	}
	return output, 0, err
}

// close stops the test binary and its control plane.
func (r *runner) close() error {
	if r.worker == nil {
		return nil
	}
	worker := r.worker
	r.worker, r.with = nil, ""
	return worker.Close()
}

// outcome is the result of a case.
type outcome struct {
	task   tiers.Case
	took   time.Duration
	output string
	// ran, failed and skipped are taken from the output.
	ran, failed bool
	skipped     []string
	// problems holds the problems that the case itself did not report.
	problems []string
}

func (o *outcome) ok() bool { return !o.failed && len(o.problems) == 0 }

var verdict = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)

// read extracts from the output what ran and how it ended.
func (o *outcome) read() {
	for _, found := range verdict.FindAllStringSubmatch(o.output, -1) {
		o.ran = true
		switch found[1] {
		case "FAIL":
			o.failed = true
		case "SKIP":
			o.skipped = append(o.skipped, found[2])
		}
	}
}

// Limits for repeating the output of a failed case.
const (
	maxComplaints    = 30
	maxComplaintSize = 400 // bytes per line
)

// message matches output of Log, Error or Fatal: the source position, and the first line
// of the text.
var message = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: .*$`)

// whySkipped returns the reason that a skipped case printed just before it ended.
func (o *outcome) whySkipped(name string) string {
	reason := regexp.MustCompile(`(?m)^ +\w+\.go:\d+: (.*)\n *--- SKIP: ` + regexp.QuoteMeta(name) + ` `)
	if found := reason.FindStringSubmatch(o.output); found != nil {
		return found[1]
	}
	return "it gave no reason"
}

// complaints returns the problems and the last messages of the case, without the logs of
// its processes.
func (o *outcome) complaints() []string {
	lines := slices.Clone(o.problems)
	found := message.FindAllString(o.output, -1)
	for _, line := range found[max(0, len(found)-maxComplaints):] {
		line = strings.TrimSpace(line)
		lines = append(lines, line[:min(len(line), maxComplaintSize)])
	}
	return lines
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// maxTime limits the duration of a step.
const maxTime = 2 * time.Hour

// runner runs the suite, in the module's folder.
type runner struct {
	*options
	only     *regexp.Regexp
	raw      io.Writer // benchmark lines and the output around them
	progress io.Writer
}

// run builds everything and then measures all packages in each round, so that noise on
// the machine affects all of them equally. Commands run their own rounds.
func (r *runner) run(ctx context.Context) error {
	chosen := r.chosen()
	if len(chosen) == 0 {
		return fmt.Errorf("nothing to measure: --only is %q", r.options.only)
	}
	for _, e := range chosen {
		if err := r.build(ctx, e); err != nil {
			return fmt.Errorf("building what measures %s: %w", e.name, err)
		}
	}
	for round := range r.rounds {
		for _, e := range measure.Order(round, chosen) {
			if e.command != "" && round > 0 {
				continue
			}
			fmt.Fprintf(r.progress, "%s round %d of %d: %s\n", time.Now().Format(time.TimeOnly), round+1, r.rounds, e.name)
			if err := r.measureOne(ctx, e); err != nil {
				return fmt.Errorf("measuring %s: %w", e.name, err)
			}
		}
	}
	return nil
}

func (r *runner) chosen() (chosen []entry) {
	for _, e := range suite {
		if r.only.MatchString(e.name) && (!r.quick || e.quick != "") {
			chosen = append(chosen, e)
		}
	}
	return chosen
}

func (r *runner) build(ctx context.Context, e entry) error {
	if e.command == "" {
		return r.exec(ctx, "", r.progress, "go", "test", "-c", "-o", testBinary(e), "./"+e.pkg)
	}
	for _, line := range e.build {
		if err := r.exec(ctx, e.dir, r.progress, strings.Fields(line)...); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) measureOne(ctx context.Context, e entry) error {
	if e.command != "" {
		if _, err := fmt.Fprintf(r.raw, "pkg: %s/%s\n", measure.Module, e.pkg); err != nil {
			return err
		}
		line := strings.Fields(e.command)
		if e.rounds != "" {
			line = append(line, e.rounds, strconv.Itoa(r.rounds))
		}
		return r.exec(ctx, e.dir, r.raw, line...)
	}
	pattern := e.pattern
	if r.quick {
		pattern = e.quick
	}
	binary, err := filepath.Abs(testBinary(e))
	if err != nil {
		return fmt.Errorf("finding the test binary: %w", err)
	}
	return r.exec(ctx, e.pkg, r.raw, binary, "-test.run=^$", "-test.bench="+pattern, "-test.benchmem", "-test.benchtime="+r.benchTime, "-test.timeout=0")
}

func testBinary(e entry) string { return filepath.Join("bin", "benchmarks", e.name+".test") }

// exec runs a command line in a folder.
func (r *runner) exec(ctx context.Context, dir string, out io.Writer, line ...string) error {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, r.progress
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %q: %w", strings.Join(line, " "), err)
	}
	return nil
}

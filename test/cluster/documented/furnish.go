package documented

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Furnish puts a reader's files into an empty folder: the checkout's documents and
// manifests, the program in bin, and the reader's own files except those that the run
// writes. For commands that use a cluster, the given policy replaces policy.yaml and the
// examples, because with the defaults they would observe for minutes. Other commands use
// the checkout's files.
func Furnish(dir, root, binary string, policy []byte, run *Run) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("furnishing a folder: %w", err)
	}
	if run.offline() {
		if policy, err = os.ReadFile(filepath.Join(root, "policy.yaml")); err != nil {
			return fmt.Errorf("furnishing a folder: %w", err)
		}
	}
	errs := []error{os.Mkdir(filepath.Join(dir, "bin"), 0o700), os.WriteFile(filepath.Join(dir, "policy.yaml"), policy, 0o600)}
	for name, target := range map[string]string{
		"bin/evenkeel": binary, "bin/kubectl-evenkeel": binary,
		"deploy": filepath.Join(root, "deploy"), "docs": filepath.Join(root, "docs"),
	} {
		errs = append(errs, os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))))
	}
	if run.offline() {
		errs = append(errs, os.Symlink(filepath.Join(root, "examples"), filepath.Join(dir, "examples")))
	} else {
		errs = append(errs, writeExamples(filepath.Join(dir, "examples"), filepath.Join(root, "examples"), policy))
	}
	for name, source := range map[string]string{
		"day.evenkeel.gz":     "test/decisions/mixed.evenkeel.gz",
		"kube-scheduler.yaml": "deploy/kube-scheduler.yaml",
		"old.yaml":            "examples/migration/descheduler.before.yaml",
		"rule.yaml":           "examples/migration/dynamic-scheduler.before.yaml",
		"tighter.yaml":        "examples/minimal.yaml",
	} {
		if !run.writes(name) {
			errs = append(errs, copyFile(filepath.Join(dir, name), filepath.Join(root, filepath.FromSlash(source))))
		}
	}
	if err := errors.Join(append(errs, writeTrace(filepath.Join(dir, "day.cpu.csv.gz")))...); err != nil {
		return fmt.Errorf("furnishing a folder: %w", err)
	}
	return nil
}

// writeExamples writes the policy under the name of each example.
func writeExamples(dir, examples string, policy []byte) error {
	files, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	errs := []error{err, os.Mkdir(dir, 0o700)}
	for _, file := range files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, filepath.Base(file)), policy, 0o600))
	}
	return errors.Join(errs...)
}

func (r *Run) offline() bool {
	for _, p := range r.Pipelines {
		if !p.Offline() {
			return false
		}
	}
	return true
}

func (r *Run) writes(name string) bool {
	for _, p := range r.Pipelines {
		if p.Writes(name) {
			return true
		}
	}
	return false
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// The trace covers a day in steps of five minutes.
const (
	traceSeries = 40
	traceSteps  = 288
)

// writeTrace writes a trace in the format of docs/simulate.md: series with a
// daily wave, each with a different phase.
func writeTrace(path string) error {
	var b strings.Builder
	b.WriteString("id")
	for step := range traceSteps {
		fmt.Fprintf(&b, ",%d", step)
	}
	for series := range traceSeries {
		fmt.Fprintf(&b, "\nweb-%d", series)
		for step := range traceSteps {
			at := 2 * math.Pi * (float64(step)/traceSteps + float64(series)/traceSeries)
			fmt.Fprintf(&b, ",%.1f", 50+45*math.Sin(at))
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(file)
	_, err = io.WriteString(packed, b.String()+"\n")
	return errors.Join(err, packed.Close(), file.Close())
}

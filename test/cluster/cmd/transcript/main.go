// Command transcript follows the steps of a new user, on a local cluster with two hot
// nodes, and records the input, the output and the time taken. The steps are: build, see
// which nodes are hot, plan with metrics-server, plan with Prometheus, relieve the nodes.
// It fails if a step takes too long.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// flags are the command line.
type flags struct {
	out    string
	settle time.Duration
	keep   bool
}

func main() { os.Exit(workshop.Main("transcript", command().ExecuteContext)) }

func command() *cobra.Command {
	var f flags
	c := workshop.Command("transcript", "Write down what a new user types and sees on a local cluster, with times",
		func(ctx context.Context, out, progress io.Writer) error { return run(ctx, f, out, progress) })
	set := c.Flags()
	set.StringVar(&f.out, "out", "", "file to write; without it docs/transcript.md of this checkout")
	set.DurationVar(&f.settle, "settle", 9*time.Minute, "age of nodes and pods at the beginning: by the shipped defaults a node younger than 8m is not called hot")
	set.BoolVar(&f.keep, "keep", false, "keep the logs even if all went well")
	return c
}

func (f *flags) complete(root string) error {
	if f.settle < 0 {
		return fmt.Errorf("--settle: %v is negative", f.settle)
	}
	if f.out == "" {
		f.out = filepath.Join(root, "docs", "transcript.md")
	}
	return nil
}

func run(ctx context.Context, f flags, out, progress io.Writer) error {
	root, err := evenkeel.Root(ctx)
	if err != nil {
		return err
	}
	if err := f.complete(root); err != nil {
		return err
	}
	if !prometheus.Installed() {
		return errors.New("there is no prometheus on the PATH; .ci/run installs it")
	}
	v, err := open(ctx, root, out, progress)
	if err != nil {
		return err
	}
	written, err := v.play(ctx, f.settle)
	if err = errors.Join(err, v.Close()); err == nil {
		if err = os.WriteFile(f.out, []byte(written.markdown()), 0o644); err == nil {
			err = written.late()
		}
	}
	return v.CleanUp(err, f.keep)
}

// Command bench measures Evenkeel and prints one table: each figure next to its floor or
// rival, which is measured in the same run, and whether it meets its goal.
//
// Everything uses Go's benchmark format. suite.go lists the packages with benchmarks and
// the commands that measure whole processes; their output is saved in a file that
// benchstat can also read. rows.go lists the figures to show, what they are compared with
// and their goals. The benchmarks define what is measured, and how.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// errMissed is the error that --check returns.
var errMissed = errors.New("a goal is missed")

// options are the flags.
type options struct {
	quick, check bool
	rounds       int
	benchTime    string
	only         string
	from, save   string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM) //nolint:forbidigo // this is package main
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is package main
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o := options{}
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "Measure small sizes once and leave whole processes out.")
	flags.BoolVar(&o.check, "check", true, "Fail when a goal is missed.")
	flags.IntVar(&o.rounds, "rounds", 5, "How often everything is measured; figures are medians.")
	flags.StringVar(&o.benchTime, "benchtime", "1s", "How long each benchmark runs in a round.")
	flags.StringVar(&o.only, "only", "", "Measure only what matches this regular expression: names of the suite, such as extender.")
	flags.StringVar(&o.from, "from", "", "Measure nothing, and print the table of this saved run.")
	flags.StringVar(&o.save, "save", "bin/bench.txt", "Where the raw lines are kept, for --from and benchstat.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.quick {
		o.rounds, o.benchTime = 1, "200ms"
	}
	if o.from == "" {
		if err := o.measure(ctx, progress); err != nil {
			return err
		}
		o.from = o.save
	}
	return o.table(out)
}

// measure runs the suite and saves its lines.
func (o *options) measure(ctx context.Context, progress io.Writer) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	file, err := os.Create(o.save)
	if err != nil {
		return fmt.Errorf("creating the file of raw lines: %w", err)
	}
	r := &runner{options: o, only: only, raw: file, progress: progress}
	return errors.Join(r.run(ctx), file.Close())
}

// table prints the results of a saved run.
func (o *options) table(out io.Writer) error {
	file, err := os.Open(o.from)
	if err != nil {
		return fmt.Errorf("opening a saved run: %w", err)
	}
	defer file.Close()
	measured, err := measure.ParseLines(file)
	if err != nil {
		return fmt.Errorf("reading %q: %w", o.from, err)
	}
	missed, err := printTable(out, rows, measured)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe raw lines are in %s.\n", o.from)
	if missed > 0 && o.check {
		return fmt.Errorf("%w: %d of %d", errMissed, missed, len(rows))
	}
	return nil
}

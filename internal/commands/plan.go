package commands

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain/preview"
	"github.com/evenkeel/evenkeel/internal/terminal"
)

// PlanFormats are the values of -o for plan.
const PlanFormats = "table|wide|name|json|yaml"

// PlanOptions are the flags of `evenkeel plan` besides the common ones.
type PlanOptions struct {
	// Format is one of PlanFormats.
	Format string
	// ExitCode asks for exit code 1 if the plan has moves, and 2 for any error.
	ExitCode bool
	// Progress receives notes about slow steps.
	Progress io.Writer
}

// Plan is `evenkeel plan`: it observes, plans, prints and changes nothing.
func Plan(ctx context.Context, options app.Options, wanted PlanOptions, out io.Writer) error {
	moves, err := plan(ctx, options, wanted, out)
	switch {
	case !wanted.ExitCode:
		return err
	case err != nil:
		return exit.Trouble(err)
	case moves > 0:
		return exit.ErrDiffers
	}
	return nil
}

// unboundWidth is how wide a plan is printed where no terminal bounds it.
const unboundWidth = 100

// plan prints the plan and returns how many moves it has.
func plan(ctx context.Context, options app.Options, wanted PlanOptions, out io.Writer) (moves int, err error) {
	if err := validFormat(wanted.Format, PlanFormats); err != nil {
		return 0, err
	}
	style, err := terminal.StyleOf(out, "never", os.Getenv) // a plan has no colors
	if err != nil {
		return 0, err
	}
	facts, err := app.PlanOnce(ctx, options, wanted.Progress)
	if err != nil {
		return 0, err
	}
	report := preview.New(facts)
	return len(report.Moves), write(out, wanted.Format, report, func(out io.Writer) error {
		if wanted.Format == "name" {
			return report.Names(out)
		}
		return report.Print(out, cmp.Or(style.Width, unboundWidth), wanted.Format == "wide")
	})
}

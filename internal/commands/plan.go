package commands

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain/preview"
)

// PlanFormats are the values of -o for plan.
const PlanFormats = "table|wide|name|json|yaml"

// PlanOptions are the flags of `evenkeel plan` besides the common ones.
type PlanOptions struct {
	// Format is one of PlanFormats.
	Format string
	// ExitCode asks for exit code 1 if the plan has moves.
	ExitCode bool
	// Progress receives notes about slow steps.
	Progress io.Writer
}

// Plan is `evenkeel plan`: it observes, plans, prints and changes nothing.
func Plan(ctx context.Context, options app.Options, wanted PlanOptions, out io.Writer) error {
	if err := validFormat(wanted.Format, PlanFormats); err != nil {
		return err
	}
	facts, err := app.PlanOnce(ctx, options, wanted.Progress)
	if err != nil {
		return err
	}
	report := preview.New(facts)
	err = write(out, wanted.Format, report, func(out io.Writer) error {
		if wanted.Format == "name" {
			return report.Names(out)
		}
		return report.Print(out, planWidth(out), wanted.Format == "wide")
	})
	if err == nil && wanted.ExitCode && len(report.Moves) > 0 {
		return exit.ErrDiffers
	}
	return err
}

// unboundWidth is how wide a plan is printed where no terminal bounds it.
const unboundWidth = 100

// planWidth returns the width of the terminal that is written to, if it is one.
func planWidth(out io.Writer) int {
	if file, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return unboundWidth
}

package commands

import (
	"context"
	"io"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/text"
)

// PlanFormats are the values of -o for plan.
const PlanFormats = "table|wide|name|json|yaml"

// PlanOptions are the flags of `evenkeel plan` besides the common ones.
type PlanOptions struct {
	// Format is one of PlanFormats, Color one of terminal.ColorModes.
	Format, Color string
	// ExitCode selects exit code 1 if the plan has moves or evictions, and 2 for any error.
	ExitCode bool
	// Progress receives notes about slow steps.
	Progress io.Writer
}

// Plan runs `evenkeel plan`: it observes, plans, prints the plan and changes nothing.
func Plan(ctx context.Context, options flags.Options, wanted PlanOptions, out io.Writer) error {
	evicted, err := plan(ctx, options, wanted, out)
	switch {
	case !wanted.ExitCode:
		return err
	case err != nil:
		return exit.Trouble(err)
	case evicted > 0:
		return exit.ErrDiffers
	}
	return nil
}

// plan prints the plan and returns the number of pods that it evicts.
func plan(ctx context.Context, options flags.Options, wanted PlanOptions, out io.Writer) (evicted int, err error) {
	if err := output.Check(out, wanted.Format, PlanFormats, wanted.Color); err != nil {
		return 0, err
	}
	facts, err := planOnce(ctx, options, wanted.Progress)
	if err != nil {
		return 0, err
	}
	plan := status.NewPlan(facts)
	write := text.Plan
	if wanted.Format == "name" {
		write = text.PlanNames
	}
	return plan.Summary.Moves + plan.Summary.Evictions - plan.Summary.DryRun, output.Show(out, wanted.Format, wanted.Color, plan, func(p *layout.Page) { write(p, plan) })
}

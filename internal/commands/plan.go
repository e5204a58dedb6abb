package commands

import (
	"context"
	"io"

	"github.com/evenkeel/evenkeel/internal/app"
)

// Plan is `evenkeel plan`: it observes, plans, prints and changes nothing.
func Plan(ctx context.Context, options app.Options, format string, out, progress io.Writer) error {
	if err := ValidFormat(format); err != nil {
		return err
	}
	made, err := app.PlanOnce(ctx, options, progress)
	if err != nil || made == nil {
		return err
	}
	report := planReport(*made)
	return write(out, format, report, report.table)
}

package commands

import (
	"context"
	"io"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain"

	"github.com/evenkeel/evenkeel/internal/app"
)

// ExplainOptions are the flags of `evenkeel explain` beside the common ones.
type ExplainOptions struct {
	// Format is one of Formats.
	Format string
	// ExtenderURL is a running process to ask; empty: this one observes and plans itself.
	ExtenderURL string
	// Progress is told what takes time.
	Progress io.Writer
}

// Explain is `evenkeel explain node NAME` and `evenkeel explain pod NAMESPACE/NAME`: it says why, and changes nothing.
func Explain(ctx context.Context, options app.Options, wanted ExplainOptions, words []string, out io.Writer) error {
	if err := ValidFormat(wanted.Format); err != nil {
		return err
	}
	s, err := explain.ParseSubject(words)
	if err != nil {
		return exit.Usage(err)
	}
	var told explain.Explanation
	if wanted.ExtenderURL != "" {
		told, err = askToExplain(ctx, wanted.ExtenderURL, s)
	} else if planned, failed := app.ExplainOnce(ctx, options, wanted.Progress, s); failed != nil {
		return failed
	} else {
		told, err = s.Explain(planned)
	}
	if err != nil {
		return err
	}
	return write(out, wanted.Format, told, told.Table)
}

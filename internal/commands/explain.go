package commands

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/status/text"
)

// ExplainFormats are the values of -o for explain.
const ExplainFormats = "table|wide|json|yaml"

// ExplainOptions are the flags of `evenkeel explain` besides the common ones.
type ExplainOptions struct {
	// Format is one of ExplainFormats, Color one of terminal.ColorModes.
	Format, Color string
	// Extender is a running process to ask. If its URL is empty, this process
	// observes and plans.
	Extender remote.Extender
	// Progress receives notes about slow steps.
	Progress io.Writer
}

// Explain runs `evenkeel explain node NAME` and `evenkeel explain pod NAMESPACE/NAME`. It
// changes nothing.
func Explain(ctx context.Context, options flags.Options, wanted ExplainOptions, words []string, out io.Writer) error {
	if err := output.Check(out, wanted.Format, ExplainFormats, wanted.Color); err != nil {
		return err
	}
	s, err := status.ParseSubject(words)
	if err != nil {
		return exit.Usage(err)
	}
	if wanted.Extender.URL != "" {
		if err := wanted.Extender.Validate(); err != nil {
			return exit.Usagef("--extender-url: %w", err)
		}
	}
	var explanation status.Explanation
	if wanted.Extender.URL != "" {
		explanation, err = askToExplain(ctx, &wanted.Extender, s)
	} else if planned, failed := explainOnce(ctx, options, wanted.Progress, s); failed != nil {
		return failed
	} else {
		explanation, err = s.Explain(planned)
	}
	if err != nil {
		return err
	}
	return output.Show(out, wanted.Format, wanted.Color, explanation, func(p *layout.Page) { text.Explanation(p, explanation) })
}

// maxExplanationBytes is the maximum size of an explanation from another process. With
// 5000 nodes, it takes about one MiB.
const maxExplanationBytes = 32 << 20

// askToExplain asks a running process for the explanation.
func askToExplain(ctx context.Context, of *remote.Extender, s status.Subject) (status.Explanation, error) {
	address, err := of.Address()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*live.Timeout)
	defer cancel()
	explanation := s.Unexplained()
	address = address.JoinPath("explain", s.Kind, url.PathEscape(s.Namespace), url.PathEscape(s.Name))
	if err := of.Ask(ctx, address, maxExplanationBytes, explanation); err != nil {
		return nil, fmt.Errorf("asking for an explanation: %w", err)
	}
	return explanation, nil
}

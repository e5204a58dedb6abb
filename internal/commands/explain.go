package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/internal/explain/desk"
)

// ExplainOptions are the flags of `evenkeel explain` beside the common ones.
type ExplainOptions struct {
	// Format is one of Formats.
	Format string
	// ExtenderURL is a running process to ask; empty: this one observes and
	// plans itself.
	ExtenderURL string
	// Progress is told what takes time.
	Progress io.Writer
}

// Explain is `evenkeel explain node NAME` and `evenkeel explain pod
// NAMESPACE/NAME`: it says why, and changes nothing.
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

// maxExplanationBytes bounds an explanation that another process gives: of 5000
// nodes it is about one MiB.
const maxExplanationBytes = 32 << 20

// askToExplain has a running process explain.
func askToExplain(ctx context.Context, base string, s explain.Subject) (explain.Explanation, error) {
	address, err := url.Parse(base)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, exit.Usagef("--extender-url: it is not a URL that begins with http:// or https:// and names a host")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*desk.Timeout)
	defer cancel()
	path := []string{"explain", s.Kind, url.PathEscape(s.Name)}
	if s.Kind == explain.KindPod {
		path = []string{"explain", s.Kind, url.PathEscape(s.Namespace), url.PathEscape(s.Name)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.JoinPath(path...).String(), nil)
	if err != nil {
		return nil, errors.New("asking for an explanation: the address is not a URL")
	}
	response, err := http.DefaultClient.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it would repeat the address
	}
	if err != nil {
		return nil, fmt.Errorf("asking %s for an explanation: %w", address.Redacted(), err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, refusedToExplain(response)
	}
	return s.Decode(io.LimitReader(response.Body, maxExplanationBytes))
}

// refusedToExplain says why no explanation came: the first bytes of the answer
// say it in one line.
func refusedToExplain(response *http.Response) error {
	why, _ := io.ReadAll(io.LimitReader(response.Body, 400))
	return fmt.Errorf("asking for an explanation: %s: %s", response.Status, strings.Join(strings.Fields(string(why)), " "))
}

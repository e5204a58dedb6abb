package fanout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxDrain is the maximum number of unread bytes of a body that are drained so that the
// connection can be reused.
const maxDrain = 4 << 10

// ask sends one request, and its fallback if the request is refused.
func (f *Fanout) ask(ctx context.Context, request Request, read func(fallback bool, body io.Reader) error) error {
	late := fmt.Errorf("no answer within %v: %w", f.config.Timeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, f.config.Timeout, late)
	defer cancel()
	err := f.get(ctx, request.URL, func(body io.Reader) error { return read(false, body) })
	if request.Fallback == "" || !refused(err) {
		return err
	}
	second := f.get(ctx, request.Fallback, func(body io.Reader) error { return read(true, body) })
	if second != nil {
		return fmt.Errorf("%w; fallback: %w", err, second)
	}
	return nil
}

// refused reports whether the node answered but does not serve or does not
// allow the request.
func refused(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	return ok && (status.Code == http.StatusForbidden || status.Code == http.StatusNotFound)
}

func (f *Fanout) get(ctx context.Context, address string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	if f.config.Accept != "" {
		request.Header.Set("Accept", f.config.Accept)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // nothing was written
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, saidBytes)) // a partial body is enough
		return &StatusError{Code: response.StatusCode, Said: line(string(said))}
	}
	body := &watched{Reader: http.MaxBytesReader(nil, response.Body, f.config.MaxResponseBytes)}
	err = read(body)
	tooLarge, long := errors.AsType[*http.MaxBytesError](body.broken)
	switch {
	case ctx.Err() != nil:
		// The answer is rejected even if it seems complete, because a server that notices the hang-up may still end a
		// partial answer properly.
		return context.Cause(ctx)
	case long:
		return &ReadError{Err: fmt.Errorf("the answer is longer than %d bytes", tooLarge.Limit)}
	case body.broken != nil:
		return fmt.Errorf("the answer was cut off: %w", body.broken)
	case err != nil:
		return &ReadError{Err: err}
	}
	_, _ = io.CopyN(io.Discard, body, maxDrain) // at worst the connection is not reused
	return nil
}

// causeOf returns why an exchange failed: the context's cause if it ended,
// otherwise the error without the URL.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// watched is a body that remembers its read error.
type watched struct {
	io.Reader
	broken error
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.broken = err
	}
	return n, err
}

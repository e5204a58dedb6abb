package evictor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// RemoteExtender is an extender in a separate process, reached by HTTP.
type RemoteExtender struct{ URL string }

// RemoteStatus is the part of an extender's status that the evictor uses.
type RemoteStatus struct {
	// Asked counts kube-scheduler's requests. PodAsked reports whether one of
	// them was about the given pod.
	Asked    int64 `json:"asked"`
	PodAsked bool  `json:"podAsked"`
	Ledger   struct {
		// Generation is that of the newest stored ledger that it has read.
		Generation int64 `json:"generation"`
	} `json:"ledger"`
}

const (
	// remoteTimeout bounds a request to a separate extender.
	remoteTimeout = 5 * time.Second
	// maxStatusBytes bounds its answer.
	maxStatusBytes = 1 << 20
)

// Status reads the extender's status, including what it knows about one pod.
func (r *RemoteExtender) Status(ctx context.Context, podUID string) (status RemoteStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	address, err := ParseExtenderURL(r.URL)
	if err != nil {
		return status, fmt.Errorf("asking the extender at %q: %w", r.URL, err)
	}
	address = address.JoinPath("status")
	address.RawQuery = url.Values{"pod": {podUID}}.Encode()
	err = AskExtender(ctx, address, maxStatusBytes, &status)
	return status, err
}

// ParseExtenderURL reads the address of an extender.
func ParseExtenderURL(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, errors.New("it is not a URL that begins with http:// or https:// and names a host")
	}
	return address, nil
}

// maxRefusalBytes is how much of an error response is reported.
const maxRefusalBytes = 400

// AskExtender decodes an extender's JSON response into a value. It reads at
// most maxBytes; the caller bounds the time.
func AskExtender(ctx context.Context, address *url.URL, maxBytes int64, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return fmt.Errorf("asking %s: the address is not a URL", address.Redacted())
	}
	response, err := http.DefaultClient.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it would repeat the address
	}
	if err != nil {
		return fmt.Errorf("asking %s: %w", address.Redacted(), err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusalBytes))
		return fmt.Errorf("asking %s: %s: %s", address.Redacted(), response.Status, strings.Join(strings.Fields(string(why)), " "))
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBytes)).Decode(into); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", address.Redacted(), err)
	}
	return nil
}

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/evenkeel/evenkeel/internal/doctor"
)

const (
	extenderTimeout = 5 * time.Second
	maxStatusBytes  = 4 << 20
)

// status is what is read of an extender's GET /status.
type status struct {
	Started    string `json:"started"`
	Asked      *int64 `json:"asked"`
	LastAsked  string `json:"lastAsked"`
	GateDetail string `json:"gateDetail"`
	Gate       string `json:"gate"`
	// Shadow is there where it answers neutrally, and counts what it was asked
	// all the same.
	Shadow *struct {
		Asked     int64  `json:"asked"`
		LastAsked string `json:"lastAsked"`
	} `json:"shadow"`
}

// Extender asks the extender at a base URL about itself. Why it could not is
// told in what is returned.
func Extender(ctx context.Context, client *http.Client, base string) doctor.Extender {
	e := doctor.Extender{URL: base}
	address, err := url.Parse(base)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		e.URL, e.Err = "--extender-url", errors.New("it is not a URL that begins with http:// or https:// and names a host")
		return e
	}
	e.URL = address.Redacted()
	answer, err := askStatus(ctx, client, address.JoinPath("status").String())
	if err != nil {
		e.Err = err
		return e
	}
	if answer.Asked == nil {
		e.Err = errors.New("what answers there is no extender of Evenkeel's: its /status does not say how often it was asked")
		return e
	}
	e.Asked, e.Gate = *answer.Asked, answer.GateDetail
	if e.Gate == "" {
		e.Gate = answer.Gate
	}
	e.Started, e.LastAsked = moment(answer.Started), moment(answer.LastAsked)
	if shadow := answer.Shadow; shadow != nil {
		e.Observes, e.Asked, e.LastAsked = true, shadow.Asked, moment(shadow.LastAsked)
	}
	return e
}

func askStatus(ctx context.Context, client *http.Client, address string) (answer status, err error) {
	ctx, cancel := context.WithTimeout(ctx, extenderTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return status{}, errors.New("making the request: the address is not a URL")
	}
	response, err := client.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it would repeat the address
	}
	if err != nil {
		return status{}, fmt.Errorf("asking for /status: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return status{}, fmt.Errorf("asking for /status: %s", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxStatusBytes)).Decode(&answer); err != nil {
		return status{}, fmt.Errorf("reading /status: %w", err)
	}
	return answer, nil
}

// moment reads a time; zero where there is none.
func moment(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status/doctor"
)

const (
	extenderTimeout = 5 * time.Second
	maxStatusBytes  = 4 << 20
)

// status is the part of an extender's GET /status that is read.
type status struct {
	Started    string `json:"started"`
	Asked      *int64 `json:"asked"`
	LastAsked  string `json:"lastAsked"`
	GateDetail string `json:"gateDetail"`
	Gate       string `json:"gate"`
}

// Extender asks an extender for its status. If it cannot, the result explains why.
func Extender(ctx context.Context, of *remote.Extender) doctor.Extender {
	address, err := of.Address()
	if err != nil {
		return doctor.Extender{URL: "--extender-url", Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, extenderTimeout)
	defer cancel()
	e, answer := doctor.Extender{URL: address.Redacted()}, status{}
	switch err := of.Ask(ctx, address.JoinPath("status"), maxStatusBytes, &answer); {
	case err != nil:
		e.Err = fmt.Errorf("reading /status: %w", err)
		return e
	case answer.Asked == nil:
		e.Err = errors.New("the server is not an extender of Evenkeel's: its /status has no request count")
		return e
	}
	e.Asked, e.Gate = *answer.Asked, cmp.Or(answer.GateDetail, answer.Gate)
	e.Started, e.LastAsked = moment(answer.Started), moment(answer.LastAsked)
	return e
}

// moment parses a time. It returns the zero time if text is not a time.
func moment(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

package evictor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// RemoteExtender is an extender in a process of its own, asked by HTTP.
type RemoteExtender struct{ URL string }

// RemoteStatus is what of an extender's status evicting goes by.
type RemoteStatus struct {
	// Asked counts the requests of kube-scheduler, PodAsked reports whether it
	// asked about the given pod.
	Asked    int64 `json:"asked"`
	PodAsked bool  `json:"podAsked"`
	Ledger   struct {
		// Generation is that of the newest stored ledger it has read.
		Generation int64 `json:"generation"`
	} `json:"ledger"`
}

const (
	// remoteTimeout bounds the question to a separate extender.
	remoteTimeout = 5 * time.Second
	// maxStatusBytes bounds its answer.
	maxStatusBytes = 1 << 20
)

// Status reads the extender's status, with what it knows about one pod.
func (r *RemoteExtender) Status(ctx context.Context, podUID string) (status RemoteStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	address := strings.TrimSuffix(r.URL, "/") + "/status?pod=" + url.QueryEscape(podUID)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return status, fmt.Errorf("asking the extender: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return status, fmt.Errorf("asking the extender: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return status, fmt.Errorf("asking the extender: %s", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxStatusBytes)).Decode(&status); err != nil {
		return status, fmt.Errorf("reading the extender's status: %w", err)
	}
	return status, nil
}

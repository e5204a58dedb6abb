package serve

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// maxStreams is the maximum number of clients.
	maxStreams = 16
	// lookEvery is the interval at which the stream checks for changes.
	lookEvery = 250 * time.Millisecond
	// movesEvery is the minimum interval between two events about moves.
	movesEvery = time.Second
	// writeWithin bounds each write to a client.
	writeWithin = 5 * time.Second
	// silentFor is the maximum time without a write. Only writing detects clients that have disconnected.
	silentFor = 15 * time.Second
)

// stream uses server-sent events to notify clients of each observation and of changes in
// moves, kill switch or holds. Events carry no content; clients then request the page.
type stream struct {
	reports *Reports
	// stop is closed when the process stops serving.
	stop    <-chan struct{}
	clients atomic.Int32
}

// ServeHTTP implements http.Handler.
func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.clients.Add(1) > maxStreams {
		s.clients.Add(-1)
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d clients already follow this process", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer s.clients.Add(-1)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodHead {
		return
	}
	told := &teller{to: http.NewResponseController(w), w: w, observed: s.reports.Observer.Latest(), known: s.state()}
	if told.write(": following\n\n") != nil {
		return
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.stop:
			return
		case <-ticker.C:
		}
		if told.news(s.reports.Observer.Latest(), s.state()) != nil {
			return
		}
	}
}

// streamed is the state of whose changes clients are notified, in addition to
// observations.
type streamed struct {
	revision int64
	paused   reasons.Reason
}

func (s *stream) state() streamed {
	now := streamed{revision: s.reports.Observer.Ledger().Revision()}
	if s.reports.Authority != nil {
		now.paused = s.reports.Authority.Pause().Reason
	}
	return now
}

// teller notifies one client.
type teller struct {
	to *http.ResponseController
	w  http.ResponseWriter
	// observed and known are the state of which the client was last notified. written is
	// the time of the last write.
	observed *observer.Observation
	known    streamed
	written  time.Time
}

// news notifies the client of changes.
func (t *teller) news(latest *observer.Observation, now streamed) error {
	since := time.Since(t.written)
	switch {
	case latest != t.observed:
		t.observed, t.known = latest, now
		return t.write("event: observation\ndata: " + latest.At.UTC().Format(time.RFC3339) + "\n\n")
	case now != t.known && since >= movesEvery:
		t.known = now
		return t.write(fmt.Sprintf("event: moves\ndata: %d\n\n", now.revision))
	case since >= silentFor:
		return t.write(": nothing new\n\n")
	}
	return nil
}

// write writes an event. It returns an error if the client does not read the event in
// time.
func (t *teller) write(event string) error {
	t.written = time.Now()
	if err := t.to.SetWriteDeadline(t.written.Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("bounding a write: %w", err)
	}
	if _, err := t.w.Write([]byte(event)); err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}
	if err := t.to.Flush(); err != nil {
		return fmt.Errorf("sending an event: %w", err)
	}
	return nil
}

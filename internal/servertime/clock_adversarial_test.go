package servertime

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Responses without the API server's time do not change the clock and are passed on unchanged.
func TestResponsesWithoutATime(t *testing.T) {
	date := func(value string) func(http.Header) {
		return func(h http.Header) { h["Date"] = []string{value} }
	}
	cases := map[string]struct {
		spoil  func(http.Header)
		status int
	}{
		"no Date":                        {spoil: func(h http.Header) { delete(h, "Date") }},
		"an empty Date":                  {spoil: date("")},
		"no value":                       {spoil: func(h http.Header) { h["Date"] = nil }},
		"garbage":                        {spoil: date("yesterday, \x00\xff")},
		"a number":                       {spoil: date("1772366400")},
		"RFC 3339":                       {spoil: date("2026-03-01T13:00:00Z")},
		"the year nought":                {spoil: date("Sat, 01 Jan 0000 00:00:00 GMT")},
		"the year 9999":                  {spoil: date("Fri, 31 Dec 9999 23:59:59 GMT")},
		"1970":                           {spoil: date("Thu, 01 Jan 1970 00:00:00 GMT")},
		"a proxy that finds no server":   {status: http.StatusBadGateway},
		"a proxy that knows it is stale": {spoil: func(h http.Header) { h.Set("Age", "3600") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWire(time.Hour)
			w.spoil, w.status = tc.spoil, tc.status
			clock := New(w.now)
			w.ask(t, clock, 10)
			if clock.Skew() != 0 || clock.Known() || len(clock.answers) != 0 {
				t.Errorf("corrected by %v, known: %v, %d answers remembered", clock.Skew(), clock.Known(), len(clock.answers))
			}
		})
	}
}

// Odd answers neither correct a clock nor undo a correction, whether they come alone, two in a row
// or every other time.
func TestOddAnswers(t *testing.T) {
	cases := map[string]struct {
		truth time.Duration
		odd   func(n int) bool
	}{
		"one to a right clock":               {0, func(n int) bool { return n == 10 }},
		"two in a row":                       {0, func(n int) bool { return n == 10 || n == 11 }},
		"every other":                        {0, func(n int) bool { return n > 5 && n%2 == 0 }},
		"one to a corrected clock":           {time.Minute, func(n int) bool { return n == 10 }},
		"two in three to a corrected clock":  {time.Minute, func(n int) bool { return n > 5 && n%3 != 0 }},
		"before anything else":               {time.Minute, func(n int) bool { return n < 2 }},
		"the last one, to a corrected clock": {time.Minute, func(n int) bool { return n == 39 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWire(tc.truth)
			clock := New(w.now)
			for n := range 40 {
				w.skew = tc.truth
				if tc.odd(n) {
					w.skew -= time.Hour
				}
				w.ask(t, clock, 1)
				if clock.Known() && (clock.Skew()-tc.truth).Abs() > time.Second {
					t.Fatalf("after answer %d: corrected by %v, want %v", n, clock.Skew(), tc.truth)
				}
			}
			if !clock.Known() {
				t.Error("nothing was learnt")
			}
		})
	}
}

// If a server's time goes back, as with another server behind the address, the clock follows once
// that persists.
func TestServerGoesBack(t *testing.T) {
	w := newWire(time.Hour)
	clock := New(w.now)
	w.ask(t, clock, 10)
	w.skew = -time.Hour
	w.ask(t, clock, 2)
	if off := (clock.Skew() - time.Hour).Abs(); off > time.Second {
		t.Errorf("after two answers: corrected by %v", clock.Skew())
	}
	w.ask(t, clock, 1)
	if off := w.off(clock); off > time.Second {
		t.Errorf("after three answers: off by %v", off)
	}
}

// If the local clock is set, in either direction and by any amount, it is corrected after three
// answers.
func TestLocalClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour, 300 * 24 * time.Hour, -300 * 24 * time.Hour, 10 * time.Second, -10 * time.Second} {
		t.Run(by.String(), func(t *testing.T) {
			w := newWire(0)
			clock := New(w.now)
			w.ask(t, clock, 30)
			w.local, w.skew = w.local.Add(by), -by
			w.ask(t, clock, Quorum)
			if off := w.off(clock); off > time.Second {
				t.Errorf("off by %v", off)
			}
		})
	}
}

// If the local clock is set back while an answer is in transit, the answer seems to arrive before
// it was requested.
func TestAnswerBeforeItsRequest(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if heard, ok := hear(noon, noon, noon.Add(-time.Minute)); ok {
		t.Errorf("the clock learned %v", heard)
	}
}

func TestRequestFails(t *testing.T) {
	down := errors.New("down")
	clock := New(time.Now)
	failing := clock.Wrap(roundTripper(func(*http.Request) (*http.Response, error) { return nil, down }))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://api/", nil)
	if response, err := failing.RoundTrip(request); !errors.Is(err, down) || response != nil { //nolint:bodyclose // there is no response
		t.Errorf("got %v, %v, want the error of the transport below", response, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Many requests run concurrently, some with odd answers, while other goroutines read the time.
func TestParallelAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("n") {
		case "7", "23":
			w.Header()["Date"] = nil
		case "31":
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		}
	}))
	defer server.Close()
	clock := New(func() time.Time { return time.Now().Add(10 * time.Minute) })
	client := &http.Client{Transport: clock.Wrap(http.DefaultTransport)}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for n := range 10 {
				get(t, client, fmt.Sprintf("%s/?n=%d", server.URL, 10*worker+n))
				_ = clock.Now()
				_ = clock.Known()
			}
		})
	}
	wait.Wait()
	if off := time.Until(clock.Now()).Abs(); off > Tolerance {
		t.Errorf("off by %v", off)
	}
	if len(clock.answers) > maxAnswers {
		t.Errorf("%d answers remembered", len(clock.answers))
	}
}

package servertime

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// wire is a machine whose clock is off, with a connection to a server whose clock is right.
type wire struct {
	local time.Time
	skew  time.Duration // the server's time minus the local time
	// up and down are how long a request and its answer take in transit.
	up, down time.Duration
	// spoil, if set, changes a response's headers. status, if set, is the response's status.
	spoil  func(http.Header)
	status int
}

func newWire(skew time.Duration) *wire {
	return &wire{local: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), skew: skew, up: 2 * time.Millisecond, down: 2 * time.Millisecond}
}

func (w *wire) now() time.Time { return w.local }

func (w *wire) RoundTrip(*http.Request) (*http.Response, error) {
	w.local = w.local.Add(w.up)
	date := w.local.Add(w.skew).UTC().Format(http.TimeFormat)
	w.local = w.local.Add(w.down)
	header := http.Header{"Date": {date}}
	if w.spoil != nil {
		w.spoil(header)
	}
	return &http.Response{StatusCode: cmp.Or(w.status, http.StatusOK), Header: header, Body: http.NoBody}, nil
}

// ask makes n requests, slightly more than a second apart.
func (w *wire) ask(t *testing.T, clock *Clock, n int) {
	t.Helper()
	for range n {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://api/version", nil)
		response, err := clock.Wrap(w).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		w.local = w.local.Add(1370 * time.Millisecond)
	}
}

// off returns a clock's difference from the server's.
func (w *wire) off(clock *Clock) time.Duration { return clock.Now().Sub(w.local.Add(w.skew)).Abs() }

// A clock that is off by more than the tolerance is corrected to well below it. Any other clock is
// left unchanged.
func TestCorrects(t *testing.T) {
	cases := map[string]struct {
		skew     time.Duration
		up, down time.Duration
		want     bool
	}{
		"right":                             {},
		"a second behind":                   {skew: time.Second},
		"two seconds ahead":                 {skew: -2 * time.Second},
		"three seconds behind":              {skew: 3 * time.Second, want: true},
		"three seconds ahead":               {skew: -3 * time.Second, want: true},
		"ten minutes behind":                {skew: 10 * time.Minute, want: true},
		"ten minutes ahead":                 {skew: -10 * time.Minute, want: true},
		"a time zone ahead":                 {skew: -8 * time.Hour, want: true},
		"right, and slow to be answered":    {down: 4900 * time.Millisecond},
		"right, and slow to be asked":       {up: 4900 * time.Millisecond},
		"far off, and slow to be answered":  {skew: time.Minute, down: 3 * time.Second, want: true},
		"far off, and too slow to be heard": {skew: time.Minute, down: 5100 * time.Millisecond},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWire(tc.skew)
			w.up, w.down = w.up+tc.up, w.down+tc.down
			clock := New(w.now)
			w.ask(t, clock, 20)
			if got := clock.Skew() != 0; got != tc.want {
				t.Fatalf("corrected by %v, want a correction: %v", clock.Skew(), tc.want)
			}
			if off := w.off(clock); tc.want && off > time.Second+(tc.up+tc.down)/2 {
				t.Errorf("still off by %v", off)
			}
			if tc.want && (clock.Now().Sub(w.local) != clock.Skew() || clock.Local() != w.local) {
				t.Errorf("now %v, local %v, skew %v do not add up", clock.Now(), clock.Local(), clock.Skew())
			}
		})
	}
}

// Three answers are enough for a correction, but two are not.
func TestQuorum(t *testing.T) {
	w := newWire(time.Minute)
	clock := New(w.now)
	for n, want := range []bool{false, false, true, true} {
		w.ask(t, clock, 1)
		if got := clock.Skew() != 0; got != want || clock.Known() != want {
			t.Errorf("after %d answers: corrected %v, known %v, want both %v", n+1, got, clock.Known(), want)
		}
	}
}

// A correction is kept if it is wrong by less than the tolerance, and otherwise adjusted. It is
// removed once the local clock is right. Each change is logged, and nothing else is.
func TestFollowsTheClock(t *testing.T) {
	w, log := newWire(time.Minute), new(bytes.Buffer)
	clock := New(w.now)
	registry := prometheus.NewPedanticRegistry()
	clock.Export(registry)
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
	ask := func(n int) {
		for range n {
			request := httptest.NewRequestWithContext(klog.NewContext(t.Context(), logger), http.MethodGet, "https://api/", nil)
			if _, err := clock.Wrap(w).RoundTrip(request); err != nil { //nolint:bodyclose // there is no response
				t.Fatal(err)
			}
			w.local = w.local.Add(1370 * time.Millisecond)
		}
	}
	steps := []struct {
		skew    time.Duration
		changes bool
		want    string
	}{
		{time.Minute, true, `Clock differs from the API server's and is corrected`},
		{time.Minute + time.Second, false, ""},
		{time.Minute - time.Second, false, ""},
		{2 * time.Minute, true, `Clock differs from the API server's and is corrected`},
		{0, true, `Clock agrees with the API server's again`},
		{time.Second, false, ""},
	}
	for _, step := range steps {
		before := clock.Skew()
		w.skew = step.skew
		log.Reset()
		ask(2 * maxAnswers)
		if got := clock.Skew() != before; got != step.changes {
			t.Errorf("at %v: corrected by %v after %v, want a change: %v", step.skew, clock.Skew(), before, step.changes)
		}
		if lines := strings.Count(log.String(), "\n"); lines != strings.Count(step.want, "Clock") || !strings.Contains(log.String(), step.want) {
			t.Errorf("at %v: logged %q, want %q once", step.skew, log, step.want)
		}
		if off := w.off(clock); off > Tolerance+dateUnit/2 {
			t.Errorf("at %v: off by %v", step.skew, off)
		}
	}
	if n := testutil.CollectAndCount(registry, "evenkeel_clock_skew_seconds"); n != 1 {
		t.Errorf("%d metrics, want 1", n)
	}
}

func TestMetric(t *testing.T) {
	w := newWire(-time.Hour)
	clock, registry := New(w.now), prometheus.NewPedanticRegistry()
	clock.Export(nil)
	clock.Export(registry)
	for _, want := range []float64{0, -3600} {
		gathered, err := registry.Gather()
		if err != nil || len(gathered) != 1 {
			t.Fatalf("gathered %v, %v", gathered, err)
		}
		if got := gathered[0].GetMetric()[0].GetGauge().GetValue(); math.Abs(got-want) > 0.5 {
			t.Errorf("the metric is %v, want %v", got, want)
		}
		w.ask(t, clock, maxAnswers)
	}
}

// The skew always lies in the range on which honest answers agree, whatever the delays and phases.
// After a few answers, that range is narrower than a second.
func TestAgreementHoldsTheSkew(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		w := newWire(time.Duration(rng.Int64N(int64(2*time.Hour))) - time.Hour)
		var heard answers
		for range 2 * maxAnswers {
			w.up, w.down = time.Duration(rng.Int64N(int64(2*time.Second))), time.Duration(rng.Int64N(int64(time.Second)))
			sent := w.local
			response, err := w.RoundTrip(nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			date, err := http.ParseTime(response.Header.Get("Date"))
			if err != nil {
				t.Fatal(err)
			}
			told, ok := hear(date, sent, w.local)
			if !ok {
				t.Fatalf("an answer after %v is ignored", w.local.Sub(sent))
			}
			heard.add(told)
			if agreed, _ := heard.agreed(); agreed.distance(w.skew) > 0 {
				t.Fatalf("agreed on %v, the skew is %v", agreed, w.skew)
			}
			w.local = w.local.Add(time.Duration(rng.Int64N(int64(3 * time.Second))))
		}
		agreed, enough := heard.agreed()
		if !enough || len(heard) > maxAnswers || agreed.high-agreed.low > 2*time.Second {
			t.Fatalf("%d answers agree on %v", len(heard), agreed)
		}
	}
}

// The monotonic reading is kept, so that differences between times are right even if the clock is
// adjusted.
func TestKeepsTheMonotonicReading(t *testing.T) {
	clock := New(time.Now)
	clock.correction.Store(int64(time.Hour))
	if now := clock.Now(); !strings.Contains(now.String(), " m=") {
		t.Errorf("%v has no monotonic reading", now)
	}
}

// Nothing takes any time in a synctest bubble, so all responses within a second are equal.
func TestAnswersInNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(-time.Minute)
		w.up, w.down = 0, 0
		clock := New(time.Now)
		ahead := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
		w.spoil = func(h http.Header) { h.Set("Date", ahead) }
		w.ask(t, clock, Quorum)
		if got := clock.Skew(); got < time.Minute || got > time.Minute+dateUnit {
			t.Errorf("corrected by %v, want a minute or a second more", got)
		}
		time.Sleep(maxAnswerAge + time.Second)
		w.spoil = func(h http.Header) { h.Set("Date", time.Now().UTC().Format(http.TimeFormat)) }
		w.ask(t, clock, 1)
		if clock.Skew() < time.Minute || len(clock.answers) != 1 {
			t.Errorf("one answer of two minutes later: corrected by %v, %d answers remembered", clock.Skew(), len(clock.answers))
		}
	})
}

// Go's own server and client exchange real responses, from which the time is read.
func TestRealServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	clock := New(func() time.Time { return time.Now().Add(-10 * time.Minute) })
	client := &http.Client{Transport: clock.Wrap(http.DefaultTransport)}
	for range Quorum {
		get(t, client, server.URL)
	}
	if off := time.Until(clock.Now()).Abs(); off > Tolerance {
		t.Errorf("a clock ten minutes behind is off by %v after %d answers", off, Quorum)
	}
}

func get(t *testing.T, client *http.Client, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Error(err)
		return
	}
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	_ = response.Body.Close()
}

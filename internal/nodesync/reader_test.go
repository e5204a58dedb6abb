package nodesync

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
)

// apiServerTime is an API server whose clock is off.
type apiServerTime time.Duration

func (off apiServerTime) RoundTrip(*http.Request) (*http.Response, error) {
	date := time.Now().Add(time.Duration(off)).UTC().Format(http.TimeFormat)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
}

// correct lets a clock hear of an API server's that is off.
func correct(t *testing.T, clock *servertime.Clock, off time.Duration) {
	t.Helper()
	for range servertime.Quorum {
		response, err := clock.Wrap(apiServerTime(off)).RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if got := clock.Skew(); (got - off).Abs() > time.Second {
		t.Fatalf("the clock is corrected by %v, want %v", got, off)
	}
}

// A window counts as looked at for its whole length once that has really
// passed.
func TestPublishesWhileTheClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := servertime.New(time.Now)
		r := &Reader{Load: &policy.LoadPolicy{}, Clock: clock, Begun: clock.Local()}
		window, read := usage.Window{Over: 15 * time.Minute}, &usage.NodeUsage{SourceSpan: make([]time.Duration, 1)}
		correct(t, clock, time.Hour)
		if r.publishes(read, 0, window) {
			t.Error("published at once")
		}
		time.Sleep(15 * time.Minute)
		correct(t, clock, -time.Hour)
		if !r.publishes(read, 0, window) {
			t.Error("not published after its length")
		}
	})
}

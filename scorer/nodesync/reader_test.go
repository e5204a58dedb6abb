package nodesync

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// apiServerTime is an API server whose clock is off by the given duration.
type apiServerTime time.Duration

func (off apiServerTime) RoundTrip(*http.Request) (*http.Response, error) {
	date := time.Now().Add(time.Duration(off)).UTC().Format(http.TimeFormat)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
}

// correct lets a clock learn the time from an API server whose clock is off.
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

// A node's position relative to its reject lines is based on its predicted usage. An unknown node
// has no position.
func TestReadsGrades(t *testing.T) {
	lines, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	type grade struct{ Known, Hot, AboveReject, BelowReject bool }
	cases := map[string]struct {
		state         thresholds.State
		now, expected int64
		unknown       reasons.Reason
		want          grade
	}{
		"cool":           {thresholds.Cool, 3000, 3000, "", grade{Known: true, BelowReject: true}},
		"about to fill":  {thresholds.Warm, 3000, 6100, "", grade{Known: true, AboveReject: true}},
		"between":        {thresholds.Warm, 5800, 5800, "", grade{Known: true}},
		"hot":            {thresholds.Hot, 7000, 7000, "", grade{Known: true, Hot: true, AboveReject: true}},
		"without a word": {thresholds.Unknown, 7000, 7000, reasons.NoUsageSample, grade{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			measured, predicted := cluster.Amounts{tc.now, 0}, cluster.Amounts{tc.expected, 0}
			view := &usage.View{
				Windows:  []usage.Window{usage.Last, usage.Avg5m},
				Snapshot: &cluster.Snapshot{Nodes: []*cluster.NodePods{{Node: cluster.Node{Name: "a", Allocatable: cluster.Amounts{10_000, 1}}}}},
				Nodes: []usage.NodeUsage{{
					Unknown: tc.unknown, SourceSpan: make([]time.Duration, 2),
					Measured: []cluster.Amounts{measured, measured}, Current: []cluster.Amounts{measured, measured}, Predicted: []cluster.Amounts{predicted, predicted},
				}},
			}
			latest := &observer.Observation{View: view, Lines: lines.Resolve(view), States: map[string]thresholds.NodeState{"a": {State: tc.state}}}
			r := &Reader{Load: &policy.LoadPolicy{}, Clock: servertime.New(time.Now)}
			got := r.node(v1Node("a"), latest, 0)
			if diff := cmp.Diff(tc.want, grade{got.Known, got.Hot, got.AboveReject, got.BelowReject}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A window counts as fully observed once its length has really passed.
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

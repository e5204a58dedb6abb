package commands

import (
	"errors"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/usage"
)

// Nodes are watched for as long as asked for, whatever the API server's clock
// does meanwhile.
func TestNodeWatch(t *testing.T) {
	known := func(at time.Time) *observer.Observation {
		return &observer.Observation{At: at, Batches: 1, View: &usage.View{Snapshot: &cluster.Snapshot{}, Nodes: make([]usage.NodeUsage, 1)}}
	}
	empty := func(at time.Time) *observer.Observation {
		return &observer.Observation{At: at, View: &usage.View{Snapshot: &cluster.Snapshot{}}}
	}
	broken := func(at time.Time) *observer.Observation {
		o := empty(at)
		o.Sources = []observer.SourceStatus{{Asked: true, Err: errors.New("away")}}
		return o
	}
	const sampleEvery, listed = 15 * time.Second, 5 * time.Minute
	cases := map[string]struct {
		observe time.Duration
		// make makes an observation; none come before nodes and pods are
		// listed.
		make func(at time.Time) *observer.Observation
		// setAfter is when the API server's clock is set, by setBy.
		setAfter, setBy time.Duration
		coming          time.Duration
		want            time.Duration
	}{
		"one reading":  {make: known, coming: listed, want: listed},
		"for a minute": {observe: time.Minute, make: known, coming: listed, want: listed + time.Minute},
		"for a minute, and the clock is set back": {observe: time.Minute, make: known, coming: listed, setAfter: listed + 20*time.Second, setBy: -time.Hour, want: listed + time.Minute},
		"for a minute, and the clock leaps":       {observe: time.Minute, make: known, coming: listed, setAfter: listed + 20*time.Second, setBy: time.Hour, want: listed + time.Minute},
		"nothing is read":                         {make: empty, coming: listed, want: listed + topTimeout},
		"a source is away":                        {make: broken, coming: listed, want: listed},
		"a source is away for a minute":           {observe: time.Minute, make: broken, coming: listed, want: listed + time.Minute + topTimeout},
		"lists that come no more":                 {make: known, coming: time.Minute, want: time.Minute + topTimeout},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			elapsed := time.Duration(0)
			var latest *observer.Observation
			w := nodeWatch{
				observe: tc.observe,
				local:   func() time.Time { return began.Add(elapsed) },
				latest:  func() *observer.Observation { return latest },
				arrived: func() int64 {
					if elapsed >= listed {
						return -1
					}
					return int64(min(elapsed, tc.coming))
				},
			}
			w.still.Now = w.local
			for ; elapsed < time.Hour && !w.done(); elapsed += time.Second {
				if next := elapsed + time.Second; next >= listed && (next-listed)%sampleEvery == 0 {
					at := began.Add(next)
					if tc.setBy != 0 && next >= tc.setAfter {
						at = at.Add(tc.setBy)
					}
					latest = tc.make(at)
				}
			}
			if elapsed < tc.want || elapsed > tc.want+2*time.Second {
				t.Errorf("watched for %v, want %v", elapsed, tc.want)
			}
		})
	}
}

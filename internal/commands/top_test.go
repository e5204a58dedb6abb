package commands

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status"
)

// Nodes are watched for the requested time, however the API server's time sets the clock.
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
		// make makes an observation. Observations start only after nodes and pods have been listed.
		make func(at time.Time) *observer.Observation
		// setAfter is when the API server's time sets the clock, and setBy by how much.
		setAfter, setBy time.Duration
		coming          time.Duration
		want            time.Duration
	}{
		"one reading":  {make: known, coming: listed, want: listed},
		"for a minute": {observe: time.Minute, make: known, coming: listed, want: listed + time.Minute},
		"for a minute, and the clock is set back": {observe: time.Minute, make: known, coming: listed, setAfter: listed + 20*time.Second, setBy: -time.Hour, want: listed + time.Minute},
		"for a minute, and the clock jumps ahead": {observe: time.Minute, make: known, coming: listed, setAfter: listed + 20*time.Second, setBy: time.Hour, want: listed + time.Minute},
		"nothing is read":                         {make: empty, coming: listed, want: listed + topTimeout},
		"a source is unavailable":                 {make: broken, coming: listed, want: listed},
		"a source is unavailable for a minute":    {observe: time.Minute, make: broken, coming: listed, want: listed + time.Minute + topTimeout},
		"lists that stop":                         {make: known, coming: time.Minute, want: time.Minute + topTimeout},
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

// The test runs the whole command: after one reading of usage, it lists the nodes, hottest first,
// in each format.
func TestTopPrints(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nusage:\n  sources:\n    - type: Annotations\n" +
		"      annotations: {unit: fraction, timezone: UTC}\nhot:\n  windows: [avg_5m]\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options := flags.Options{Kubeconfig: emptyCluster(t, annotated(20, 81, 10)), PolicyFile: policy, Namespace: "evenkeel"}
	for format, wants := range map[string][]string{
		"table": {"3 nodes: 1 hot, 2 cool. Usage is from Annotations", "n1    cpu ████", " 81.0%   8.10 "},
		"wide":  {"avg_5m", "81.0%/10.0%", " 8.10/10 "},
		"json":  {`"apiVersion": "evenkeel.io/v1alpha1"`, `"kind": "Top"`, `"usedPercent": 81`},
		"yaml":  {"apiVersion: evenkeel.io/v1alpha1\n", "kind: Top\n", "    usedPercent: 81\n"},
		"name":  {"node/n1\nnode/n0\nnode/n2\n"},
	} {
		t.Run(format, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var out bytes.Buffer
			if err := Top(ctx, options, TopOptions{Format: format, Color: "auto"}, &out); err != nil {
				t.Fatal(err)
			}
			for _, want := range wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
		})
	}
}

// Top asks another process for its observation and prints how old that is.
func TestTopAsksAProcess(t *testing.T) {
	used, percent, line := int64(9660), 96.6, 65.0
	observed := time.Now().Add(-20 * time.Second).UTC().Format(time.RFC3339)
	now := status.Status{Observed: observed, Moves: []status.Move{{Namespace: "shop", Pod: "web-1", From: "n1", To: "n2", State: "evicted"}}}
	n1 := status.Node{NodeState: status.NodeState{Name: "n1", State: "hot"}}
	hot := status.NodeStatus{Node: n1, Now: "hot", Samples: status.Samples{Source: "Prometheus", AgeSeconds: 3}, CPU: status.ResourceStatus{
		Used: &used, UsedPercent: &percent, EvictPercent: &line, Allocatable: 10_000,
	}}
	cases := map[string]struct {
		status status.Status
		nodes  []status.NodeStatus
		want   string
		fails  string
	}{
		"that observes":            {status: now, nodes: []status.NodeStatus{hot}, want: "Move of shop/web-1 from n1 to n2: evicted."},
		"that has just started":    {fails: "it has not read any usage yet"},
		"that has another version": {status: now, nodes: []status.NodeStatus{{Node: n1}}, fails: "it runs an earlier version"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("/status", extender.Report(func(*http.Request) (any, error) { return tc.status, nil }))
			mux.Handle("/nodes", extender.Report(func(*http.Request) (any, error) { return tc.nodes, nil }))
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			var out bytes.Buffer
			err := Top(t.Context(), flags.Options{}, TopOptions{Format: "table", Color: "auto", Extender: remote.Extender{URL: server.URL}}, &out)
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, want %q", err, tc.fails)
			}
			if !strings.Contains(out.String(), tc.want) {
				t.Errorf("no %q in\n%s", tc.want, out.String())
			}
			if ago := regexp.MustCompile(`at most 2[3-9]s old\. Observed by http://127\.0\.0\.1:\d+ 2\ds ago\.`); tc.fails == "" && !ago.MatchString(strings.Join(strings.Fields(out.String()), " ")) {
				t.Errorf("its age is not said:\n%s", out.String())
			}
		})
	}
}

func TestTopRefuses(t *testing.T) {
	good := TopOptions{Format: "table", Color: "auto"}
	for want, change := range map[string]func(*TopOptions){
		`--output: "csv" is not one of table|wide|json|yaml|name`:             func(o *TopOptions) { o.Format = "csv" },
		`--color: "red" is not one of auto|always|never`:                      func(o *TopOptions) { o.Color = "red" },
		"--observe: -1s is negative":                                          func(o *TopOptions) { o.Observe = -time.Second },
		"--watch can be combined with -o table and -o wide, not with -o name": func(o *TopOptions) { o.Format, o.Watch = "name", true },
		"--observe and --extender-url cannot be used together":                func(o *TopOptions) { o.Observe, o.Extender.URL = time.Second, "http://localhost" },
		"--extender-url: it is not a URL that begins with http://":            func(o *TopOptions) { o.Extender.URL = "localhost" },
	} {
		wanted := good
		change(&wanted)
		err := Top(t.Context(), flags.Options{}, wanted, io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), want) || exit.Code(err) != exit.Misuse {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

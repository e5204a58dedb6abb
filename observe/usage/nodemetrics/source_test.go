package nodemetrics

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

const gib = 1 << 30

var clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// hour and day are the exporter's longer windows.
var hour, day = maxAvg(time.Hour), maxAvg(24 * time.Hour)

// full is the answer of a healthy exporter.
const full = `{"cpu_usage_active":12.5,"cpu_usage_avg_5m":10,"cpu_usage_max_avg_1h":50,"cpu_usage_max_avg_1d":75,
	"mem_usage_active":25,"mem_usage_avg_5m":24,"mem_usage_max_avg_1h":26,"mem_usage_max_avg_1d":50}`

// exporters serves the statistics of nodes n1, n2 and so on, with 4 cores and
// 16 GiB each.
func exporters(t *testing.T, handlers ...http.Handler) (*Source, *cluster.Snapshot) {
	t.Helper()
	return exportersWith(t, nil, handlers...)
}

func exportersWith(t *testing.T, change func(*Config, *access.Env), handlers ...http.Handler) (*Source, *cluster.Snapshot) {
	t.Helper()
	byHost := map[string]http.Handler{}
	snapshot := &cluster.Snapshot{}
	for i, handler := range handlers {
		ip := fmt.Sprintf("10.0.0.%d", i+1)
		byHost[ip+":19101/statistics"] = handler
		snapshot.Nodes = append(snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{
			Name: fmt.Sprintf("n%d", i+1), InternalIP: ip, Ready: true, Capacity: cluster.Amounts{4000, 16 * gib},
		}})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler := byHost[r.Host+r.URL.Path]; handler != nil {
			handler.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	config := new(Config).Default().(*Config)
	env := access.Env{Timeout: 30 * time.Second, Interval: 90 * time.Second, MaxAge: time.Minute, Now: func() time.Time { return clock }}
	if change != nil {
		change(config, &env)
	}
	source, err := config.source(&env, &http.Client{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return source, snapshot
}

func body(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func bodies(texts ...string) []http.Handler {
	handlers := make([]http.Handler, len(texts))
	for i, text := range texts {
		handlers[i] = body(text)
	}
	return handlers
}

func stolen(window usage.Window, milli float64) usage.Reading {
	reading := cpu(window, milli)
	reading.Metric = usage.CPUStolen
	return reading
}

func cpu(window usage.Window, milli float64) usage.Reading {
	return usage.Reading{Metric: usage.CPU, Window: window, At: clock, Value: milli}
}

func memory(window usage.Window, bytes float64) usage.Reading {
	return usage.Reading{Metric: usage.Memory, Window: window, At: clock, Value: bytes}
}

// near compares values except for the last digits.
var near = cmpopts.EquateApprox(1e-12, 0)

// One answer per node contains all windows of both resources, as percentages of the node's
// capacity.
func TestSample(t *testing.T) {
	source, snapshot := exporters(t, bodies(full, full, full)...)
	snapshot.Nodes[1].Node.Ready = false
	got, err := source.Sample(t.Context(), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	readings := []usage.Reading{
		cpu(usage.Last, 500), cpu(usage.Avg5m, 400), cpu(hour, 2000), cpu(day, 3000),
		memory(usage.Last, 4*gib), memory(usage.Avg5m, 3.84*gib), memory(hour, 4.16*gib), memory(day, 8*gib),
	}
	want := usage.Batch{
		Source: "NodeMetrics", Received: clock, MaxAge: time.Minute,
		Nodes: []usage.NodeSample{{Name: "n1", Readings: readings}, {Name: "n3", Readings: readings}},
	}
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

// The cases show what is accepted from answers in either unit, and what is left out.
func TestSampleOfUnits(t *testing.T) {
	fraction := func(c *Config, _ *access.Env) { c.Unit = source.Fraction }
	cases := map[string]struct {
		change   func(*Config, *access.Env)
		answers  []string
		want     map[string][]usage.Reading
		problems map[usage.Cause]int
	}{
		"fewer keys": {
			answers: []string{`{"mem_usage_active":25}`, `{"cpu_usage_avg_5m":0}`},
			want:    map[string][]usage.Reading{"n1": {memory(usage.Last, 4*gib)}, "n2": {cpu(usage.Avg5m, 0)}},
		},
		"unknown keys, with any value": {
			answers: []string{`{"cpu_usage_avg_15m":99,"disk":{"a":[1]},"mem_usage_active":25,"gpu":null,"x":"y"}`},
			want:    map[string][]usage.Reading{"n1": {memory(usage.Last, 4*gib)}},
		},
		"null is no value": {
			answers: []string{`{"cpu_usage_active":null,"mem_usage_active":25}`},
			want:    map[string][]usage.Reading{"n1": {memory(usage.Last, 4*gib)}},
		},
		"no keys at all": {answers: []string{`{}`}},
		"a key twice": {
			answers:  []string{`{"cpu_usage_active":10,"cpu_usage_active":20,"mem_usage_active":25}`},
			want:     map[string][]usage.Reading{"n1": {memory(usage.Last, 4*gib)}},
			problems: map[usage.Cause]int{usage.Duplicate: 1},
		},
		"negative and far too much": {
			answers:  []string{`{"cpu_usage_active":-1,"cpu_usage_avg_5m":400.5,"cpu_usage_max_avg_1h":400,"mem_usage_active":25}`},
			want:     map[string][]usage.Reading{"n1": {cpu(hour, 16000), memory(usage.Last, 4*gib)}},
			problems: map[usage.Cause]int{usage.Absurd: 2},
		},
		"fractions for percentages, on every node": {
			answers:  []string{`{"cpu_usage_active":0.65,"mem_usage_active":0.4}`, `{"cpu_usage_active":0,"mem_usage_active":1.5}`},
			problems: map[usage.Cause]int{usage.Contradictory: 4},
		},
		"one idle node among others is idle": {
			answers: []string{`{"cpu_usage_active":1,"mem_usage_active":1}`, `{"mem_usage_active":25}`},
			want:    map[string][]usage.Reading{"n1": {cpu(usage.Last, 40), memory(usage.Last, 0.16*gib)}, "n2": {memory(usage.Last, 4*gib)}},
		},
		"stolen CPU": {
			answers: []string{`{"cpu_usage_active":20,"cpu_steal_active":80,"cpu_steal_avg_5m":75}`},
			want:    map[string][]usage.Reading{"n1": {cpu(usage.Last, 800), stolen(usage.Last, 3200), stolen(usage.Avg5m, 3000)}},
		},
		"an idle CPU does not reveal the unit": {
			answers: []string{`{"cpu_usage_active":1}`}, want: map[string][]usage.Reading{"n1": {cpu(usage.Last, 40)}},
		},
		"fractions where they are due": {
			change: fraction, answers: []string{`{"cpu_usage_active":0.65,"mem_usage_active":0.25}`},
			want: map[string][]usage.Reading{"n1": {cpu(usage.Last, 2600), memory(usage.Last, 4*gib)}},
		},
		"a percentage for a fraction": {
			change: fraction, answers: []string{`{"cpu_usage_active":65,"mem_usage_active":0.25}`},
			want:     map[string][]usage.Reading{"n1": {memory(usage.Last, 4*gib)}},
			problems: map[usage.Cause]int{usage.Contradictory: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source, snapshot := exportersWith(t, tc.change, bodies(tc.answers...)...)
			got, err := source.Sample(t.Context(), snapshot)
			if err != nil {
				t.Fatal(err)
			}
			byNode := map[string][]usage.Reading{}
			for _, node := range got.Nodes {
				byNode[node.Name] = node.Readings
			}
			if diff := cmp.Diff(tc.want, byNode, near, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("readings (-want +got):\n%s", diff)
			}
			counts := map[usage.Cause]int{}
			for cause, problem := range got.Problems {
				counts[cause] = problem.Count
			}
			if diff := cmp.Diff(tc.problems, counts, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, got.Problems)
			}
		})
	}
}

// A percentage of an unknown capacity is unknown, not zero.
func TestSampleOfANodeWithoutCapacity(t *testing.T) {
	source, snapshot := exporters(t, bodies(full)...)
	snapshot.Nodes[0].Node.Capacity = cluster.Amounts{4000, 0}
	got, err := source.Sample(t.Context(), snapshot)
	if err != nil || len(got.Nodes) != 1 || len(got.Nodes[0].Readings) != 4 || got.Problems[usage.Unreadable].Count != 4 {
		t.Errorf("%+v, %v; want CPU alone", got, err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	cases := map[string]struct {
		spoil func(*Config)
		want  string
	}{
		"another scheme": {func(c *Config) { c.Scheme = "ftp" }, `x.scheme: Unsupported value: "ftp"`},
		"no port":        {func(c *Config) { c.Port = -1 }, "x.port: Invalid value: -1"},
		"no path":        {func(c *Config) { c.Path = "statistics" }, `x.path: Invalid value: "statistics"`},
		"no unit":        {func(c *Config) { c.Unit = "milli" }, `x.unit: Unsupported value: "milli"`},
		"nobody asks":    {func(c *Config) { c.Concurrency = 0 }, "x.concurrency: Invalid value: 0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := new(Config).Default().(*Config)
			if errs := config.Validate(field.NewPath("x"), nil); len(errs) > 0 {
				t.Fatalf("the defaults are wrong: %v", errs)
			}
			tc.spoil(config)
			errs := config.Validate(field.NewPath("x"), nil)
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tc.want) {
				t.Errorf("got %v, want %q", errs, tc.want)
			}
		})
	}
	if _, err := new(Config).source(&access.Env{}, nil); err == nil || !strings.Contains(err.Error(), "Client must be set") {
		t.Errorf("got %v without a client", err)
	}
}

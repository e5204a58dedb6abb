package prometheus

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

func TestSample(t *testing.T) {
	server := newFake(t, healthy())
	got := sample(t, newSource(t, configFor(server.URL)), clusterOf(2))
	reading := func(metric usage.Metric, second int, value float64) usage.Reading {
		return usage.Reading{Metric: metric, Window: usage.Avg5m, At: epoch().Add(time.Duration(second) * time.Second), Value: value}
	}
	want := usage.Batch{
		Source: "Prometheus", Received: epoch(), MaxAge: time.Minute,
		Nodes: []usage.NodeSample{
			{Name: "n1", Readings: []usage.Reading{reading(usage.CPU, -10, 4500), reading(usage.Memory, -10, gib)}},
			{Name: "n2", Readings: []usage.Reading{reading(usage.CPU, -20, 2000), reading(usage.Memory, -20, 2*gib)}},
		},
		Pods: []usage.PodSample{
			{Namespace: "a", Name: "p", Avg5m: usage.Sample{At: epoch(), Used: cluster.Amounts{250, 1 << 20}}},
			{Namespace: "b", Name: "q", Avg5m: usage.Sample{At: epoch(), Used: cluster.Amounts{1500, 2 << 20}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

// Node windows are queried as needed. For pods, the mean is always queried, and samples only if
// they are queried for nodes as well.
func TestWindowsAsked(t *testing.T) {
	day, err := usage.ParseWindow("max_avg_1d")
	if err != nil {
		t.Fatal(err)
	}
	server := newFake(t, healthy())
	config := configFor(server.URL)
	config.Windows = []usage.Window{usage.Last, day, usage.Last}
	batch := sample(t, newSource(t, config), clusterOf(1))
	want := map[string]float64{
		"n1 cpu last": 4500, "n1 cpu max_avg_1d": 4500, "n1 cpu avg_5m": 4500,
		"n1 memory last": gib, "n1 memory max_avg_1d": gib, "n1 memory avg_5m": gib,
	}
	if diff := cmp.Diff(want, values(batch)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	p := usage.Sample{At: epoch(), Used: cluster.Amounts{250, 1 << 20}}
	if diff := cmp.Diff(usage.PodSample{Namespace: "a", Name: "p", Last: p, Avg5m: p}, batch.Pods[0]); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if asked := len(server.queries()); asked != 11 {
		t.Errorf("%d queries, want 6 of nodes, 4 of pods and 1 of times", asked)
	}
}

// Long windows are expensive for the server, so their answers are reused for a
// twentieth of their length.
func TestLongWindowsAreQueriedRarely(t *testing.T) {
	hour, err := usage.ParseWindow("avg_1h")
	if err != nil {
		t.Fatal(err)
	}
	server := newFake(t, healthy())
	now := epoch()
	config := configFor(server.URL)
	config.Windows, config.Metrics, config.NodesOnly = []usage.Window{usage.Avg5m, hour}, []usage.Metric{usage.CPU}, true
	config.Now = func() time.Time { return now }
	source := newSource(t, config)
	asked := func(part string) (n int) {
		for _, query := range server.queries() {
			if strings.Contains(query, part) {
				n++
			}
		}
		return n
	}
	for step := range 13 { // 15 s apart: 3 minutes
		now = epoch().Add(time.Duration(step) * 15 * time.Second)
		server.set(nodeStamp, vectorOf(of(stamp(int64(15*step)), "node", "n1")))
		batch := sample(t, source, clusterOf(2))
		if len(batch.Nodes) != 1 || len(batch.Nodes[0].Readings) != 2 || !batch.Nodes[0].Readings[1].At.Equal(now) {
			t.Fatalf("step %d: %+v", step, batch.Nodes)
		}
	}
	if short, long := asked("[5m:30s]"), asked("[1h:1m]"); short != 13 || long != 2 {
		t.Errorf("asked %d times for five minutes and %d times for an hour, want 13 and 2", short, long)
	}
}

// The highest five-minute mean is never below the newest one, and is known as soon as that one is.
func TestHighestMeanIsNotBelowTheNewest(t *testing.T) {
	server := newFake(t, map[string]string{
		nodeStamp:       vectorOf(of(stamp(0), "node", "n1"), of(stamp(0), "node", "n2"), of(stamp(0), "node", "n3")),
		"avg_over_time": vectorOf(of("3", "node", "n1"), of("3", "node", "n2"), of("3", "node", "n3")),
		"max_over_time": vectorOf(of("2", "node", "n1"), of("4", "node", "n2")),
	})
	config := configFor(server.URL)
	config.Windows, config.Metrics, config.NodesOnly = []usage.Window{window(t, "max_avg_1h")}, []usage.Metric{usage.CPU}, true
	want := map[string]float64{
		"n1 cpu max_avg_1h": 3000, "n2 cpu max_avg_1h": 4000, "n3 cpu max_avg_1h": 3000,
		"n1 cpu avg_5m": 3000, "n2 cpu avg_5m": 3000, "n3 cpu avg_5m": 3000,
	}
	server.set("max_over_time((avg_over_time", server.answers["max_over_time"])
	if diff := cmp.Diff(want, values(sample(t, newSource(t, config), clusterOf(3)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnits(t *testing.T) {
	cases := map[string]struct {
		metric usage.Metric
		unit   source.Unit
		value  string
		want   float64
	}{
		"cores":                                 {usage.CPU, "", "3.5", 3500},
		"milli-cores":                           {usage.CPU, source.Milli, "3500", 3500},
		"percent of 32 cores":                   {usage.CPU, source.Percent, "50", 16_000},
		"a fraction of 32 cores":                {usage.CPU, source.Fraction, "0.5", 16_000},
		"bytes":                                 {usage.Memory, "", "1e9", 1e9},
		"percent of 128 GiB":                    {usage.Memory, source.Percent, "25", 32 * gib},
		"a fraction of 128 GiB":                 {usage.Memory, source.Fraction, "0.25", 32 * gib},
		"anything else unchanged":               {"disk", "", "7", 7},
		"a fraction of time":                    {usage.CPUPressure, source.Fraction, "0.25", 25},
		"negative values are left to the store": {usage.CPU, "", "-1", -1000},
		"a real zero":                           {usage.CPU, source.Percent, "0", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newFake(t, map[string]string{"mine": vectorOf(of(tc.value, "node", "n1"))})
			config := configFor(server.URL)
			config.Metrics, config.NodesOnly = []usage.Metric{tc.metric}, true
			config.Queries.Nodes = map[usage.Metric]Query{tc.metric: {Windows: map[usage.Window]string{usage.Avg5m: "sum by (node) (mine)"}, Unit: tc.unit}}
			want := map[string]float64{"n1 " + string(tc.metric) + " avg_5m": tc.want}
			if diff := cmp.Diff(want, values(sample(t, newSource(t, config), clusterOf(1)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A server that does not accept POST is queried with GET from then on.
func TestFallsBackToGet(t *testing.T) {
	server := newFake(t, healthy())
	posts := 0
	server.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/prom/api/v1/query" || r.URL.Query().Get("tenant") != "blue" || r.FormValue("timeout") != "5000ms" {
			t.Errorf("asked at %s", r.URL)
		}
		if r.Method == http.MethodPost {
			posts++
			w.WriteHeader(http.StatusMethodNotAllowed)
			return true
		}
		return false
	}
	config := configFor(server.URL + "/api/prom/?tenant=blue")
	config.parallel = 1
	source := newSource(t, config)
	for range 2 {
		if batch := sample(t, source, clusterOf(2)); len(batch.Nodes) != 2 || len(batch.Pods) != 2 {
			t.Errorf("got %+v", batch)
		}
	}
	if posts != 1 {
		t.Errorf("%d POSTs, want 1", posts)
	}
}

// slow takes a second for each answer.
type slow struct {
	canned
	running, most, asked atomic.Int32
}

// RoundTrip implements http.RoundTripper.
func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	s.most.Store(max(s.most.Load(), s.running.Add(1)))
	time.Sleep(time.Second)
	s.running.Add(-1)
	return s.canned.RoundTrip(r)
}

// Both the number of concurrent queries and the number of queries per second
// are bounded.
func TestQueriesAreBounded(t *testing.T) {
	cases := map[string]struct {
		parallel    int
		rate        float64
		most        int32
		wantSeconds float64
	}{
		// There are seven queries of a second each. The two for pods run one after the other.
		"two at a time": {2, 1000, 2, 4},
		"one at a time": {1, 1000, 1, 7},
		"one every two seconds, but at least one": {1, 0.5, 1, 13},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answers := []byte(vectorOf(of("1", "node", "n1", "namespace", "a", "pod", "p")))
				transport := &slow{canned: canned{pods: answers, nodes: answers}}
				config := configFor("http://localhost")
				config.client, config.parallel, config.QueriesPerSecond = &http.Client{Transport: transport}, tc.parallel, tc.rate
				config.Windows = []usage.Window{usage.Avg5m, {Kind: usage.KindAvg, Over: time.Minute}}
				begin := time.Now()
				sample(t, newSource(t, config), clusterOf(1))
				if took := time.Since(begin).Seconds(); transport.asked.Load() != 7 || transport.most.Load() != tc.most || took != tc.wantSeconds {
					t.Errorf("%d queries, at most %d at once, took %v s; want 7, %d and %v s",
						transport.asked.Load(), transport.most.Load(), took, tc.most, tc.wantSeconds)
				}
			})
		})
	}
}

// Problems describe everything that could not be used, including the server's warnings.
func TestProblems(t *testing.T) {
	const warning = `{"status":"success","warnings":["store \"a\" is down"],"isPartial":true,"data":{"resultType":"vector","result":[]}}`
	cases := map[string]struct {
		change map[string]string
		want   usage.Problems
		nodes  map[string]float64
		pods   int
	}{
		"nothing about cpu": {
			map[string]string{nodeCPU: vectorOf()},
			usage.Problems{usage.Unreadable: {Count: 1, Examples: []string{`query "avg_over_time((sum without (cpu, mode) (irate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[2m])))[5m:30s])" returned nothing`}}},
			map[string]float64{"n1 memory avg_5m": gib, "n2 memory avg_5m": 2 * gib}, 2,
		},
		"warnings": {
			map[string]string{nodeCPU: warning},
			usage.Problems{usage.Unreadable: {Count: 3, Examples: []string{
				`the server warns: store "a" is down`, "the server warns: the answer is partial",
			}}},
			map[string]float64{"n1 memory avg_5m": gib, "n2 memory avg_5m": 2 * gib}, 2,
		},
		"a node that is no longer scraped": {
			map[string]string{nodeStamp: vectorOf(of(stamp(0), "instance", "10.0.0.1:9100"))},
			usage.Problems{usage.Stale: {Count: 2, Examples: []string{`cpu avg_5m of node "n2": no longer scraped`, `memory avg_5m of node "n2": no longer scraped`}}},
			map[string]float64{"n1 cpu avg_5m": 4500, "n1 memory avg_5m": gib}, 2,
		},
		"a series of no node": {
			map[string]string{nodeCPU: vectorOf(of("1", "instance", "10.0.0.9:9100"), of("1", "job", "x"))},
			usage.Problems{usage.UnmatchedNode: {Count: 2, Examples: []string{`instance="10.0.0.9:9100"`, `{job="x"}`}}},
			map[string]float64{"n1 memory avg_5m": gib, "n2 memory avg_5m": 2 * gib}, 2,
		},
		"a pod without memory": {
			map[string]string{podMemory: vectorOf(of("1", "namespace", "b", "pod", "q"))},
			usage.Problems{usage.Unreadable: {Count: 1, Examples: []string{"pod a/p has only one of cpu and memory"}}},
			map[string]float64{"n1 cpu avg_5m": 4500, "n2 cpu avg_5m": 2000, "n1 memory avg_5m": gib, "n2 memory avg_5m": 2 * gib}, 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newFake(t, healthy())
			for key, answer := range tc.change {
				server.set(key, answer)
			}
			batch := sample(t, newSource(t, configFor(server.URL)), clusterOf(2))
			if name == "warnings" { // the third warning is the empty result
				problem := batch.Problems[usage.Unreadable]
				problem.Examples = problem.Examples[:2]
				batch.Problems[usage.Unreadable] = problem
			}
			if diff := cmp.Diff(tc.want, batch.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.nodes, values(batch)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if len(batch.Pods) != tc.pods {
				t.Errorf("%d pods, want %d", len(batch.Pods), tc.pods)
			}
		})
	}
}

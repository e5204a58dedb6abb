package kubelet

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// summaryOf returns a node's summary with one pod, shop/<node>.
func summaryOf(node string) string {
	return fmt.Sprintf(`{"node":{"nodeName":%q,"cpu":%s,"memory":%s},"pods":[{"podRef":{"namespace":"shop","name":%[1]q},"cpu":%[2]s,"memory":%[3]s}]}`,
		node, cpuOK, memOK)
}

func snapshotOf(nodes ...*cluster.NodePods) *cluster.Snapshot { return &cluster.Snapshot{Nodes: nodes} }

// Every ready node is asked once, directly and over TLS, and the batch lists the nodes in order.
func TestSample(t *testing.T) {
	k := newKubelets(t)
	n1 := k.add(aNode("n1", aPod("shop", "n1")), body(summaryOf("n1")))
	n2 := k.add(aNode("n2", aPod("shop", "n2")), body(summaryOf("n2")))
	away := k.add(aNode("n3"), body(summaryOf("n3")))
	away.Node.Ready = false
	n2.Node.KubeletPort = 10270
	got, err := k.source(func(c *settings) { c.MaxAge = time.Minute }).Sample(t.Context(), snapshotOf(n1, n2, away))
	if err != nil {
		t.Fatal(err)
	}
	readings := []usage.Reading{last(usage.CPU, noon, 2000), last(usage.Memory, noon, gib)}
	want := usage.Batch{
		Source: "Kubelet", Received: clock, MaxAge: time.Minute,
		Nodes: []usage.NodeSample{{Name: "n1", Readings: readings}, {Name: "n2", Readings: readings}},
		Pods:  []usage.PodSample{podSample("shop", "n1", noon, 2000, gib), podSample("shop", "n2", noon, 2000, gib)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
	asked := strings.Join(k.requests(), " ")
	if asked != "10.0.0.1:10250/stats/summary 10.0.0.2:10270/stats/summary" &&
		asked != "10.0.0.2:10270/stats/summary 10.0.0.1:10250/stats/summary" {
		t.Errorf("requests %s, want one to each ready node's own port", asked)
	}
}

// The cases show which requests are sent, by configuration, address and annotation.
func TestRequest(t *testing.T) {
	cases := map[string]struct {
		config        func(*settings)
		node          func(*cluster.Node)
		url, fallback string
		err           string
	}{
		"by default": {url: "https://10.0.0.1:10250/stats/summary", fallback: "https://10.0.0.1:10250/metrics/resource"},
		"a port for all": {
			config: func(c *settings) { c.Port = 10255; c.Scheme = "http" }, node: func(n *cluster.Node) { n.KubeletPort = 1 },
			url: "http://10.0.0.1:10255/stats/summary", fallback: "http://10.0.0.1:10255/metrics/resource",
		},
		"resource metrics only": {
			config: func(c *settings) { c.Endpoint = Resource }, url: "https://10.0.0.1:10250/metrics/resource",
		},
		"IPv6": {
			node: func(n *cluster.Node) { n.InternalIP = "fd00::1" },
			url:  "https://[fd00::1]:10250/stats/summary", fallback: "https://[fd00::1]:10250/metrics/resource",
		},
		"a host name": {
			node: func(n *cluster.Node) { n.InternalIP, n.Hostname = "", "n1.local" },
			url:  "https://n1.local:10250/stats/summary", fallback: "https://n1.local:10250/metrics/resource",
		},
		"no address": {
			node: func(n *cluster.Node) { n.InternalIP = "" }, err: "neither an InternalIP nor a Hostname",
		},
		"resource metrics at another path": {
			node: annotated("/metrics/nodes/n1/metrics/resource"),
			url:  "https://10.0.0.1:10250/stats/summary", fallback: "https://10.0.0.1:10250/metrics/nodes/n1/metrics/resource",
		},
		"a path with a host is invalid":             {node: annotated("//evil.example/x"), url: "https://10.0.0.1:10250/stats/summary"},
		"a path that begins with a host is invalid": {node: annotated("@evil.example/x"), url: "https://10.0.0.1:10250/stats/summary"},
		"a URL is no path":                          {node: annotated("https://evil.example/x"), url: "https://10.0.0.1:10250/stats/summary"},
		"an unparsable path is invalid":             {node: annotated("/%zz"), url: "https://10.0.0.1:10250/stats/summary"},
		"such a path, if nothing else is read": {
			config: func(c *settings) { c.Endpoint = Resource }, node: annotated("//evil.example/x"), err: "is not a path",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := newSettings()
			if tc.config != nil {
				tc.config(&config)
			}
			source, err := sourceOf(config, &http.Client{})
			if err != nil {
				t.Fatal(err)
			}
			node := aNode("n1")
			node.Node.InternalIP = "10.0.0.1"
			if tc.node != nil {
				tc.node(&node.Node)
			}
			_, requests := source.targets(snapshotOf(node))
			got := requests[0]
			if got.Err != nil || tc.err != "" {
				if got.Err == nil || !strings.Contains(got.Err.Error(), tc.err) {
					t.Errorf("error %v, want %q in it", got.Err, tc.err)
				}
				return
			}
			if got.URL != tc.url || got.Fallback != tc.fallback {
				t.Errorf("%s, else %s; want %s, else %s", got.URL, got.Fallback, tc.url, tc.fallback)
			}
		})
	}
}

func annotated(path string) func(*cluster.Node) {
	return func(n *cluster.Node) { n.UsageAnnotations = map[string]string{cluster.ResourceMetricsPath: path} }
}

// If a kubelet refuses its summary, its resource metrics are read instead, at once, and the summary
// is not requested for a while. CPU is known from the second reading on. Once the summary is
// allowed again, it is read.
func TestSampleFallsBack(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			k := newKubelets(t)
			now, node := clock, aNode("n1", aPod("shop", "p"))
			serve := func(summary http.Handler, seconds float64) {
				resource := body(exposed(seconds, seconds/10, now))
				k.serve(node, paths(map[string]http.Handler{"/stats/summary": summary, "/metrics/resource": resource}))
			}
			k.add(node, nil)
			source := k.source(func(c *settings) { c.Now = func() time.Time { return now } })
			sample := func(wantAsked ...string) usage.Batch {
				t.Helper()
				got, err := source.Sample(t.Context(), snapshotOf(node))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(wantAsked, k.requests()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				return got
			}
			const first, second = "10.0.0.1:10250/stats/summary", "10.0.0.1:10250/metrics/resource"
			serve(status(code), 1000)
			got := sample(first, second)
			if len(got.Pods) != 0 || len(got.Nodes) != 1 || len(got.Nodes[0].Readings) != 1 {
				t.Errorf("one scrape gives %+v, want the node's memory only", got)
			}
			now = now.Add(20 * time.Second)
			serve(status(code), 1050)
			got = sample(second)
			if diff := cmp.Diff(last(usage.CPU, now.Truncate(time.Millisecond), 2500), got.Nodes[0].Readings[0]); diff != "" {
				t.Errorf("CPU (-want +got):\n%s", diff)
			}
			if len(got.Pods) != 1 || got.Problems != nil {
				t.Errorf("pods %v, problems %v; want one and none", got.Pods, got.Problems)
			}
			now = now.Add(refusalLasts)
			serve(body(summaryOf("n1")), 0)
			if got = sample(first); got.Nodes[0].Readings[0].Value != 2000 {
				t.Errorf("%+v, want the summary's CPU", got.Nodes[0])
			}
			sample(first)
		})
	}
}

// The state of nodes and pods is dropped when they are gone. A node that missed one reading keeps
// its counters.
func TestMemoryIsBoundedByTheSnapshot(t *testing.T) {
	k := newKubelets(t)
	now := clock
	node := k.add(aNode("n1", aPod("shop", "p")), nil)
	other := k.add(aNode("n2", aPod("shop", "p")), body(exposed(1, 1, now)))
	source := k.source(func(c *settings) { c.Endpoint = Resource; c.Now = func() time.Time { return now } })
	step := func(snapshot *cluster.Snapshot, handler http.Handler) usage.Batch {
		t.Helper()
		k.serve(node, handler)
		got, err := source.Sample(t.Context(), snapshot)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
		return got
	}
	step(snapshotOf(node, other), body(exposed(1000, 1000, now)))
	step(snapshotOf(node, other), status(http.StatusInternalServerError))
	got := step(snapshotOf(node, other), body(exposed(1120, 1120, now)))
	if cpu := got.Nodes[0].Readings[0]; cpu.Metric != usage.CPU || cpu.Value != 1000 {
		t.Errorf("%+v, want CPU over the reading that failed", cpu)
	}
	node.Pods = nil
	step(snapshotOf(node), body(exposed(1180, 1180, now)))
	if len(source.nodes) != 1 || len(source.nodes["n1"].counters) != 1 {
		t.Errorf("kept %+v, want the node's own counter only", source.nodes)
	}
	node.Node.Ready = false
	if got, err := source.Sample(t.Context(), snapshotOf(node)); err != nil || got.Nodes != nil {
		t.Errorf("%+v, %v of a cluster without ready nodes, want an empty batch", got, err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	cases := map[string]struct {
		spoil func(*Config)
		want  string
	}{
		"another scheme": {func(c *Config) { c.Scheme = "ftp" }, `x.scheme: Unsupported value: "ftp"`},
		"no port":        {func(c *Config) { c.Port = 70000 }, "x.port: Invalid value: 70000"},
		"no endpoint":    {func(c *Config) { c.Endpoint = "Stats" }, `x.endpoint: Unsupported value: "Stats"`},
		"nobody asks":    {func(c *Config) { c.Concurrency = 0 }, "x.concurrency: Invalid value: 0"},
		"no name":        {func(c *Config) { c.ServiceAccount = "a/b" }, `x.serviceAccount: Invalid value: "a/b"`},
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
}

// If a source asks nodes, what it needs from the process is checked.
func TestNeedsAreChecked(t *testing.T) {
	cases := map[string]struct {
		spoil  func(*settings)
		client *http.Client
		want   string
	}{
		"no client":           {func(*settings) {}, nil, "Client must be set"},
		"a negative timeout":  {func(c *settings) { c.Timeout = -1 }, &http.Client{}, "must be positive"},
		"negative body limit": {func(c *settings) { c.maxResponseBytes = -1 }, &http.Client{}, "must be positive"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := newSettings()
			tc.spoil(&config)
			if _, err := sourceOf(config, tc.client); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

package metricsserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
)

// metricsAPI answers with fixed bodies and counts its requests.
type metricsAPI struct {
	nodes, pods string
	status      int
	hang        bool
	asked       []string
}

func (a *metricsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked = append(a.asked, r.Method+" "+r.URL.String())
	if a.hang {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	body := a.nodes
	if strings.HasSuffix(r.URL.Path, "/pods") {
		body = a.pods
	}
	_, _ = w.Write([]byte(body))
}

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC) }

func newSource(t testing.TB, api http.Handler, change ...func(*access.Env)) *Source {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	env := access.Env{REST: &rest.Config{Host: server.URL}, QueriesPerSecond: 1000, Timeout: 10 * time.Second, Now: now}
	for _, c := range change {
		c(&env)
	}
	source, err := new(Config).New(&env)
	if err != nil {
		t.Fatal(err)
	}
	return source.(*Source)
}

const empty = `{"kind":"List","items":[]}`

func nodeList(items ...string) string { return list("NodeMetricsList", items) }
func podList(items ...string) string  { return list("PodMetricsList", items) }

func list(kind string, items []string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":"metrics.k8s.io/v1beta1","metadata":{"resourceVersion":"1"},"items":[%s]}`, kind, strings.Join(items, ","))
}

func node(name, usage string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"a":"b"}},"timestamp":"2026-03-01T12:00:00Z","window":"10s","usage":%s}`, name, usage)
}

func pod(name string, usages ...string) string {
	containers := make([]string, len(usages))
	for i, u := range usages {
		containers[i] = fmt.Sprintf(`{"name":"c%d","usage":%s}`, i, u)
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns"},"timestamp":"2026-03-01T12:00:00Z","containers":[%s]}`, name, strings.Join(containers, ","))
}

func used(cpu, memory string) string { return fmt.Sprintf(`{"cpu":%q,"memory":%q}`, cpu, memory) }

func measured() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func sampled(cpuMilli, memory int64) usage.Sample {
	return usage.Sample{At: measured(), Used: cluster.Amounts{cpuMilli, memory}}
}

func unreadable(count int, examples ...string) usage.Problems {
	return usage.Problems{usage.Unreadable: {Count: count, Examples: examples}}
}

func read(cpuMilli, memory int64) []usage.Reading {
	return usage.LastReadings(measured(), cluster.Amounts{cpuMilli, memory})
}

// The cases show which items of lists are read, in the various notations of quantities, and which
// are left out.
func TestSample(t *testing.T) {
	cases := map[string]struct {
		nodes, pods string
		want        usage.Batch
	}{
		"metrics-server's nanocores and kibibytes": {
			nodes: nodeList(node("n1", used("156340491n", "1024Ki"))),
			pods:  podList(pod("p", used("1500000n", "2Mi"), used("250m", "1048576"))),
			want: usage.Batch{
				// 156.3 m is rounded up, as in Kubernetes, and so is 1.5 m to 2 m
				Nodes: []usage.NodeSample{{Name: "n1", Readings: read(157, 1<<20)}},
				Pods:  []usage.PodSample{{Namespace: "ns", Name: "p", Last: sampled(252, 3<<20)}},
			},
		},
		"nothing at all":     {nodes: empty, pods: empty},
		"items that is null": {nodes: `{"items":null}`, pods: `{"metadata":{},"items":null}`},
		"items after unknown fields": {
			nodes: `{"extra":{"items":[1,2]},"items":[` + node("n1", used("1", "1")) + `],"more":[[]]}`,
			pods:  empty,
			want:  usage.Batch{Nodes: []usage.NodeSample{{Name: "n1", Readings: read(1000, 1)}}},
		},
		"zero is a usage": {
			nodes: nodeList(node("n1", used("0", "0"))), pods: podList(pod("p", used("0", "0"))),
			want: usage.Batch{
				Nodes: []usage.NodeSample{{Name: "n1", Readings: read(0, 0)}},
				Pods:  []usage.PodSample{{Namespace: "ns", Name: "p", Last: sampled(0, 0)}},
			},
		},
		"no usage is not zero": {
			nodes: nodeList(node("none", `{}`), node("null", `null`), node("half", `{"cpu":"1"}`), node("good", used("1", "1"))),
			pods:  podList(pod("without containers"), pod("half", used("1", "1"), `{"memory":"1"}`), pod("empty", used("", ""))),
			want:  usage.Batch{Nodes: []usage.NodeSample{{Name: "good", Readings: read(1000, 1)}}, Problems: unreadable(6, "node none", "node null", "node half", "pod ns/without containers", "pod ns/half")},
		},
		"invalid quantities are left out": {
			nodes: nodeList(node("n1", used("lots", "1")), node("n2", used("1", "0x10")), node("n3", used("NaN", "1"))), pods: empty,
			want: usage.Batch{Problems: unreadable(3, "node n1", "node n2", "node n3")},
		},
		"huge numbers stay numbers": {
			nodes: nodeList(node("n1", used("9e18", "9e30"))),
			pods:  podList(pod("p", used("8E", "8E"), used("8E", "8E"), used("8E", "8E"))),
			want: usage.Batch{ // far beyond any node; the store detects such values
				Nodes: []usage.NodeSample{{Name: "n1", Readings: read(mostOfOne, mostOfOne)}},
				Pods:  []usage.PodSample{{Namespace: "ns", Name: "p", Last: sampled(3*mostOfOne, 3*mostOfOne)}},
			},
		},
		"negative numbers stay negative": { // so that the store can leave them out
			nodes: nodeList(node("n1", used("-5", "-1Mi"))), pods: empty,
			want: usage.Batch{Nodes: []usage.NodeSample{{Name: "n1", Readings: read(-5000, -1<<20)}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			api := &metricsAPI{nodes: tc.nodes, pods: tc.pods}
			got, err := newSource(t, api).Sample(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Source, tc.want.Received = Name, now()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
			want := []string{"GET /apis/metrics.k8s.io/v1beta1/nodes", "GET /apis/metrics.k8s.io/v1beta1/pods"}
			if diff := cmp.Diff(want, api.asked); diff != "" {
				t.Errorf("requests (-want +got): one list each\n%s", diff)
			}
		})
	}
}

// A reading that breaks off or is not a list leads to an error with the list and the reason, never
// to an incomplete batch.
func TestSampleFails(t *testing.T) {
	good := nodeList(node("n1", used("1", "1")))
	cases := map[string]struct {
		api  metricsAPI
		want string
	}{
		"HTML of a proxy":              {metricsAPI{nodes: "<html>busy</html>", pods: empty}, `reading metrics of nodes: decoding the list`},
		"an empty body":                {metricsAPI{pods: empty}, `reading metrics of nodes: decoding the list: offset 0: the input ends`},
		"a list without items":         {metricsAPI{nodes: `{"kind":"NodeMetricsList"}`, pods: empty}, `no items`},
		"items that are no list":       {metricsAPI{nodes: `{"items":{}}`, pods: empty}, `'{' where an array should be`},
		"an array in the list's place": {metricsAPI{nodes: `[]`, pods: empty}, `'[' where an object should be`},
		"an item that is no object":    {metricsAPI{nodes: `{"items":[7]}`, pods: empty}, `'7' where an object should be`},
		"an invalid time":              {metricsAPI{nodes: `{"items":[{"timestamp":"yesterday"}]}`, pods: empty}, `"yesterday" is not a time`},
		"a number for a quantity":      {metricsAPI{nodes: `{"items":[{"usage":{"cpu":5}}]}`, pods: empty}, `'5' where a string should be`},
		"cut off in the first list":    {metricsAPI{nodes: good[:len(good)/2], pods: empty}, `reading metrics of nodes`},
		"cut off after the items":      {metricsAPI{nodes: good[:len(good)-1], pods: empty}, `reading metrics of nodes: decoding the list: offset`},
		"cut off in the second list":   {metricsAPI{nodes: good, pods: `{"items":[{"metadata":{"name":"p`}, `reading metrics of pods`},
		"metrics-server is away":       {metricsAPI{nodes: "service unavailable", status: http.StatusServiceUnavailable}, `listing metrics of nodes`},
		"no metrics-server":            {metricsAPI{nodes: `{}`, status: http.StatusNotFound}, `the server could not find the requested resource: is metrics-server installed?`},
		"not allowed":                  {metricsAPI{nodes: `{}`, status: http.StatusForbidden}, `listing metrics of nodes`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := newSource(t, &tc.api).Sample(t.Context(), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			if diff := cmp.Diff(usage.Batch{}, got); diff != "" {
				t.Errorf("half a batch (-want +got):\n%s", diff)
			}
		})
	}
}

// A source that hangs is cancelled after its timeout.
func TestSampleTimesOut(t *testing.T) {
	source := newSource(t, &metricsAPI{hang: true}, func(c *access.Env) { c.Timeout = 50 * time.Millisecond })
	started := time.Now()
	if _, err := source.Sample(t.Context(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline's", err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("given up after %v", took)
	}
}

func TestConfigIsChecked(t *testing.T) {
	env := access.Env{REST: &rest.Config{Host: "::no host::"}, Now: now, QueriesPerSecond: 1, Timeout: time.Second}
	if _, err := new(Config).New(&env); err == nil {
		t.Error("a source without a host")
	}
}

// FuzzDecodeItems verifies that decoding any answer of a server ends with an
// error or with items.
func FuzzDecodeItems(f *testing.F) {
	f.Add(nodeList(node("n1", used("1", "1"))))
	f.Add(podList(pod("p", used("1", "1"))))
	f.Add(`{"items":[{"usage":{"cpu":"1e999999"}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		_ = decodeItems(strings.NewReader(body), func(i *item) {
			for _, amounts := range []func() (cluster.Amounts, bool){i.usage.amounts, i.sum} {
				if got, ok := amounts(); !ok && got != (cluster.Amounts{}) {
					t.Errorf("%v of an item that cannot be read", got)
				}
			}
		})
	})
}

// BenchmarkDecode decodes a list of 30,000 pods with two containers each.
func BenchmarkDecode(b *testing.B) {
	items := make([]string, 30_000)
	for i := range items {
		items[i] = pod(fmt.Sprintf("workload-%05d-6c9f4d7b8-x7k2p", i), used("156340491n", "204800Ki"), used("1234567n", "20480Ki"))
	}
	body := podList(items...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		err := decodeItems(strings.NewReader(body), func(i *item) {
			if _, ok := i.sum(); ok {
				n++
			}
		})
		if err != nil || n != len(items) {
			b.Fatal(n, err)
		}
	}
}

package main

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	lend "github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
)

func newFake(t *testing.T, watchList bool) string {
	t.Helper()
	fake := httptest.NewServer(newServer(&fleet{nodes: 3, podsPerNode: 2, updates: 100, watchList: watchList}).handler())
	t.Cleanup(fake.Close)
	return fake.URL
}

// Both ways of getting the first list result in the same cluster, in both formats, and changes
// follow.
func TestClientsSeeTheWholeCluster(t *testing.T) {
	cases := map[string]struct {
		watchList bool
		format    string
	}{
		"streamed protobuf":  {true, "application/vnd.kubernetes.protobuf"},
		"streamed JSON":      {true, "application/json"},
		"protobuf, in pages": {false, "application/vnd.kubernetes.protobuf"},
		"JSON, in pages":     {false, "application/json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := restConfig(newFake(t, tc.watchList))
			config.ContentType, config.AcceptContentTypes = tc.format, tc.format
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			factory := informers.NewSharedInformerFactory(client, 0)
			pods := factory.Core().V1().Pods()
			pods.Informer()
			store := informed.NewStore(nil)
			synced, err := store.Attach(factory)
			if err != nil {
				t.Fatal(err)
			}
			factory.Start(t.Context().Done())
			eventually(t, "the first lists", synced)
			want := &fleet{nodes: 3, podsPerNode: 2}
			for i := range want.pods() {
				if _, err := pods.Lister().Pods(want.namespace(i)).Get(want.podName(i)); err != nil {
					t.Error(err)
				}
			}
			eventually(t, "a change", func() bool {
				pod, err := pods.Lister().Pods(want.namespace(0)).Get(want.podName(0))
				return err == nil && pod.ResourceVersion != "1000"
			})
		})
	}
}

// From the first list on, an extender's reflectors store only records, and these match the objects.
func TestReflectorsKeepRecords(t *testing.T) {
	for name, watchList := range map[string]bool{"streamed": true, "in pages": false} {
		t.Run(name, func(t *testing.T) {
			client, err := kubernetes.NewForConfig(restConfig(newFake(t, watchList)))
			if err != nil {
				t.Fatal(err)
			}
			rest, store, done := client.CoreV1().RESTClient(), informed.NewStore(nil), make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer close(done)
				store.Reflect(ctx, cache.NewListWatchFromClient(rest, "nodes", "", fields.Everything()),
					cache.NewListWatchFromClient(rest, "pods", "", fields.Everything()))
			}()
			eventually(t, "the first lists", store.Synced)
			f := &fleet{nodes: 3, podsPerNode: 2}
			want := map[string]*cluster.Pod{}
			for i := range f.pods() {
				pod := informed.Pod(f.pod(i, firstVersion))
				want[pod.Key()] = pod
			}
			got := map[string]*cluster.Pod{}
			store.Observe(func(snapshot *cluster.Snapshot) {
				for _, node := range snapshot.Nodes {
					for _, pod := range node.Pods {
						got[pod.Key()] = pod
					}
				}
			})
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(cluster.Pod{}, "Created", "Started")); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			cancel()
			<-done
		})
	}
}

// Evenkeel accepts the fake's usage without a problem.
func TestUsageIsSane(t *testing.T) {
	url := newFake(t, true)
	median := usage.Window{Kind: usage.KindQuantile, Percentile: 50, Over: usage.Avg5m.Over}
	env := lend.Env{
		REST: &rest.Config{Host: url}, QueriesPerSecond: 100, Timeout: 5 * time.Second, Now: time.Now,
		Windows: []usage.Window{usage.Avg5m, median}, Metrics: []usage.Metric{usage.CPU, usage.Memory},
	}
	fromMetrics, err := new(metricsserver.Config).New(&env)
	if err != nil {
		t.Fatal(err)
	}
	server := new(prometheus.Config).Default().(*prometheus.Config)
	server.Address = url
	fromPrometheus, err := server.New(&env)
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]observer.Source{"metrics.k8s.io": fromMetrics, "Prometheus": fromPrometheus} {
		t.Run(name, func(t *testing.T) {
			o := newObserver(t, source, median)
			o.Sample(t.Context())
			told := o.Latest().Sources[0]
			if told.Err != nil || told.Nodes != 3 || told.Pods != 6 || len(told.Problems) > 0 {
				t.Errorf("%d nodes and %d pods are reported, want 3 and 6; problems %v, error %v", told.Nodes, told.Pods, told.Problems, told.Err)
			}
		})
	}
}

// newObserver returns an Observer that knows the fake's cluster.
func newObserver(t *testing.T, source observer.Source, windows ...usage.Window) *observer.Observer {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Name: "default"}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	o, err := observer.New(observer.Config{
		Sources: []observer.Source{source}, Lines: set, SampleInterval: 15 * time.Second, Now: time.Now,
		Usage: usage.Config{SampleInterval: 15 * time.Second, MaxAge: time.Minute, Windows: windows},
		Hot:   thresholds.HotRule{ConsecutiveSamples: 3, SampleInterval: 15 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{nodes: 3, podsPerNode: 2}
	for i := range f.nodes {
		o.Store().SetNode(node(i, firstVersion))
	}
	for i := range f.pods() {
		o.Store().SetPod(f.pod(i, firstVersion))
	}
	return o
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker, end := time.NewTicker(10*time.Millisecond), time.After(20*time.Second)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-end:
			t.Fatalf("%s did not come", what)
		}
	}
}

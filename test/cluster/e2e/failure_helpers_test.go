package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// impatient is fast with the shortest observation that the policy allows.
var impatient = strings.NewReplacer("observationPeriod: 25s", "observationPeriod: 10s", "minWindow: 15s", "minWindow: 10s").Replace(fast)

// skewed is a cluster whose hot nodes look emptiest by requests.
type skewed struct {
	nodes, hot []string
	fewest     int
}

// skew makes two of six nodes hot with pods that request little and fills the requests of the others.
//
//	hot node:   12 hog × 2200m = 26.4 of 32 cores = 82.5 %; requests 12 × 250m =  3 cores; under 65 % (20.8) takes 3 hogs off
//	other node:  8 bg  ×  300m =  2.4 of 32 cores =  7.5 %; requests  8 × 2    = 16 cores
func (f *fixture) skew() skewed {
	f.t.Helper()
	nodes, err := f.AddNodes(f.t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		f.t.Fatal(err)
	}
	hog := workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "256Mi"})
	bg := workload("bg", cluster.Resources{CPU: "2", Memory: "128Mi"}, cluster.Resources{CPU: "300m", Memory: "256Mi"})
	err = f.Place(f.t.Context(),
		cluster.Placement{Workload: hog, On: on(12, nodes[:2]...)},
		cluster.Placement{Workload: bg, On: on(8, nodes[2:]...)})
	if err != nil {
		f.t.Fatal(err)
	}
	return skewed{nodes: nodes, hot: nodes[:2], fewest: 6}
}

func shippedExtender() schedulerv1.Extender { return cluster.Extender("http://" + shared.listen) }

// restoreScheduler has the next case find kube-scheduler running with the extender.
func (f *fixture) restoreScheduler() {
	f.t.Helper()
	ctx := context.WithoutCancel(f.t.Context())
	f.t.Cleanup(func() {
		if err := f.RestartScheduler(ctx, shippedExtender()); err != nil {
			f.t.Error(err)
		}
	})
}

func (f *fixture) schedulerWithoutExtender() {
	f.t.Helper()
	f.restoreScheduler()
	if err := f.RestartScheduler(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// stopMetricsServer stops metrics-server for the rest of the case, unless the case restarts it.
func (f *fixture) stopMetricsServer() {
	f.t.Helper()
	ctx := context.WithoutCancel(f.t.Context())
	if err := f.Shutdown(cluster.MetricsServer); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if f.Running(cluster.MetricsServer) {
			return
		}
		if err := f.Restart(ctx, cluster.MetricsServer); err != nil {
			f.t.Error(err)
		}
	})
}

func (f *fixture) freeAddress() string {
	f.t.Helper()
	address, err := evenkeel.FreeAddress()
	if err != nil {
		f.t.Fatal(err)
	}
	return address
}

// metric reads one series of a process's metrics page, 0 when it is not there.
func (f *fixture) metric(address, series string) float64 {
	f.t.Helper()
	status, body, err := evenkeel.Get(f.t.Context(), "http://"+address+"/metrics")
	if err != nil || status != http.StatusOK {
		f.t.Fatalf("reading metrics: status %d: %v", status, err)
	}
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), series+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				f.t.Fatal(err)
			}
			return value
		}
	}
	return 0
}

func (f *fixture) cycles(address string) float64 {
	f.t.Helper()
	return f.metric(address, `evenkeel_cycles_total{result="success"}`)
}

// waitCycles waits until so many more cycles have ended.
func (f *fixture) waitCycles(address string, n float64) {
	f.t.Helper()
	begin := f.cycles(address)
	f.eventually(2*time.Minute, fmt.Sprintf("%v more cycles", n), func(context.Context) bool { return f.cycles(address) >= begin+n })
}

// fetch decodes the JSON of a page.
func (f *fixture) fetch(url string, into any) {
	f.t.Helper()
	status, body, err := evenkeel.Get(f.t.Context(), url)
	if err != nil || status != http.StatusOK {
		f.t.Fatalf("fetching %s: status %d: %v", url, status, err)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		f.t.Fatalf("fetching %s: %v", url, err)
	}
}

// extenderStatus is what these tests need of GET /status.
type extenderStatus struct {
	Asked      int64 `json:"asked"`
	FreshNodes int   `json:"freshNodes"`
}

func (f *fixture) status(listen string) (status extenderStatus) {
	f.t.Helper()
	f.fetch("http://"+listen+"/status", &status)
	return status
}

// ask posts to a verb what kube-scheduler would about a small pod without an owner.
func (f *fixture) ask(url string, nodes []string, into any) {
	f.t.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "by-hand", UID: types.UID("by-hand")},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name:      "main",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}},
		}}},
	}
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
	if err != nil {
		f.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		f.t.Fatalf("asking %s: %s", url, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		f.t.Fatalf("asking %s: %v", url, err)
	}
}

// filter returns the nodes that an extender keeps.
func (f *fixture) filter(listen string, nodes []string) []string {
	f.t.Helper()
	var result extenderv1.ExtenderFilterResult
	f.ask("http://"+listen+"/filter", nodes, &result)
	if result.NodeNames == nil || result.Error != "" {
		f.t.Fatalf("filter answered without node names: %+v", result)
	}
	return *result.NodeNames
}

// wantNeutral fails the case unless an extender keeps all nodes and scores them alike.
func (f *fixture) wantNeutral(listen string, nodes []string) {
	f.t.Helper()
	if kept := f.filter(listen, nodes); !slices.Equal(kept, nodes) {
		f.t.Errorf("without usage data filter kept %v, want all of %v", kept, nodes)
	}
	var scores extenderv1.HostPriorityList
	f.ask("http://"+listen+"/prioritize?full", nodes, &scores)
	if len(scores) != len(nodes) {
		f.t.Fatalf("without usage data prioritize scored %d of %d nodes", len(scores), len(nodes))
	}
	for _, score := range scores {
		if score.Score != scores[0].Score {
			f.t.Errorf("without usage data prioritize prefers nodes: %v", scores)
			return
		}
	}
}

// podsPerSecond has kube-scheduler, started anew with the extenders, bind pods that wait for it, and returns how many it
// bound per second from the first to the last. All of them being bound is part of every case.
func (f *fixture) podsPerSecond(name string, pods int, extenders []schedulerv1.Extender) float64 {
	f.t.Helper()
	if err := f.Shutdown(cluster.Scheduler); err != nil {
		f.t.Fatal(err)
	}
	w := workload(name, cluster.Resources{CPU: "10m", Memory: "16Mi"}, cluster.Resources{CPU: "1m", Memory: "1Mi"})
	w.Replicas = pods
	if err := f.Create(f.t.Context(), w); err != nil {
		f.t.Fatal(err)
	}
	f.eventually(30*time.Second, "the pods to be created", func(ctx context.Context) bool { return len(f.pods(ctx, name)) == pods })

	elapsed := f.watchBindings(name, pods)
	if err := f.RestartScheduler(f.t.Context(), extenders...); err != nil {
		f.t.Fatal(err)
	}
	select {
	case took := <-elapsed:
		return float64(pods-1) / took.Seconds()
	case <-time.After(90 * time.Second):
		f.t.Fatalf("%s: not all of %d pods were bound within 90 s", name, pods)
		return 0
	}
}

// watchBindings delivers the time between the first and the last of so many bindings.
func (f *fixture) watchBindings(name string, pods int) <-chan time.Duration {
	f.t.Helper()
	// Not a bare watch: the API server ends one that falls behind in such a burst.
	factory := informers.NewSharedInformerFactoryWithOptions(f.Client(), 0, informers.WithNamespace("shop"),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app=" + name }))
	informer := factory.Core().V1().Pods().Informer()
	elapsed := make(chan time.Duration, 1)
	bound := map[types.UID]bool{}
	var first time.Time
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, object any) {
		pod, ok := object.(*v1.Pod)
		if !ok || pod.Spec.NodeName == "" || bound[pod.UID] {
			return
		}
		if bound[pod.UID] = true; len(bound) == 1 {
			first = time.Now()
		}
		if len(bound) == pods {
			elapsed <- time.Since(first)
		}
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	factory.Start(f.t.Context().Done())
	factory.WaitForCacheSync(f.t.Context().Done())
	return elapsed
}

package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Move is a move in GET /status.
type Move struct {
	Pod, From, To, Node, State, Replacement string
	Asked                                   bool
}

// Moves returns the ledger of the serving Evenkeel, with ended moves first, the oldest
// first.
func (f *Fixture) Moves() []Move {
	f.T.Helper()
	var status struct{ Moves []Move }
	f.Fetch(Reports()+"/status", &status)
	return status.Moves
}

// States returns each node's state according to the serving Evenkeel.
func (f *Fixture) States(context.Context) map[string]string {
	f.T.Helper()
	var nodes []struct{ Name, State string }
	f.Fetch(Reports()+"/nodes", &nodes)
	states := map[string]string{}
	for _, node := range nodes {
		states[node.Name] = node.State
	}
	return states
}

// Measured reports whether the serving Evenkeel has measured a five-minute mean of at
// least the given percentage of CPU on all given nodes. The mean is too low at first,
// because it covers a time at which pods were still being created.
func (f *Fixture) Measured(atLeast float64, nodes ...string) bool {
	f.T.Helper()
	var all []struct {
		Name string
		Used map[string]struct{ CPU float64 }
	}
	f.Fetch(Reports()+"/nodes", &all)
	used := map[string]float64{}
	for _, node := range all {
		used[node.Name] = node.Used["avg_5m"].CPU
	}
	return !slices.ContainsFunc(nodes, func(node string) bool { return used[node] < atLeast })
}

// Are reports whether all given nodes are in a state according to the serving Evenkeel.
func (f *Fixture) Are(state string, nodes ...string) bool {
	f.T.Helper()
	states := f.States(f.T.Context())
	return !slices.ContainsFunc(nodes, func(node string) bool { return states[node] != state })
}

// Planned is the part of the output of `plan -o json` that cases read.
type Planned struct {
	Closed   string
	Moves    []struct{ Pod, From, To, Reason string }
	Declined []struct{ Pod, Node, Reason, Detail string }
	Nodes    []struct {
		Name, State, Reason string
		Relief              struct {
			Moves int
			Text  string
		}
	}
}

// Plan runs `evenkeel plan -o json`, which observes for as long as the policy requires.
func (f *Fixture) Plan(ctx context.Context, policy string) Planned {
	f.T.Helper()
	command := exec.CommandContext(ctx, Binary(), "plan", "-o", "json",
		"--kubeconfig", f.Access.Evenkeel, "--namespace", evenkeel.Namespace, "--policy-config-file", policy)
	var log bytes.Buffer
	command.Stderr = &log
	out, err := command.Output()
	if err != nil {
		f.T.Fatalf("evenkeel plan: %v\n%s", err, log.String())
	}
	var plan Planned
	if err := json.Unmarshal(out, &plan); err != nil {
		f.T.Fatalf("evenkeel plan: %v in:\n%s", err, out)
	}
	return plan
}

// Reasons returns why a plan does not move the pods of a workload on a node. Each reason
// is listed once, with one of its details.
func (p *Planned) Reasons(node, workload string) (reasons map[string]string, pods int) {
	reasons = map[string]string{}
	for _, declined := range p.Declined {
		if declined.Node == node && strings.HasPrefix(declined.Pod, workload) {
			reasons[declined.Reason] = declined.Detail
			pods++
		}
	}
	return reasons, pods
}

// PodsByUID lists all pods of namespace shop by their UID.
func (f *Fixture) PodsByUID(ctx context.Context) map[string]v1.Pod {
	f.T.Helper()
	list, err := f.Client().CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	pods := map[string]v1.Pod{}
	for _, pod := range list.Items {
		pods[string(pod.UID)] = pod
	}
	return pods
}

// Impatient makes policies of Fast use the shortest observation period that is allowed.
var Impatient = strings.NewReplacer("observationPeriod: 25s", "observationPeriod: 10s", "minWindow: 15s", "minWindow: 10s").Replace(Fast)

// Skewed is a cluster whose hot nodes look emptiest by requests.
type Skewed struct {
	Nodes, Hot []string
	Fewest     int
}

// Skew makes two of six nodes hot with pods that request little, and fills the others
// with requests.
//
//	hot node:   12 hog × 2200m = 26.4 of 32 cores = 82.5 %; requests 12 × 250m =  3 cores; under 65 % (20.8) takes 3 hogs off
//	other node:  8 bg  ×  300m =  2.4 of 32 cores =  7.5 %; requests  8 × 2    = 16 cores
func (f *Fixture) Skew() Skewed {
	f.T.Helper()
	nodes, err := f.AddNodes(f.T.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		f.T.Fatal(err)
	}
	hog := Workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "256Mi"})
	bg := Workload("bg", cluster.Resources{CPU: "2", Memory: "128Mi"}, cluster.Resources{CPU: "300m", Memory: "256Mi"})
	err = f.Place(f.T.Context(),
		cluster.Placement{Workload: hog, On: On(12, nodes[:2]...)},
		cluster.Placement{Workload: bg, On: On(8, nodes[2:]...)})
	if err != nil {
		f.T.Fatal(err)
	}
	return Skewed{Nodes: nodes, Hot: nodes[:2], Fewest: 6}
}

// ShippedExtender returns the shipped kube-scheduler configuration for Evenkeel.
func ShippedExtender() schedulerv1.Extender { return cluster.Extender("http://" + Listen()) }

// RestoreScheduler restarts kube-scheduler with the extender, for the next case.
func (f *Fixture) RestoreScheduler() {
	f.T.Helper()
	ctx := context.WithoutCancel(f.T.Context())
	f.T.Cleanup(func() {
		if err := f.RestartScheduler(ctx, ShippedExtender()); err != nil {
			f.T.Error(err)
		}
	})
}

// StopMetricsServer stops metrics-server until the case ends or restarts it.
func (f *Fixture) StopMetricsServer() {
	f.T.Helper()
	ctx := context.WithoutCancel(f.T.Context())
	if err := f.Shutdown(cluster.MetricsServer); err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		if f.Running(cluster.MetricsServer) {
			return
		}
		if err := f.Restart(ctx, cluster.MetricsServer); err != nil {
			f.T.Error(err)
		}
	})
}

// FreeAddress returns an unused address.
func (f *Fixture) FreeAddress() string {
	f.T.Helper()
	address, err := evenkeel.FreeAddress()
	if err != nil {
		f.T.Fatal(err)
	}
	return address
}

// Metric returns one series from a process's metrics page; 0 if it is missing.
func (f *Fixture) Metric(address, series string) float64 {
	f.T.Helper()
	value, err := f.ReadMetric(address, series)
	if err != nil {
		f.T.Fatal(err)
	}
	return value
}

// ReadMetric is like Metric, but returns an error if the process does not answer. A case that
// polls can try again, because a busy machine may delay any single answer.
func (f *Fixture) ReadMetric(address, series string) (float64, error) {
	status, body, err := evenkeel.Get(f.T.Context(), "http://"+address+"/metrics")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return 0, fmt.Errorf("reading metrics: %w", err)
	}
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), series+" "); ok {
			return strconv.ParseFloat(text, 64)
		}
	}
	return 0, nil
}

// Fetch decodes a page with JSON. It waits for an answer, because a process starts its
// servers one after the other.
func (f *Fixture) Fetch(url string, into any) {
	f.T.Helper()
	var status int
	var body string
	f.Eventually(5*time.Second, "an answer from "+url, func(ctx context.Context) (answered bool) {
		var err error
		status, body, err = evenkeel.Get(ctx, url)
		return err == nil
	})
	if status != http.StatusOK {
		f.T.Fatalf("fetching %s: status %d: %.300s", url, status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		f.T.Fatalf("fetching %s: %v", url, err)
	}
}

// ExtenderStatus is the part of GET /status that the tests need.
type ExtenderStatus struct {
	Asked      int64 `json:"asked"`
	FreshNodes int   `json:"freshNodes"`
}

// Status fetches GET /status.
func (f *Fixture) Status(listen string) (status ExtenderStatus) {
	f.T.Helper()
	f.Fetch(evenkeel.Reports(listen)+"/status", &status)
	return status
}

// Ask posts the request that kube-scheduler would send to a verb for a small pod without
// an owner.
func (f *Fixture) Ask(url string, nodes []string, into any) {
	f.T.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "by-hand", UID: types.UID("by-hand")},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name:      "main",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}},
		}}},
	}
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
	if err != nil {
		f.T.Fatal(err)
	}
	request, err := http.NewRequestWithContext(f.T.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		f.T.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.T.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		f.T.Fatalf("asking %s: %s", url, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		f.T.Fatalf("asking %s: %v", url, err)
	}
}

// Filter returns the nodes that an extender keeps.
func (f *Fixture) Filter(listen string, nodes []string) []string {
	f.T.Helper()
	var result extenderv1.ExtenderFilterResult
	f.Ask("http://"+listen+"/filter", nodes, &result)
	if result.NodeNames == nil || result.Error != "" {
		f.T.Fatalf("filter answered without node names: %+v", result)
	}
	return *result.NodeNames
}

// WantNeutral fails the case unless an extender keeps all nodes and gives all of them the
// same score.
func (f *Fixture) WantNeutral(listen string, nodes []string) {
	f.T.Helper()
	if kept := f.Filter(listen, nodes); !slices.Equal(kept, nodes) {
		f.T.Errorf("without usage data filter kept %v, want all of %v", kept, nodes)
	}
	var scores extenderv1.HostPriorityList
	f.Ask("http://"+listen+"/prioritize?full", nodes, &scores)
	if len(scores) != len(nodes) {
		f.T.Fatalf("without usage data prioritize scored %d of %d nodes", len(scores), len(nodes))
	}
	for _, score := range scores {
		if score.Score != scores[0].Score {
			f.T.Errorf("without usage data prioritize prefers nodes: %v", scores)
			return
		}
	}
}

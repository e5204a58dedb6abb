package live

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

// contentionPolicy makes a node hot by contention long before its CPU usage would.
const contentionPolicy = `apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sources: [{type: Kubelet, kubelet: {scheme: http}}]}
lines:
  cpu: {low: 45, reject: 90, evict: 95, leave: 90}
  memory: {}
  cpu.contention: {reject: 15, evict: 25, leave: 15}
hot: {windows: [last], consecutiveSamples: 2, minWindow: 30s, startup: 0s}
`

// working is a pod with one container: its usage, how long it waits, and its limit, or 0 if it has
// none.
type working struct {
	name       string
	usedMilli  int64
	waited     float64
	limitMilli int64
}

// servedNode returns a node with 10 cores whose kubelet serves a summary.
func servedNode(t *testing.T, name string, now *time.Time, pods []working) *v1.Node {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		at := metav1.NewTime(*now)
		cpu := func(milli int64, waited float64) *statsapi.CPUStats {
			return &statsapi.CPUStats{Time: at, UsageNanoCores: new(uint64(milli) * 1_000_000), PSI: &statsapi.PSIStats{
				Some: statsapi.PSIData{Total: 1e9, Avg60: waited, Avg300: waited},
			}}
		}
		memory := &statsapi.MemoryStats{Time: at, WorkingSetBytes: new(uint64(1 << 20))}
		summary, used := statsapi.Summary{}, int64(100)
		for _, p := range pods {
			used += p.usedMilli
			summary.Pods = append(summary.Pods, statsapi.PodStats{
				PodRef: statsapi.PodReference{Namespace: "shop", Name: p.name, UID: "uid-" + p.name}, CPU: cpu(p.usedMilli, p.waited), Memory: memory,
				Containers: []statsapi.ContainerStats{{Name: "main", CPU: cpu(p.usedMilli, p.waited), Memory: memory}},
			})
		}
		// This is how long any task on the node waited, throttled or not.
		summary.Node = statsapi.NodeStats{NodeName: name, CPU: cpu(used, 95), Memory: &statsapi.MemoryStats{Time: at, WorkingSetBytes: new(uint64(1 << 30))}}
		_ = json.NewEncoder(w).Encode(summary)
	}))
	t.Cleanup(server.Close)
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("64Gi")}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{
		Allocatable: list, Capacity: list, Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: host}},
		DaemonEndpoints: v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: int32(number)}},
		Conditions:      []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
	}}
}

// started is when all pods started.
var started = time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)

func (p *working) object(node string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: p.name, UID: types.UID("uid-" + p.name), OwnerReferences: []metav1.OwnerReference{
			{Kind: "ReplicaSet", Name: "of-" + p.name, UID: types.UID("of-" + p.name), Controller: new(true)},
		}},
		Spec:   v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main"}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: started}},
	}
	pod.CreationTimestamp = *pod.Status.StartTime
	if p.limitMilli > 0 {
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(p.limitMilli, resource.DecimalSI)}
	}
	return pod
}

// observing reads these nodes with the policy, as often as it takes until a node is hot.
func observing(t *testing.T, pods map[string][]working) *observer.Observation {
	t.Helper()
	file, err := policy.Load("policy.yaml", []byte(contentionPolicy), kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	load, now := &file.Load, started.Add(time.Hour)
	config, err := settings.Observing(load, nil)
	if err != nil {
		t.Fatal(err)
	}
	config.Now = func() time.Time { return now }
	reader, err := kinds.New(load.Usage.Sources[0].Config, &access.Env{
		REST: &rest.Config{}, Now: config.Now, Timeout: time.Minute, Interval: time.Minute, QueriesPerSecond: 1000,
		Windows: settings.Windows(load), Metrics: append([]usage.Metric{usage.CPU, usage.Memory}, settings.Signals(load)...),
	})
	if err != nil {
		t.Fatal(err)
	}
	config.Sources = []observer.Source{reader}
	o, err := observer.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, on := range pods {
		o.Store().SetNode(servedNode(t, name, &now, on))
		for i := range on {
			o.Store().SetPod(on[i].object(name))
		}
	}
	for range 4 {
		now = now.Add(15 * time.Second)
		o.Sample(t.Context())
	}
	return o.Latest()
}

// anywhere accepts every pod.
type anywhere struct{}

func (anywhere) Fits(*cluster.Pod, string) (bool, string)  { return true, "" }
func (anywhere) Scores(*cluster.Pod, []string) []int64     { return nil }
func (anywhere) Move(*cluster.Pod, string) (func(), error) { return func() {}, nil }

// plannedBy returns what a cycle would do after an observation.
func plannedBy(o *observer.Observation) *status.Planned {
	in := plan.Input{Placement: anywhere{}}
	for i, info := range o.View.Snapshot.Nodes {
		node := plan.Node{
			Name: info.Node.Name, Allocatable: info.Node.Allocatable, State: o.States[info.Node.Name].State,
			Current: o.View.Nodes[i].Current[usage.AtAvg5m], Ceiling: o.Board.Ceiling(cluster.NodeIndex(i)), Need: o.Lines.Need(i, cluster.Amounts{}),
		}
		node.Predicted, _ = o.Board.Predicted(cluster.NodeIndex(i))
		for k, pod := range info.Pods {
			node.Pods = append(node.Pods, strategies.Pod{Pod: pod, Usage: o.View.Nodes[i].Pods[k].Used})
		}
		in.Nodes = append(in.Nodes, node)
	}
	return &status.Planned{Basis: &in, Plan: plan.New(in)}
}

// The test covers the way from a kubelet's summary to the move and its reason. A node whose
// containers wait for each other is hot, and the pod that relieves it moves. A node whose
// containers wait because of their own limits is left alone, although both nodes report the same
// pressure.
func TestContentionFromTheSummaryToTheMove(t *testing.T) {
	var crowd, throttled []working
	for i := range 8 {
		crowd = append(crowd, working{name: fmt.Sprint("web-", i), usedMilli: 700, waited: 40})
		throttled = append(throttled, working{name: fmt.Sprint("capped-", i), usedMilli: 990, waited: 95, limitMilli: 1000})
	}
	crowd = append(crowd, working{name: "big", usedMilli: 2000, waited: 40}, working{name: "bound", usedMilli: 500, waited: 95, limitMilli: 500})
	o := observing(t, map[string][]working{"crowded": crowd, "throttled": throttled, "calm": {{name: "quiet", usedMilli: 900, waited: 1}}})

	states := map[string]thresholds.State{}
	for name, state := range o.States {
		states[name] = state.State
	}
	wantStates := map[string]thresholds.State{"crowded": thresholds.Hot, "throttled": thresholds.Warm, "calm": thresholds.Cool}
	if diff := cmp.Diff(wantStates, states); diff != "" {
		t.Fatalf("states, unknown for %q (-want +got):\n%s", o.View.Nodes[0].Unknown, diff)
	}
	facts := &status.Facts{View: o.View, Board: o.Board, States: o.States, Lines: o.Lines, SamplesNeeded: 2, Planned: plannedBy(o)}
	var moves []string
	for _, move := range facts.Planned.Plan.Moves {
		moves = append(moves, move.Name+" to "+move.To)
	}
	// 8200m are used, of which 4500m do not wait. Of the remaining 3700m, which wait 40% of the
	// time, 15/40 have to leave: 1388m.
	if diff := cmp.Diff([]string{"big to calm"}, moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	got, err := status.OfNode(facts, "crowded")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cpu.contention 40.0% (last) is above the 25% evict line"}, got.Over); diff != "" {
		t.Errorf("why it is hot (-want +got):\n%s", diff)
	}
	if got.HasToLeave.CPUMilli != 1388 || !strings.Contains(got.Summary, "cpu.contention") {
		t.Errorf("%d m have to leave, want 1388; summary %q", got.HasToLeave.CPUMilli, got.Summary)
	}
}

package landings

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
)

// seen returns an observation of nodes that use the given percentages of ten cores.
func seen(t *testing.T, percents map[string]int64, crowded string) *observer.Observation {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	view := &usage.View{Windows: []usage.Window{usage.Last, usage.Avg5m}, Snapshot: &cluster.Snapshot{}}
	var names []string
	for name := range percents {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		size := cluster.Amounts{10_000, 100 << 30}
		node := &cluster.NodePods{Node: cluster.Node{Name: name, Allocatable: size, Capacity: size, Ready: true, Schedulable: true}}
		if name == crowded {
			node.Pods = append(node.Pods, &cluster.Pod{Priority: 0})
		}
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, node)
		used := []cluster.Amounts{{100 * percents[name], 1 << 30}, {100 * percents[name], 1 << 30}}
		view.Nodes = append(view.Nodes, usage.NodeUsage{
			Measured: used, Current: used, Predicted: used, SourceSpan: make([]time.Duration, 2), Sampled: time.Now(),
		})
	}
	lines := set.Resolve(view)
	return &observer.Observation{View: view, Lines: lines, Board: scorer.NewBoard(view, lines, scorer.Config{})}
}

// A replacement that is restricted to nodes gets its destination and the coolest other nodes that
// accept it: never its source, never a hot node, and never one on which it may preempt a pod.
func TestOf(t *testing.T) {
	one, never := int32(1), v1.PreemptNever
	plain, important := v1.PodSpec{}, v1.PodSpec{Priority: &one}
	polite := v1.PodSpec{Priority: &one, PreemptionPolicy: &never}
	cases := map[string]struct {
		to      string
		spec    v1.PodSpec
		crowded string // a node with a pod of priority 0
		full    string // a node that accepts no pod
		want    []string
	}{
		"its destination, then the coolest":  {to: "warm", spec: plain, want: []string{"warm", "cool", "mild"}},
		"pods of the same priority are safe": {to: "cool", spec: plain, crowded: "cool", want: []string{"cool", "mild", "warm"}},
		"it may preempt on its destination":  {to: "cool", spec: important, crowded: "cool"},
		"it may preempt on an alternate":     {to: "cool", spec: important, crowded: "mild", want: []string{"cool", "warm"}},
		"it preempts nobody":                 {to: "cool", spec: polite, crowded: "cool", want: []string{"cool", "mild", "warm"}},
		"an alternate that is full":          {to: "cool", spec: plain, full: "mild", want: []string{"cool", "warm"}},
		"a destination that is gone":         {to: "gone", spec: plain},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observation := seen(t, map[string]int64{"cool": 10, "mild": 30, "warm": 50, "hot": 97, "hotter": 99}, tc.crowded)
			move := ledger.Intent{From: "hot", To: tc.to, Usage: cluster.Amounts{100, 1 << 20}}
			got := Of(observation, &move, &v1.Pod{Spec: tc.spec}, func(node string) bool { return node != tc.full })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("landings (-want +got):\n%s", diff)
			}
		})
	}
}

// Only nodes that take part and can run the pod are named.
func TestOfStaysOnThePlatform(t *testing.T) {
	observation := seen(t, map[string]int64{"arm": 5, "cool": 10, "mild": 30, "other": 20, "warm": 50, "hot": 97}, "")
	for _, info := range observation.View.Snapshot.Nodes {
		info.Node.Labels = map[string]string{"kubernetes.io/arch": "amd64"}
		switch info.Node.Name {
		case "arm":
			info.Node.Labels["kubernetes.io/arch"] = "arm64"
		case "other":
			info.Node.Unselected = true
		}
	}
	move := ledger.Intent{From: "hot", To: "warm", Usage: cluster.Amounts{100, 1 << 20}}
	got := Of(observation, &move, &v1.Pod{}, func(string) bool { return true })
	if diff := cmp.Diff([]string{"warm", "cool", "mild"}, got); diff != "" {
		t.Errorf("landings (-want +got):\n%s", diff)
	}
}

// However many nodes there are, a pod gets only a few names, and only a few nodes are checked.
func TestOfIsBounded(t *testing.T) {
	percents := map[string]int64{"hot": 97}
	for i := range 100 {
		percents[fmt.Sprintf("n%03d", i)] = 10
	}
	observation, looks := seen(t, percents, ""), 0
	move := ledger.Intent{From: "hot", To: "n050", Usage: cluster.Amounts{100, 1 << 20}}
	for takes, want := range map[bool]int{true: Most, false: 1} {
		looks = 0
		got := Of(observation, &move, &v1.Pod{}, func(string) bool { looks++; return takes })
		if len(got) != want || looks > maxTries {
			t.Errorf("%d names after %d looks, want %d", len(got), looks, want)
		}
	}
}

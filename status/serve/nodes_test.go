package serve

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/observed"
)

const gib = 1 << 30

// fleet is a source of nodes with 10 cores and 100 GiB. It does not report resources whose usage is zero.
type fleet struct {
	now    time.Time
	window usage.Window
	used   map[string]cluster.Amounts
}

func (*fleet) Name() string { return "fleet" }

func (f *fleet) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	batch := usage.Batch{Source: "fleet", Received: f.now}
	for name, used := range f.used {
		readings := slices.DeleteFunc(usage.LastReadings(f.now, used), func(r usage.Reading) bool { return r.Value == 0 })
		for i := range readings {
			readings[i].Window = f.window
		}
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: name, Readings: readings})
	}
	return batch, nil
}

// watching returns an observer of the fleet's CPU over five minutes, with an evict line of 65% that
// requires 75 s of samples.
func (f *fleet) watching(t *testing.T) *observer.Observer {
	t.Helper()
	rule := thresholds.Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}}
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{rule}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	o, err := observer.New(observer.Config{
		Sources: []observer.Source{f}, Lines: set, SampleInterval: 15 * time.Second, Now: func() time.Time { return f.now },
		Usage: usage.Config{SampleInterval: 15 * time.Second, MaxAge: 90 * time.Second, MinWindow: 75 * time.Second, Optional: [...]bool{cluster.Memory: true}},
		Hot:   thresholds.HotRule{ConsecutiveSamples: 3, SampleInterval: 15 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"burning", "idle", "silent"} {
		o.Store().SetNode(&v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: v1.NodeStatus{
				Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
				Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
			},
		})
	}
	for _, name := range []string{"a", "b"} {
		o.Store().SetPod(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
			Spec: v1.PodSpec{NodeName: "burning", Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("4Gi")},
			}}}},
			Status: v1.PodStatus{Phase: v1.PodRunning},
		})
	}
	return o
}

// brief is a node's state and the windows that were evaluated.
type brief struct {
	State, Unknown, Now string
	Over                []string
	CPU                 float64 // -1 means unknown
	Windows             map[string]status.Percents
}

func briefs(o *observer.Observation) map[string]brief {
	all := map[string]brief{}
	for _, n := range observed.Nodes(o) {
		cpu := -1.0
		if n.CPU.UsedPercent != nil {
			cpu = *n.CPU.UsedPercent
		}
		all[n.Name] = brief{n.State, n.Unknown, n.Now, n.Over, cpu, n.Used}
	}
	return all
}

// One reading shows the usage of nodes and their provisional states. A window is shown if it was evaluated, and known
// usage is never missing.
func TestNodeStatuses(t *testing.T) {
	burning, idle := status.Percents{CPU: 96.6, Memory: 40}, status.Percents{CPU: 10, Memory: 20}
	over := []string{"cpu 96.6% (last) is above the 65% evict line"}
	silent := brief{State: "unknown", Unknown: "NoUsageSample", CPU: -1}
	is := func(windows ...string) func(status.Percents) map[string]status.Percents {
		return func(p status.Percents) map[string]status.Percents {
			all := map[string]status.Percents{}
			for _, window := range windows {
				all[window] = p
			}
			return all
		}
	}
	last, both, given := is("last"), is("last", "avg_5m"), is("avg_5m")
	cases := map[string]struct {
		window usage.Window
		// readings is how many readings are taken, one every 15 s. later is how long after the last
		// one the status is read.
		readings int
		later    time.Duration
		want     map[string]brief
	}{
		"one reading": {usage.Last, 1, 0, map[string]brief{
			"burning": {"unknown", "WindowTooShort", "hot", over, 96.6, last(burning)}, "idle": {"unknown", "WindowTooShort", "cool", nil, 10, last(idle)}, "silent": silent,
		}},
		"windows that are filled": {usage.Last, 6, 0, map[string]brief{
			"burning": {"hot", "", "hot", over, 96.6, both(burning)}, "idle": {"cool", "", "cool", nil, 10, both(idle)}, "silent": silent,
		}},
		"one reading of a source that gives a window": {usage.Avg5m, 1, 0, map[string]brief{
			"burning": {"hot", "", "hot", over, 96.6, given(burning)}, "idle": {"cool", "", "cool", nil, 10, given(idle)}, "silent": silent,
		}},
		"a source that is away": {usage.Last, 6, 2 * time.Minute, map[string]brief{
			"burning": {"unknown", "UsageStale", "", nil, -1, is()(burning)}, "idle": {"unknown", "UsageStale", "", nil, -1, is()(idle)}, "silent": silent,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := &fleet{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), window: tc.window}
			f.used = map[string]cluster.Amounts{"burning": {9660, 40 * gib}, "idle": {1000, 20 * gib}}
			o := f.watching(t)
			for range tc.readings {
				f.now = f.now.Add(15 * time.Second)
				o.Sample(t.Context())
			}
			if tc.later > 0 {
				f.now, f.used = f.now.Add(tc.later), nil
				o.Sample(t.Context())
			}
			if diff := cmp.Diff(tc.want, briefs(o.Latest())); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceStatus(t *testing.T) {
	f := &fleet{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), used: map[string]cluster.Amounts{"burning": {9660, 40 * gib}}}
	o := f.watching(t)
	o.Sample(t.Context())
	got := observed.Nodes(o.Latest())[0]
	want := status.NodeStatus{
		CPU:    status.ResourceStatus{Used: new(int64(9660)), UsedPercent: new(96.6), Requested: 2000, RequestedPercent: 20, Allocatable: 10_000, EvictPercent: new(65.0)},
		Memory: status.ResourceStatus{Used: new(int64(40 * gib)), UsedPercent: new(40.0), Requested: 8 * gib, RequestedPercent: 8, Allocatable: 100 * gib},
		Pods:   2,
	}
	if diff := cmp.Diff(want, status.NodeStatus{CPU: got.CPU, Memory: got.Memory, Pods: got.Pods}); diff != "" {
		t.Errorf("%s (-want +got):\n%s", got.Name, diff)
	}
}

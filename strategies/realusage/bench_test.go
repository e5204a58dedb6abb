package realusage

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/strategies"
)

// BenchmarkPlan plans one cycle on a cluster in which a tenth of the nodes is hot. It ends when the
// pods to be moved are known, so it does not include evicting them.
//
//   - evenkeel: from an observation to the plan, with kube-scheduler's filters on a snapshot that is up to date.
//   - incremental: the same, but the snapshot is first updated after one in a hundred pods has changed.
//   - walk: decides nothing. It only reads what has to be read of the pods on the hot nodes and of the cool nodes. It therefore
//     shows how memory accesses that fit no cache grow with the cluster.
//   - upstream: LowNodeUtilization with nodeFit on the same nodes, pods and usage. The usage is already in its collector, the
//     API server answers it at once, and its log is discarded. It moves about one pod more from each node, because it takes
//     pods in the order of the list, and it names no destination: nodeFit only requires that some node fits.
func BenchmarkPlan(b *testing.B) {
	usual := []int{100, 500, 1000, 2000, 5000}
	for _, kind := range []struct {
		name     string
		decorate func(workload int, pod *v1.Pod)
		ways     []way
		sizes    []int
	}{
		{"plain", plain, []way{evenkeel, incremental, walk, upstream}, usual},
		{"mixed", mixed, []way{evenkeel, incremental, upstream}, usual},
		{"preferring", preferring, []way{evenkeel}, usual},
		{"anti-affinity", repelling, []way{evenkeel}, usual},
		{"zone-spread", spreading, []way{evenkeel}, usual},
		{"demanding", demanding, []way{evenkeel, incremental}, []int{5000, 15000}},
	} {
		for _, nodes := range kind.sizes {
			b.Run(fmt.Sprintf("%s/nodes=%d", kind.name, nodes), func(b *testing.B) {
				f := newFleet(b, nodes, kind.decorate)
				for _, way := range kind.ways {
					b.Run(way.name, func(b *testing.B) { way.bench(b, f) })
				}
			})
		}
	}
}

// way is one way to plan.
type way struct {
	name  string
	bench func(b *testing.B, f *fleet)
}

var (
	evenkeel    = way{"evenkeel", func(b *testing.B, f *fleet) { benchEvenkeel(b, f, func() {}, f.begin) }}
	incremental = way{"incremental", func(b *testing.B, f *fleet) { benchEvenkeel(b, f, f.churn, f.sync) }}
	walk        = way{"walk", benchWalk}
	upstream    = way{"upstream", benchUpstream}
)

func benchEvenkeel(b *testing.B, f *fleet, before func(), session func(context.Context) (*placement.Session, error)) {
	moves := 0
	plugin := f.plugin(b, session)
	ctx := klog.NewContext(b.Context(), logr.Discard())
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		before()
		b.StartTimer()
		made, err := plugin.Plan(ctx, &f.observed, f.nodes)
		if err != nil {
			b.Fatal(err)
		}
		moves = len(made.Plan.Moves)
	}
	b.ReportMetric(float64(moves), "moves")
}

// benchWalk lists the pods of each hot node as the plugin does, and reads the fields of each that
// the planner and the filters use.
func benchWalk(b *testing.B, f *fleet) {
	read := 0
	for b.Loop() {
		for i, info := range f.observed.View.Snapshot.Nodes {
			used := f.observed.View.Nodes[i].Current[0]
			if read += int(used[0] & 1); f.observed.States[info.Node.Name].State != thresholds.Hot {
				continue
			}
			objects, err := f.podsOf(info.Node.Name, nil)
			if err != nil {
				b.Fatal(err)
			}
			for _, object := range objects {
				read += len(object.Annotations) + len(object.OwnerReferences[0].Name) + len(object.Labels["app"])
				cpu := object.Spec.Containers[0].Resources.Requests[v1.ResourceCPU]
				read += int(cpu.MilliValue() & 1)
			}
		}
	}
	b.ReportMetric(float64(read), "read")
}

func benchUpstream(b *testing.B, f *fleet) {
	rival := newRival(b, f)
	b.ReportAllocs()
	for b.Loop() {
		rival.evicted = 0
		if status := rival.plugin.Balance(rival.ctx, f.nodes); status != nil && status.Err != nil {
			b.Fatal(status.Err)
		}
	}
	b.ReportMetric(float64(rival.evicted), "moves")
}

// The benchmarks measure real work: each way moves pods off each hot node and off no other.
func TestWaysOfPlanningDoTheirWork(t *testing.T) {
	for name, decorate := range map[string]func(int, *v1.Pod){"plain": plain, "mixed": mixed} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 100, decorate)
			plugin := f.plugin(t, f.sync)
			f.churn()
			made, err := plugin.Plan(t.Context(), &f.observed, f.nodes)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(made.Plan.Moves), 10*hotMoves; got != want {
				t.Errorf("planned %d moves, want %d", got, want)
			}
			rival := newRival(t, f)
			if status := rival.plugin.Balance(rival.ctx, f.nodes); status != nil {
				t.Fatal(status.Err)
			}
			if rival.evicted < 10*hotMoves || rival.evicted > 10*(hotMoves+2) || rival.fromCool > 0 {
				t.Errorf("upstream evicted %d pods, %d of them from cool nodes; want about %d and none", rival.evicted, rival.fromCool, 10*hotMoves)
			}
		})
	}
}

// Nodes are examined on all processors, and the plan is the same with any number of processors.
func TestPlanIsTheSameOnMoreProcessors(t *testing.T) {
	f := newFleet(t, 3*nodesEach, mixed)
	var plans []strategies.Plan
	plugin := f.plugin(t, f.begin)
	for _, processors := range []int{1, 3} {
		before := runtime.GOMAXPROCS(processors)
		made, err := plugin.Plan(t.Context(), &f.observed, f.nodes)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, made.Plan)
	}
	if diff := cmp.Diff(keysOf(plans[0]), keysOf(plans[1])); diff != "" || len(plans[0].Moves) != 3*nodesEach/10*hotMoves {
		t.Errorf("%d moves on one processor, on three others (-one +three):\n%s", len(plans[0].Moves), diff)
	}
}

// keysOf returns which pods move where.
func keysOf(plan strategies.Plan) (keys []string) {
	for i := range plan.Moves {
		keys = append(keys, plan.Moves[i].Pod.Key()+" to "+plan.Moves[i].To)
	}
	return keys
}

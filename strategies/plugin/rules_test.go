package plugin_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
)

// reckless moves every pod on the node from to the nodes in to, ignoring all rules. If ownPlan is
// set, it returns a plan instead of calling Move.
type reckless struct {
	metav1.TypeMeta

	from    string
	to      []string
	reason  reasons.Reason
	ownPlan bool
	times   int
	relieve bool
}

func (r *reckless) DeepCopyObject() runtime.Object { out := *r; return &out }
func (r *reckless) SetDefaults()                   {}
func (r *reckless) Validate() field.ErrorList      { return nil }
func (r *reckless) Describe() policy.StrategyDescription {
	return policy.StrategyDescription{Name: "Reckless", Relieves: r.relieve}
}

func (r *reckless) Plan(ctx context.Context, round *plugin.Round) (result plugin.Result, err error) {
	view := round.Observed.View
	var to []*plugin.Node
	for _, name := range r.to {
		to = append(to, round.Node(name))
	}
	for _, pod := range view.Snapshot.Nodes[view.Snapshot.Index(r.from)].Pods {
		planned := strategies.Pod{Pod: pod} // without usage
		for range r.times {
			if r.ownPlan {
				result.Plan.Moves = append(result.Plan.Moves, strategies.Move{Pod: planned, To: r.to[0], Reason: r.reason, CeilingMilliCores: 1e9})
				continue
			}
			if err := round.Move(ctx, &planned, r.reason, to, func(to *plugin.Node) string { return to.Name() }); err != nil {
				return result, err
			}
		}
	}
	return result, nil
}

// If a strategy ignores every rule, the moves that break one are declined, whether the strategy
// calls Round.Move or returns its own plan.
func TestRulesHoldForStrategiesThatIgnoreThem(t *testing.T) {
	all := []string{"a-1: from-0 -> to-0", "a-2: from-0 -> to-0", "b-1: from-0 -> to-0"}
	refusing := func(refuses func(owner, namespace int) bool) func(*cluster.Pod, int, int) (reasons.Reason, string) {
		return func(_ *cluster.Pod, owner, namespace int) (reasons.Reason, string) {
			if refuses(owner, namespace) {
				return reasons.OwnerMovesPerHour, "of the test"
			}
			return "", ""
		}
	}
	zones := func(f *plugintest.Fleet) {
		f.Options.AcrossZones = false
		f.Node("from-0").Labels[v1.LabelTopologyZone], f.Node("to-0").Labels[v1.LabelTopologyZone] = "here", "there"
	}
	for name, tc := range map[string]struct {
		change func(*plugintest.Fleet)
		by     func(*reckless)
		want   []string
		why    map[string]reasons.Reason
	}{
		"no rule applies":            {want: all},
		"MaxMoves of the policy":     {change: func(f *plugintest.Fleet) { f.Options.MaxMoves = 2 }, want: all[:2], why: map[string]reasons.Reason{"b-1": reasons.MoveLimit}},
		"the moves left in the hour": {change: func(f *plugintest.Fleet) { f.Observed.MaxMoves = 2 }, want: all[:2], why: map[string]reasons.Reason{"b-1": reasons.MoveLimit}},
		"an owner's hourly moves":    {change: func(f *plugintest.Fleet) { f.Observed.Beside = refusing(func(o, _ int) bool { return o > 0 }) }, want: []string{all[0], all[2]}, why: map[string]reasons.Reason{"a-2": reasons.OwnerMovesPerHour}},
		"a namespace's":              {change: func(f *plugintest.Fleet) { f.Observed.Beside = refusing(func(_, n int) bool { return n > 0 }) }, want: all[:1], why: map[string]reasons.Reason{"a-2": reasons.OwnerMovesPerHour, "b-1": reasons.OwnerMovesPerHour}},
		"another zone":               {change: zones, why: noLanding()},
		"another capacity type": {change: func(f *plugintest.Fleet) {
			f.Options.AcrossCapacityTypes, f.Node("to-0").Labels["karpenter.sh/capacity-type"] = false, "spot"
		}, why: noLanding()},
		"a node that pods recently left": {change: func(f *plugintest.Fleet) { f.Observed.Relieved = map[string]bool{"to-0": true} }, why: noLanding()},
		"a closed node":                  {change: func(f *plugintest.Fleet) { f.Node("to-0").Spec.Unschedulable = true }, why: noLanding()},
		"a warm node":                    {change: func(f *plugintest.Fleet) { f.Node("to-0").State = thresholds.Warm }, why: noLanding()},
		"a warm node, called full":       {change: func(f *plugintest.Fleet) { f.Node("to-0").State = thresholds.Warm }, by: func(r *reckless) { r.reason = reasons.NodeFull }, why: noLanding()},
		"a node with unknown usage":      {change: func(f *plugintest.Fleet) { f.Node("to-0").State = thresholds.Unknown }, by: func(r *reckless) { r.reason, r.relieve = reasons.NodeFull, true }, why: noLanding()},
		"space for two":                  {change: func(f *plugintest.Fleet) { f.Node("to-0").Uses[cluster.CPU] = 4000 }, want: all[:2], why: map[string]reasons.Reason{"b-1": reasons.NoLanding}},
		"space for two at their peaks": {change: func(f *plugintest.Fleet) {
			f.Node("to-0").Uses[cluster.CPU] = 1500
			for _, pod := range f.Node("from-0").Pods {
				pod.PeakMilliCores = 2000
			}
		}, want: all[:2], why: map[string]reasons.Reason{"b-1": reasons.NoLanding}},
		"space for two when its own pods are busy": {change: func(f *plugintest.Fleet) {
			f.Run("c-1", "to-0", 500).PeakMilliCores, f.Node("to-0").PeakMilliCores = 3500, 9000
		}, want: all[:2], why: map[string]reasons.Reason{"b-1": reasons.NoLanding}},
		"the same, for relief": {change: func(f *plugintest.Fleet) {
			f.Run("c-1", "to-0", 500).PeakMilliCores, f.Node("to-0").PeakMilliCores = 3500, 9000
		}, by: func(r *reckless) { r.relieve = true }, want: all},
		"a pod moved within a day":     {change: func(f *plugintest.Fleet) { f.Observed.Moved = map[string]bool{"a-1": true} }, want: all[1:], why: map[string]reasons.Reason{"a-1": reasons.MovedLately}},
		"the same pod, for relief":     {change: func(f *plugintest.Fleet) { f.Observed.Moved = map[string]bool{"a-1": true} }, by: func(r *reckless) { r.relieve = true }, want: all},
		"a pod that must not be moved": {change: func(f *plugintest.Fleet) { f.Refused["a-2"] = reasons.OwnerRollingOut }, want: []string{all[0], all[2]}, why: map[string]reasons.Reason{"a-2": reasons.OwnerRollingOut}},
		"a filter of kube-scheduler": {change: func(f *plugintest.Fleet) {
			f.Node("to-0").Spec.Taints = []v1.Taint{{Key: "t", Effect: v1.TaintEffectNoSchedule}}
		}, why: noLanding()},
		"a host port for only one pod": {change: func(f *plugintest.Fleet) {
			for _, pod := range f.Node("from-0").Pods {
				pod.Spec.Containers = []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: v1.ProtocolTCP}}}}
			}
		}, want: all[:1], why: map[string]reasons.Reason{"a-2": reasons.NoLanding, "b-1": reasons.NoLanding}},
		"each pod twice":   {by: func(r *reckless) { r.times = 2 }, want: all, why: map[string]reasons.Reason{"a-1": reasons.OnTheMove, "a-2": reasons.OnTheMove, "b-1": reasons.OnTheMove}},
		"its own node":     {by: func(r *reckless) { r.to[0] = "from-0" }, why: noLanding()},
		"one of two nodes": {change: func(f *plugintest.Fleet) { f.Node("to-0").Spec.Unschedulable = true }, by: func(r *reckless) { r.to = []string{"to-1", "to-0"} }, want: []string{"a-1: from-0 -> to-1", "a-2: from-0 -> to-1", "b-1: from-0 -> to-1"}},
	} {
		for _, ownPlan := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, own plan %t", name, ownPlan), func(t *testing.T) {
				f := plugintest.New("from-0", "to-0", "to-1")
				for _, pod := range []string{"a-1", "a-2", "b-1"} {
					f.Run(pod, "from-0", 1000)
				}
				r := &reckless{from: "from-0", to: []string{"to-0"}, reason: reasons.PreferredNode, ownPlan: ownPlan, times: 1}
				if tc.change != nil {
					tc.change(f)
				}
				if tc.by != nil {
					tc.by(r)
				}
				made := f.Plan(t, r)
				if diff := cmp.Diff(tc.want, plugintest.Moves(made)); diff != "" {
					t.Errorf("moves (-want +got):\n%s", diff)
				}
				if got := plugintest.Declined(made); len(got)+len(tc.why) > 0 && !cmp.Equal(tc.why, got) {
					t.Errorf("declined %v, want %v", got, tc.why)
				}
				for i := range made.Plan.Moves {
					if m := &made.Plan.Moves[i]; m.Usage != (cluster.Amounts{1000, 1 << 30}) {
						t.Errorf("%s is booked with %v", m.Name, m.Usage)
					}
				}
			})
		}
	}
}

// A strategy that relieves full nodes may fill others up to strategies.FullCeiling and no further,
// whatever ceiling it requests.
func TestFullNodesAreComparedUpToTheCeiling(t *testing.T) {
	for relieves, want := range map[bool][]string{true: {"a-1: from-0 -> to-0"}, false: nil} {
		f := plugintest.New("from-0", "to-0")
		f.Run("a-1", "from-0", 1000)
		f.Run("a-2", "from-0", 1000)
		f.Node("to-0").Uses[cluster.CPU], f.Node("to-0").State = 8000, thresholds.Warm
		made := f.Plan(t, &reckless{from: "from-0", to: []string{"to-0"}, reason: reasons.NodeFull, ownPlan: true, times: 1, relieve: relieves})
		if diff := cmp.Diff(want, plugintest.Moves(made)); diff != "" {
			t.Errorf("relieves %t (-want +got):\n%s", relieves, diff)
		}
	}
}

func noLanding() map[string]reasons.Reason {
	return map[string]reasons.Reason{"a-1": reasons.NoLanding, "a-2": reasons.NoLanding, "b-1": reasons.NoLanding}
}

// For each node, an explanation gives the first rule that keeps a pod off it, as if nothing else
// moved.
func TestLandings(t *testing.T) {
	f := plugintest.New("a-0", "brim-0", "cordoned-0", "from-0", "full-0", "tainted-0", "warm-0")
	f.Run("web-1", "from-0", 1000)
	f.Node("brim-0").Uses[cluster.CPU], f.Node("full-0").Uses[cluster.CPU], f.Node("warm-0").State = 5000, 5001, thresholds.Warm
	f.Node("cordoned-0").Spec.Unschedulable = true
	f.Node("tainted-0").Spec.Taints = []v1.Taint{{Key: "t", Effect: v1.TaintEffectNoSchedule}}
	study := f.Explain(t, "web-1", &reckless{from: "from-0", to: []string{"a-0"}, reason: reasons.PreferredNode, times: 1})
	if len(study.Made.Plan.Moves) != 1 {
		t.Fatalf("moves %+v", study.Made.Plan.Moves)
	}
	want := map[string]reasons.Reason{
		"a-0": "", "brim-0": "", "cordoned-0": reasons.NodeClosed, "full-0": reasons.AboveRejectLine, "tainted-0": reasons.FilterRefuses, "warm-0": reasons.NodeNotCool,
	}
	got := map[string]reasons.Reason{}
	for _, l := range study.Landings {
		got[l.Node] = l.Refused
		if l.Node == "brim-0" && (l.Before[cluster.CPU] != 50 || l.After[cluster.CPU] != 60) {
			t.Errorf("brim-0 %v -> %v", l.Before, l.After)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("landings (-want +got):\n%s", diff)
	}
}

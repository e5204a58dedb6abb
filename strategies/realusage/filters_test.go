package realusage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// A plan omits the pods that a pre-eviction filter will refuse. It calls the filter once for
// similar pods.
func TestPlanAsksThePreEvictionFilters(t *testing.T) {
	y := newYard(t, func(pod *v1.Pod) {
		owner := &pod.OwnerReferences[0]
		if owner.UID = "small"; pod.Name == biggest {
			owner.UID = "big"
		}
		pod.Labels = map[string]string{"pod-template-hash": "1"}
	})
	y.before.refuses = "big"
	study := y.study(t, 0, 2)
	if study.Pod == nil || study.Pod.Refused != reasons.PreEvictionFilter {
		t.Errorf("explained as %+v", study.Pod)
	}
	if moves := study.Made.Plan.Moves; len(moves) != 1 || moves[0].Name == biggest {
		t.Errorf("planned %+v", moves)
	}
	y.before.asked = nil
	if _, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, strategies.Asked{}); err != nil {
		t.Fatal(err)
	}
	if len(y.before.asked) != 2 {
		t.Errorf("asked about %v, want one pod of each of the two owners", y.before.asked)
	}
}

// If the disruption budget of the hot node's biggest pod is exhausted, other pods are moved, even
// if that takes more moves.
func TestPlanAvoidsExhaustedBudgets(t *testing.T) {
	y := newYard(t)
	y.refused[biggest] = reasons.PodDisruptionBudgetExhausted
	study := y.study(t, 0, 2)
	if moves := study.Made.Plan.Moves; len(moves) != 1 || moves[0].Name == biggest || study.Pod.Refused != reasons.PodDisruptionBudgetExhausted {
		t.Errorf("planned %+v, explained as %+v", moves, study.Pod)
	}
}

// biggest is the pod with the highest usage on the yard's hot node.
const biggest = "app-00001-00000"

// A plan keeps the framework's filters, because a pod may become protected after the plan was made.
func TestThePlanKeepsTheFilters(t *testing.T) {
	y := newYard(t)
	profile := y.plugin(t).Profile()
	pod := y.pods["node-00000"][0].DeepCopy()
	y.before.refuses = pod.OwnerReferences[0].UID
	got := []reasons.Reason{refusedBy(profile, pod)}
	pod.Spec.Priority = new(int32(2_000_000_000))
	got = append(got, refusedBy(profile, pod))
	if diff := cmp.Diff([]reasons.Reason{reasons.PreEvictionFilter, reasons.ProtectedByDefaultEvictor}, got); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// refusedBy calls the filters of a profile as the gate does.
func refusedBy(profile *strategies.Profile, pod *v1.Pod) reasons.Reason {
	switch {
	case !profile.Filter(pod):
		return reasons.ProtectedByDefaultEvictor
	case !profile.PreEvictionFilter(pod):
		return reasons.PreEvictionFilter
	}
	return ""
}

package realusage

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// A plan does without the pods that a pre-eviction filter will refuse, and asks
// it once about those that are alike.
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
	if _, err := y.plugin(t).Study(t.Context(), y.nodes, strategies.Asked{}); err != nil {
		t.Fatal(err)
	}
	if len(y.before.asked) != 2 {
		t.Errorf("asked about %v, want one pod of each of the two owners", y.before.asked)
	}
}

// Of a hot node whose biggest pod has a budget without room others are moved,
// though one move is fewer than two.
func TestPlanDoesWithoutABudgetThatHasNoRoom(t *testing.T) {
	y := newYard(t)
	y.refused[biggest] = reasons.PodDisruptionBudgetExhausted
	study := y.study(t, 0, 2)
	if moves := study.Made.Plan.Moves; len(moves) != 1 || moves[0].Name == biggest || study.Pod.Refused != reasons.PodDisruptionBudgetExhausted {
		t.Errorf("planned %+v, explained as %+v", moves, study.Pod)
	}
}

// biggest is the pod of the yard's hot node that uses most.
const biggest = "app-00001-00000"

// Just before the call the framework's filters are asked again: what protects a
// pod may have come since the plan was made.
func TestEvictAsksTheFiltersAgain(t *testing.T) {
	y := newYard(t)
	var evict plugin.Evict
	y.deps.Executor = evictorFunc(func(with plugin.Evict) { evict = with })
	if status := y.plugin(t).Balance(t.Context(), y.nodes); status != nil {
		t.Fatal(status.Err)
	}
	pod := y.pods["node-00000"][0].DeepCopy()
	y.before.refuses = pod.OwnerReferences[0].UID
	want := map[string]reasons.Reason{"refused before eviction": reasons.PreEvictionFilter, "protected by now": reasons.ProtectedByDefaultEvictor}
	got := map[string]reasons.Reason{"refused before eviction": refusedFor(evict(t.Context(), pod, reasons.NodeHot))}
	pod.Spec.Priority = new(int32(2_000_000_000))
	got["protected by now"] = refusedFor(evict(t.Context(), pod, reasons.NodeHot))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// evictorFunc is told what evicts.
type evictorFunc func(plugin.Evict)

func (f evictorFunc) Execute(_ context.Context, _ *plugin.Plugin, _ *strategies.Made, evict plugin.Evict) {
	f(evict)
}

func refusedFor(err error) reasons.Reason {
	refusal, ok := errors.AsType[*reasons.Refusal](err)
	if !ok {
		return ""
	}
	return refusal.Reason
}

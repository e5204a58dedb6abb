package app

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// A cycle makes a plan for each profile that moves pods by real usage. Reports show the plan of the
// first profile, which the framework builds with exactly the arguments that the explainer knows.
func TestTheFirstProfileIsRecognizedByItsArguments(t *testing.T) {
	const profile = "  pluginConfig: [{name: RealUsageLowNodeUtilization, args: {}}]\n" +
		"  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}\n"
	r := newReloading(t, upstreamHead+profile+"- name: batch\n"+profile+"---\n"+loadPolicyHead+evictAt(60))
	for _, name := range []string{"n1", "n2"} {
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		}
		if _, err := r.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lister := r.evicting.informers.Core().V1().Nodes().Lister()
	for known := 0; known < 2; time.Sleep(time.Millisecond) {
		nodes, err := lister.List(labels.Everything())
		if err != nil {
			t.Fatal(err)
		}
		known = len(nodes)
	}
	var shown []bool
	terms := r.first.terms()
	planning := &Planning{planned: func(_ context.Context, by *plugin.Plugin, _ *strategies.Made) {
		shown = append(shown, slices.ContainsFunc(terms.Shown, by.Is))
	}}
	r.evicting.executor = func(*generation) cycle.Executor { return planning }
	r.must(r.evicting.process.equip(t.Context(), r.first))
	r.nextCycleOf(t)
	if len(shown) != 2 || !shown[0] || shown[1] {
		t.Errorf("of the plans of two profiles these are shown: %v", shown)
	}
	if others := terms.OtherProfiles; len(others) != 1 || others[0] != "batch" {
		t.Errorf("not shown are %v", others)
	}
}

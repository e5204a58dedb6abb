package status

import (
	"math"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// A plan includes the basis of its nodes' states and the hot nodes that are not part of it.
func TestPlanHasBases(t *testing.T) {
	h := testkit.Unsettled(t)
	h.States[testkit.CalmNode] = thresholds.NodeState{State: thresholds.Hot}
	f := &PlanFacts{Plan: strategies.Plan{Nodes: []strategies.NodeReport{{Name: testkit.StartingNode}, {Name: testkit.EstimatedNode}, {Name: "gone"}}}}
	f.Observe(&strategies.Observed{View: h.View, Lines: h.Lines, States: h.States}, 3)
	starting, estimated := f.Nodes[testkit.StartingNode], f.Nodes[testkit.EstimatedNode]
	if !starting.NotHot.ByMeasure() || estimated.NotHot != nil || estimated.NotCool == nil {
		t.Errorf("starting: %+v, estimated: %+v", starting, estimated)
	}
	if math.Round(starting.Measured[cluster.CPU]*10) != 966 || estimated.Measured[cluster.CPU] != 10 {
		t.Errorf("measured: %v, %v", starting.Measured, estimated.Measured)
	}
	if len(f.HotLeftOut) != 1 || f.HotLeftOut[0] != testkit.CalmNode {
		t.Errorf("left out: %v", f.HotLeftOut)
	}
}

// Reasons such as too few other replicas or a quota are checked again in each cycle. Reasons in the
// pod itself are not.
func TestPassing(t *testing.T) {
	facts := &PlanFacts{At: noon}
	for reason, want := range map[reasons.Reason]bool{
		reasons.ResourceQuotaExhausted: true, reasons.PodDisruptionBudgetExhausted: true, reasons.EvictionDeclined: false, reasons.NoController: false,
	} {
		d := strategies.Declined{Pod: strategies.Pod{Pod: &cluster.Pod{Namespace: "shop", Name: "web-1"}}, Node: "node-01", Reason: reason}
		if got := facts.declined(&d).Passing; got != want {
			t.Errorf("%s passes: %v, want %v", reason, got, want)
		}
	}
}

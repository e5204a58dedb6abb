package app

import (
	"math"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/thresholds"
)

// A plan is shown with what the states of its nodes are based on, and with the hot
// nodes that are no part of it.
func TestPreviewHasBases(t *testing.T) {
	h := testkit.Unsettled(t)
	h.States[testkit.CalmNode] = thresholds.NodeState{State: thresholds.Hot}
	made := &realusage.Made{
		Observed: strategies.Observed{View: h.View, Lines: h.Lines, States: h.States},
		Plan:     strategies.Plan{Nodes: []strategies.NodeReport{{Name: testkit.StartingNode}, {Name: testkit.EstimatedNode}, {Name: "gone"}}},
	}
	notHot, notCool, leftOut := bases(made, 3)
	if !notHot[testkit.StartingNode].ByMeasure() || notHot[testkit.EstimatedNode] != nil || notCool[testkit.EstimatedNode] == nil {
		t.Errorf("not hot: %+v, not cool: %+v", notHot, notCool)
	}
	if of := measured(made); len(of) != 2 || math.Round(of[testkit.StartingNode][cluster.CPU]*10) != 966 || of[testkit.EstimatedNode][cluster.CPU] != 10 {
		t.Errorf("measured: %+v", of)
	}
	if len(leftOut) != 1 || leftOut[0] != testkit.CalmNode {
		t.Errorf("left out: %v", leftOut)
	}
}

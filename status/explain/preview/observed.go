package preview

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/status/explain"
	"github.com/evenkeel/evenkeel/strategies"
)

// Unplanned returns the ready nodes as they are, where the policy moves nothing by
// real usage.
func Unplanned(o *strategies.Observed) strategies.Plan {
	var plan strategies.Plan
	for i := range o.View.Nodes {
		node := &o.View.Snapshot.Nodes[i].Node
		if !node.Ready {
			continue
		}
		predicted, _ := o.Board.Predicted(cluster.NodeIndex(i))
		percents := predicted.PercentOf(node.Allocatable)
		plan.Nodes = append(plan.Nodes, strategies.NodeReport{Name: node.Name, State: o.States[node.Name].State, Before: percents, After: percents})
	}
	return plan
}

// Observe adds what was observed of the plan's nodes, and the hot nodes that are no
// part of the plan.
func (f *Facts) Observe(o *strategies.Observed, samplesNeeded int) {
	f.Evidence, f.CountsFrom, f.Measured = map[string][]thresholds.Evidence{}, map[string]time.Time{}, map[string]cluster.Percents{}
	for node, state := range o.States {
		young := state.Metric != "" && !state.Starting.IsZero()
		if young {
			f.CountsFrom[node] = state.Starting
		}
		if young || state.State == thresholds.Hot {
			f.Evidence[node] = o.Lines.EvidenceOf(node)
		}
	}
	facts := explain.Facts{View: o.View, States: o.States, Lines: o.Lines, SamplesNeeded: samplesNeeded}
	f.NotHot, f.NotCool = map[string]*explain.Basis{}, map[string]*explain.Basis{}
	planned := map[string]bool{}
	for i := range f.Plan.Nodes {
		name := f.Plan.Nodes[i].Name
		planned[name] = true
		if k := o.View.Snapshot.Index(name); k >= 0 {
			f.NotHot[name], f.NotCool[name] = facts.Bases(k)
			f.Measured[name] = o.View.Nodes[k].Measured[usage.AtAvg5m].PercentOf(o.View.Snapshot.Nodes[k].Node.Allocatable)
		}
	}
	for i := range o.View.Nodes {
		name := o.View.Snapshot.Nodes[i].Node.Name
		if len(planned) > 0 && !planned[name] && o.States[name].State == thresholds.Hot {
			f.HotLeftOut = append(f.HotLeftOut, name)
		}
	}
}

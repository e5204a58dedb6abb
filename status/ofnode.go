package status

import (
	"cmp"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/strategies"
)

// OfNode explains a node. If the node is not known, the error wraps ErrUnknown.
func OfNode(f *Facts, name string) (NodeExplanation, error) {
	i := f.View.Snapshot.Index(name)
	if i < 0 {
		return NodeExplanation{}, UnknownNode(name, len(f.View.Nodes))
	}
	n := f.observed(i)
	n.MovesFrom = f.inFlight(func(m *ledger.Move) bool { return m.From == name })
	n.MovesTo = f.inFlight(func(m *ledger.Move) bool { return m.Node == name })
	f.addPlan(&n)
	n.Paused, n.Summary = f.Paused, n.summary(f.View.At)+onlyLogged(slices.Concat(n.Leave, n.Arrive)...)+unless(f.Paused, len(n.Leave)+len(n.Arrive) > 0)
	return n, nil
}

func (f *Facts) inFlight(pick func(*ledger.Move) bool) []RecordedMove {
	return f.moves(func(m *ledger.Move) bool { return m.InFlight() && pick(m) })
}

// observed explains a node by its usage.
func (f *Facts) observed(i int) NodeExplanation {
	info, read := &f.View.Snapshot.Nodes[i].Node, &f.View.Nodes[i]
	state := f.States[info.Name]
	board := cluster.NodeIndex(i)
	n := NodeExplanation{
		Node: f.Node(i), Observed: f.View.At.UTC(), Since: moment(state.Since), Samples: samplesOf(read),
		SamplesOver: state.Over, SamplesNeeded: max(f.SamplesNeeded, 1), CountsFrom: moment(state.Starting), Over: []string{}, Metrics: f.metrics(i), Limits: f.limits(i),
		Ceiling: ceiling(f.Board.Ceiling(board)), InFlight: AmountsOf(f.Board.Adjusted(board)), Closed: info.Closed(),
	}
	if usable(read) {
		n.Over, n.HasToLeave = thresholds.InWords(f.Lines.Evidence(i)), new(AmountsOf(f.Lines.Need(i, cluster.Amounts{}).AtLeastZero()))
	}
	if predicted, known := f.Board.Predicted(board); known {
		n.Predicted, n.PredictedPercent = new(AmountsOf(predicted)), new(PercentsOf(predicted.PercentOf(info.Allocatable)))
	}
	return n
}

// addPlan adds the parts of the plan that concern the node.
func (f *Facts) addPlan(n *NodeExplanation) {
	n.Declined = []Declined{}
	n.Leave = f.plannedMoves(func(m *strategies.Move) bool { return m.From == n.Name })
	n.Arrive = f.plannedMoves(func(m *strategies.Move) bool { return m.To == n.Name })
	if n.NoPlan = f.without(); f.Planned == nil {
		return
	}
	planned := f.Planned.node(n.Name)
	if planned == nil {
		n.NoPlan = cmp.Or(n.NoPlan, "the policy's nodeSelector excludes this node, or it is not ready")
		return
	}
	n.Closed, n.Expected = planned.Closed, expectedOf(planned.Expected)
	if planned.State == thresholds.Hot {
		n.HasToLeave = new(AmountsOf(planned.Need.AtLeastZero())) // excludes usage that has left since the node was observed
	}
	n.byPluginsOnly = f.Planned.ByPluginsOnly
	report := f.Planned.report(n.Name)
	n.LeftAlone, n.Detail, n.Relief = string(report.Reason), report.Why(), ReliefOf(report.Relief)
	for i := range f.Planned.Plan.Declined {
		if d := &f.Planned.Plan.Declined[i]; d.Node == n.Name {
			n.Declined = append(n.Declined, declinedOf(d))
		}
	}
}

// Package realusage implements RealUsageLowNodeUtilization, which moves pods off hot
// nodes. Args gathers the planner's input; package plan makes all decisions.
package realusage

import (
	"context"
	"fmt"

	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

var _ plugin.Strategy = (*Args)(nil)

// Plan implements plugin.Strategy.
func (a *Args) Plan(ctx context.Context, round *plugin.Round) (plugin.Result, error) {
	in, err := a.input(ctx, round)
	if err != nil {
		return plugin.Result{}, err
	}
	result := plugin.Result{Basis: in, MaxPerNode: in.MaxPerNode}
	if cool := openFor(round.Movable(), in.Nodes, round.Nodes); a.NumberOfNodes > 0 && cool <= a.NumberOfNodes {
		result.Closed = fmt.Sprintf("%d nodes are cool and take pods, numberOfNodes requires more than %d", cool, a.NumberOfNodes)
		result.Plan = plan.Idle(*in)
		return result, nil
	}
	with := *in
	if with.Placement, err = round.Placement(ctx); err != nil {
		return result, err
	}
	result.Plan = plan.New(with)
	return result, nil
}

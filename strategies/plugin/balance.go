package plugin

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

var _ frameworktypes.BalancePlugin = (*Plugin)(nil)

// Balance plans on the newest observation and has the plan executed. nodes are
// those that match the policy's nodeSelector.
func (p *Plugin) Balance(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status {
	study, err := p.Study(ctx, nodes, strategies.Asked{})
	if err != nil {
		return &frameworktypes.Status{Err: err}
	}
	made, logger := &study.Made, klog.FromContext(ctx)
	logger.Info("Planned", "moves", len(made.Plan.Moves), "declined", len(made.Plan.Declined), "closed", made.Closed)
	logDeclined(logger, made.Plan.Declined)
	p.deps.Executor.Execute(ctx, p, made)
	return nil
}

// logDeclined sums up by reason which pods are not moved: on hundreds of hot
// nodes they are thousands, in each cycle.
func logDeclined(logger klog.Logger, declined []strategies.Declined) {
	pods, examples := map[reasons.Reason]int{}, map[reasons.Reason]*strategies.Declined{}
	for i := range declined {
		d := &declined[i]
		if pods[d.Reason]++; examples[d.Reason] == nil {
			examples[d.Reason] = d
		}
		logger.V(4).Info("Pod is not moved", "pod", klog.KRef(d.Namespace, d.Name), "node", d.Node, "reason", d.Reason, "detail", d.Detail)
	}
	for _, reason := range slices.Sorted(maps.Keys(pods)) {
		d := examples[reason]
		logger.V(2).Info("Pods are not moved", "reason", reason, "pods", pods[reason], "example", klog.KRef(d.Namespace, d.Name), "node", d.Node, "detail", d.Detail)
	}
}

// Profile returns the profile that the plugin plans for.
func (p *Plugin) Profile() *strategies.Profile {
	profile := &strategies.Profile{Strategy: p.Name(), Filter: p.handle.Evictor().Filter, PreEvictionFilter: p.handle.Evictor().PreEvictionFilter}
	if named, ok := p.handle.(interface{ ProfileName() string }); ok { // the framework's own handle keeps it to itself
		profile.Name = named.ProfileName()
	}
	return profile
}

package plugin

import (
	"cmp"
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

var _ frameworktypes.BalancePlugin = (*Plugin)(nil)

// Plan plans one cycle from the given observation. nodes are those that match the
// policy's nodeSelector.
func (p *Plugin) Plan(ctx context.Context, observed *strategies.Observed, nodes []*v1.Node) (*strategies.Made, error) {
	study, err := p.study(ctx, observed, nodes, strategies.Asked{})
	if err != nil {
		return nil, err
	}
	made, logger := &study.Made, klog.FromContext(ctx)
	logger.Info("Planned", "moves", len(made.Plan.Moves), "declined", len(made.Plan.Declined), "closed", made.Closed)
	logDeclined(logger, made.Plan.Declined)
	return made, nil
}

// Study plans like a cycle with the given strategies, based on the newest observation,
// and explains the effect of their plans on a pod. It may be called while a cycle runs.
func Study(ctx context.Context, planners []*Plugin, nodes []*v1.Node, asked strategies.Asked) (strategies.Study, error) {
	studies, supposed := make([]strategies.Study, len(planners)), []strategies.Move(nil)
	for i, p := range planners {
		observed := p.deps.Half.Observe()
		observed = observed.Supposing(supposed)
		var err error
		if studies[i], err = p.study(ctx, &observed, nodes, asked); err != nil {
			return strategies.Study{}, err
		}
		if !p.DryRun() {
			supposed = append(supposed, studies[i].Made.Plan.Moves...)
		}
	}
	return strategies.MergeStudies(studies), nil
}

func (p *Plugin) study(ctx context.Context, observed *strategies.Observed, nodes []*v1.Node, asked strategies.Asked) (strategies.Study, error) {
	closed := observed.Closed
	if p.is.Hosted {
		closed = observed.Held
	}
	study := strategies.Study{Made: strategies.Made{Observed: *observed, Closed: closed}}
	var object *v1.Pod
	if observed.View != nil {
		object = p.judge(ctx, &study, asked)
	}
	if closed != "" {
		return study, nil
	}
	round := p.round(observed, nodes)
	defer round.Close()
	round.Asked, round.asked = study.Pod, object
	result, err := p.planner.Plan(ctx, round)
	if err != nil {
		return study, err
	}
	if p.is.Hosted { // its pods may have to move to another zone or to a node that is not cool
		for i := range result.Plan.Moves {
			if m := &result.Plan.Moves[i]; round.Node(m.From) != nil && round.Node(m.To) != nil {
				round.report(m)
			}
		}
		p.mark(result.Plan.Moves)
		result.Plan.Nodes = round.reports()
		study.Made.Plan, study.Made.Basis = result.Plan, result.Basis
		p.pace(&study.Made, result.MaxPerNode)
		return study, nil
	}
	if err := round.keep(ctx, &result.Plan); err != nil {
		return study, err
	}
	p.mark(round.plan.Moves)
	study.Made.Plan, study.Made.Closed, study.Made.Basis = round.plan, result.Closed, result.Basis
	if round.Asked != nil {
		round.takeBack()
		if study.Landings, err = round.landings(ctx, result.Unwanted); err != nil {
			return study, err
		}
	}
	p.pace(&study.Made, result.MaxPerNode)
	return study, nil
}

// mark marks the moves of a plugin in dry run.
func (p *Plugin) mark(moves []strategies.Move) {
	for i := range moves {
		moves[i].DryRun = p.deps.DryRun
	}
}

// logDeclined logs the number of pods that are not moved, by reason, instead of each pod,
// because hundreds of hot nodes have thousands of them in each cycle.
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

// pace adds to a plan how long the moves off each node take.
func (p *Plugin) pace(made *strategies.Made, maxPerNode int) {
	moves := slices.Concat(made.Plan.Moves, made.Plan.Waiting)
	if made.Observed.Pace == nil || len(moves) == 0 {
		return
	}
	estimated := map[string]bool{}
	for i := range made.Plan.Waiting {
		if m := &made.Plan.Waiting[i]; m.To == "" {
			estimated[m.From] = true
		}
	}
	reliefs := made.Observed.Pace(moves, p.deps.Options.MaxMoves, maxPerNode)
	for i := range made.Plan.Nodes {
		n := &made.Plan.Nodes[i]
		if relief, moved := reliefs[n.Name]; moved {
			relief.AtLeast = estimated[n.Name]
			n.Relief = &relief
		}
	}
}

// judge finds the explained pod and evaluates it as the planner does.
func (p *Plugin) judge(ctx context.Context, study *strategies.Study, asked strategies.Asked) *v1.Pod {
	if asked.Pod == nil {
		return nil
	}
	object, read := p.object(asked.Pod), readingOf(study.Made.Observed.View, asked.Pod)
	if object == nil || read == nil {
		return nil
	}
	pod := podOf(asked.Pod, read)
	pod.Refused = p.deps.Half.Refuse(ctx, &strategies.Candidate{Object: object, Record: asked.Pod, Read: read}, p.Profile())
	if pod.Refused == "" {
		pod.Disruption = p.disruption(object, study.Made.Observed.Moved)
	}
	study.Protection = p.protection(ctx, pod.Refused, asked.Protection, object)
	if reason, detail := p.deps.Half.Protection(object); reason == pod.Refused {
		study.Protection = cmp.Or(study.Protection, detail)
	}
	study.Pod = &pod
	return object
}

// object returns the API object of a pod; nil if it no longer exists.
func (p *Plugin) object(pod *cluster.Pod) *v1.Pod {
	on, err := p.list(pod.Node)
	if err != nil {
		return nil
	}
	return on[pod.UID]
}

// readingOf returns a pod's measured usage; nil if the view does not contain it.
func readingOf(view *usage.View, pod *cluster.Pod) *usage.PodUsage {
	i := view.Snapshot.Index(pod.Node)
	if i < 0 {
		return nil
	}
	for j, other := range view.Snapshot.Nodes[i].Pods {
		if other.UID == pod.UID {
			return &view.Nodes[i].Pods[j]
		}
	}
	return nil
}

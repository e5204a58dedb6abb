package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// mostTried is the maximum number of nodes that Move tries for a pod.
const mostTried = 20

// MaxMoves returns the maximum number of moves in the plan; 0 means unlimited.
func (r *Round) MaxMoves() int {
	most := r.Options.MaxMoves
	if hour := r.Observed.MaxMoves; hour > 0 && (most == 0 || hour < most) {
		most = hour
	}
	return most
}

// Destinations returns the nodes whose usage allows them to take pods of the given node,
// coolest first.
func (r *Round) Destinations(from *Node) []*Node {
	if r.open == nil {
		r.open = map[string][]*Node{}
		for _, n := range r.Nodes {
			if reason, _ := r.closed(nil, n, false); reason == "" {
				r.open[n.Domain] = append(r.open[n.Domain], n)
			}
		}
		for _, open := range r.open {
			slices.SortStableFunc(open, func(a, b *Node) int { return cmp.Compare(a.fullest(), b.fullest()) })
		}
	}
	open := r.open[from.Domain]
	if i := slices.Index(open, from); i >= 0 {
		return slices.Concat(open[:i], open[i+1:])
	}
	return open
}

// Move plans the move of a pod to the first of the given nodes that takes it. If none
// does, it declines the pod. why returns a sentence that explains the choice of a node.
func (r *Round) Move(ctx context.Context, pod *strategies.Pod, reason reasons.Reason, to []*Node, why func(to *Node) string) error {
	if held, detail := r.held(ctx, pod); held != "" {
		r.Decline(pod, held, detail)
		return nil
	}
	first := ""
	for _, n := range to[:min(len(to), mostTried)] {
		m := strategies.Move{Pod: *pod, From: pod.Node, To: n.Name(), Reason: reason, Why: why(n)}
		refused, err := r.lands(ctx, &m)
		if err != nil {
			return err
		}
		if refused == "" {
			r.report(&m)
			r.plan.Moves = append(r.plan.Moves, m)
			return nil
		}
		first = cmp.Or(first, refused)
	}
	r.Decline(pod, reasons.NoLanding, "the nodes that it would be moved to do not take it: "+first)
	return nil
}

// Decline records why a pod stays although the strategy would move it.
func (r *Round) Decline(pod *strategies.Pod, why reasons.Reason, detail string) {
	r.plan.Declined = append(r.plan.Declined, strategies.Declined{Pod: *pod, Node: pod.Node, Reason: why, Detail: detail})
}

// keep adopts a plan that the strategy has made itself. It keeps the moves that follow
// the rules, in their order, and declines the others.
func (r *Round) keep(ctx context.Context, own *strategies.Plan) error {
	var dropped []strategies.Move
	for i := range own.Moves {
		m := &own.Moves[i]
		held, detail := r.held(ctx, &m.Pod)
		if held == "" {
			refused, err := r.lands(ctx, m)
			if err != nil {
				return err
			}
			if refused != "" {
				held, detail = reasons.NoLanding, refused
			}
		}
		if held != "" {
			r.Decline(&m.Pod, held, detail)
			dropped = append(dropped, *m)
			continue
		}
		r.plan.Moves = append(r.plan.Moves, *m)
	}
	r.plan.Waiting, r.plan.Declined = append(r.plan.Waiting, own.Waiting...), append(own.Declined, r.plan.Declined...)
	r.plan.Nodes = own.Nodes
	if own.Nodes == nil {
		r.plan.Nodes = r.reports()
	}
	for i := range r.plan.Nodes {
		n := &r.plan.Nodes[i]
		for k := range dropped {
			m := &dropped[k]
			for resource := range n.After {
				switch n.Name {
				case m.From:
					n.After[resource] -= m.FromAfter[resource] - m.FromBefore[resource]
				case m.To:
					n.After[resource] -= m.ToAfter[resource] - m.ToBefore[resource]
				}
			}
		}
	}
	return nil
}

// held returns why a pod must not be moved to any node, given the moves already in the
// plan.
func (r *Round) held(ctx context.Context, pod *strategies.Pod) (reasons.Reason, string) {
	if r.moving[pod.UID] {
		return reasons.OnTheMove, ""
	}
	if reason := r.refused(ctx, pod.Pod); reason != "" {
		return reason, ""
	}
	if !r.plugin.is.Relieves && r.Observed.Moved[pod.UID] { // the reason for that move may still apply
		return reasons.MovedLately, ""
	}
	if most := r.MaxMoves(); most > 0 && len(r.plan.Moves) >= most {
		return reasons.MoveLimit, ""
	}
	if r.Observed.Beside == nil {
		return "", ""
	}
	ofOwner, ofNamespace := r.planned.Beside(pod.Pod)
	return r.Observed.Beside(pod.Pod, ofOwner, ofNamespace)
}

// refused returns why a pod must not be moved, regardless of other moves. It asks the
// gate if the strategy has not done so for this pod.
func (r *Round) refused(ctx context.Context, pod *cluster.Pod) reasons.Reason {
	if r.objects[pod] != nil {
		return ""
	}
	n := r.Node(pod.Node)
	if n == nil {
		return reasons.SourceUsageUnknown
	}
	pods, _, err := r.Pods(ctx, n, func(other *cluster.Pod, _ *v1.Pod) bool { return other.UID == pod.UID })
	if err != nil || len(pods) == 0 {
		return reasons.PodChanged
	}
	if pods[0].Refused == "" {
		r.objects[pod] = r.objects[pods[0].Pod]
	}
	return pods[0].Refused
}

// lands applies a move to the round, or returns why its destination does not take the
// pod.
func (r *Round) lands(ctx context.Context, m *strategies.Move) (refused string, err error) {
	from, to := r.Node(m.Pod.Node), r.Node(m.To)
	if to == nil {
		return m.To + " is not ready, is not observed, or is not one of the policy's nodes", nil
	}
	m.From, m.Usage = from.Name(), from.read(m.UID).Used
	full := m.Reason == reasons.NodeFull && r.plugin.is.Relieves
	if reason, detail := r.closed(from, to, full); reason != "" {
		return to.Name() + ": " + cmp.Or(detail, reason.Sentence()), nil
	}
	arriving := to.arriving.Plus(r.peak(from, m.UID))
	if !full {
		m.CeilingMilliCores = 0
	}
	if !r.Observed.Board.LandsUpTo(to.At, arriving.Plus(r.rise(to)), min(m.CeilingMilliCores, to.most())) {
		return to.Name() + " would exceed its reject line", nil
	}
	placement, err := r.Placement(ctx)
	if err != nil {
		return "", err
	}
	if ok, why := placement.Fits(m.Pod.Pod, m.To); !ok {
		return to.Name() + ": " + why, nil
	}
	undo, err := placement.Move(m.Pod.Pod, m.To)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // the pod is gone, which concerns this move only
	}
	r.undo = append(r.undo, undo)
	to.arriving, r.moving[m.UID] = arriving, true
	r.planned.Add(m.Pod.Pod)
	return "", nil
}

// closed returns why node to takes no pods from node from, regardless of their usage;
// from any node if from is nil. If full is set, the source is a full node, and the
// destination need not be cool.
func (r *Round) closed(from, to *Node, full bool) (reasons.Reason, string) {
	closed, cool := to.Info.Node.Closed(), to.known && (to.State == thresholds.Cool || full && to.State != thresholds.Unknown)
	switch {
	case closed != "":
		return reasons.NodeClosed, closed
	case !cool:
		return reasons.NodeNotCool, "it is " + string(to.State)
	case !r.plugin.is.Relieves && r.Observed.Relieved[to.Name()]:
		return reasons.NodeJustRelieved, ""
	case from == to:
		return reasons.NodeClosed, "the pod is already there"
	case from != nil && from.Domain != to.Domain:
		return reasons.OtherDomain, fmt.Sprintf("it is in %s, the pod's node in %s", to.Domain, from.Domain)
	}
	return "", ""
}

// peak returns the usage that a pod adds at its destination: its current usage or, if its
// move relieves no node and is therefore not urgent, its peak usage.
func (r *Round) peak(on *Node, podUID string) cluster.Amounts {
	read := on.read(podUID)
	used := read.Used
	if !r.plugin.is.Relieves {
		used[cluster.CPU] = max(used[cluster.CPU], read.PeakMilliCores)
	}
	return used
}

// rise returns by how much the usage of a destination will rise at its busiest time. It
// applies to moves that relieve no node and are therefore not urgent. Otherwise, such
// moves would undo in every quiet hour what relief achieves in the busy hours. The rise
// is taken from the forecast or from the last hours, whichever is higher. For those
// hours, the lower of two values counts: the sum of its pods' peaks, because these need
// not coincide, and the node's own peak, because pods that have left may have caused it.
func (r *Round) rise(to *Node) (more cluster.Amounts) {
	if r.plugin.is.Relieves {
		return more
	}
	above := func(peak int64, used cluster.Amounts) int64 { return max(peak-used[cluster.CPU], 0) }
	pods := int64(0)
	for j := range to.Read.Pods {
		pods += above(to.Read.Pods[j].PeakMilliCores, to.Read.Pods[j].Used)
	}
	node := above(to.Read.PeakMilliCores, to.Read.Whole(usage.AtAvg5m))
	more[cluster.CPU] = max(r.Observed.Board.Rises(to.At), min(pods, node))
	return more
}

// read returns the usage of one of the node's pods.
func (n *Node) read(podUID string) *usage.PodUsage {
	for j, pod := range n.Info.Pods {
		if pod.UID == podUID {
			return &n.Read.Pods[j]
		}
	}
	return &usage.PodUsage{}
}

// fullest returns the higher of CPU and memory usage, in percent of allocatable.
func (n *Node) fullest() float64 {
	of := n.Rated(n.Predicted)
	return slices.Max(of[:])
}

// most returns the CPU usage, in milli-cores, up to which the node takes pods off full
// nodes.
func (n *Node) most() int64 {
	return int64(strategies.FullCeiling * float64(n.Info.Node.Allocatable[cluster.CPU]))
}

// report fills in the usage of both nodes before and after a move.
func (r *Round) report(m *strategies.Move) {
	change := func(n *Node, by cluster.Amounts) (before, after cluster.Percents) {
		if !n.known { // only descheduler plugins move pods between such nodes
			return before, after
		}
		before = n.Rated(n.Predicted.Plus(n.change))
		n.change = n.change.Plus(by)
		return before, n.Rated(n.Predicted.Plus(n.change))
	}
	m.FromBefore, m.FromAfter = change(r.Node(m.From), cluster.Amounts{}.Minus(m.Usage))
	m.ToBefore, m.ToAfter = change(r.Node(m.To), m.Usage)
}

// reports returns the nodes before and after the plan.
func (r *Round) reports() (all []strategies.NodeReport) {
	for _, n := range r.Nodes {
		all = append(all, strategies.NodeReport{
			Name: n.Name(), State: n.State, Before: n.Rated(n.Predicted), After: n.Rated(n.Predicted.Plus(n.change)),
		})
	}
	return all
}

// landings evaluates every other node as a destination for the explained pod, as if
// nothing else moved. unwanted returns why the strategy would not move it to a node; it
// may be nil.
func (r *Round) landings(ctx context.Context, unwanted func(*Node) reasons.Reason) ([]strategies.Landing, error) {
	if _, err := r.Placement(ctx); err != nil {
		return nil, err
	}
	pod, all := r.Asked, []strategies.Landing(nil)
	from, peak := r.Node(pod.Node), pod.Usage
	if from != nil {
		peak = r.peak(from, pod.UID)
	}
	for _, n := range r.Nodes {
		if n == from {
			continue
		}
		l := strategies.Landing{Node: n.Name(), State: n.State, Before: n.Rated(n.Predicted), After: n.Rated(n.Predicted.Plus(pod.Usage))}
		if l.Refused, l.Detail = r.closed(from, n, false); l.Refused == "" && unwanted != nil {
			l.Refused = unwanted(n)
		}
		if l.Refused == "" && !r.Observed.Board.Lands(n.At, peak.Plus(r.rise(n))) {
			l.Refused = reasons.AboveRejectLine
		}
		if l.Refused == "" {
			if ok, why := fits(r.session, r.asked, n.Name()); !ok {
				l.Refused, l.Detail = reasons.FilterRefuses, why
			}
		}
		all = append(all, l)
	}
	return all, nil
}

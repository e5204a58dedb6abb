package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// addLandings judges the other nodes as destinations of a pod. It judges as the plan does
// if there is one, otherwise by usage alone.
func (f *Facts) addLandings(p *PodExplanation, record *cluster.Pod, used cluster.Amounts) {
	var landings []strategies.Landing
	if f.Planned != nil {
		landings = f.Planned.Landings
	}
	if len(landings) == 0 {
		landings, p.ByUsageAlone = f.byUsage(record, used), true
	}
	p.Landings = make([]Landing, len(landings))
	for i := range landings {
		l := &landings[i]
		p.Landings[i] = Landing{Node: l.Node, State: string(l.State), Planned: p.goesTo(l.Node)}
		if compared := p.Landings[i].Planned && p.Move != nil && p.Move.CeilingPercent > 0; !compared {
			p.Landings[i].Refused, p.Landings[i].Detail = string(l.Refused), cmp.Or(l.Detail, cmp.Or(f.limited(l), l.Refused.Sentence()))
		}
		if l.State != thresholds.Unknown {
			p.Landings[i].Before, p.Landings[i].After = new(PercentsOf(l.Before)), new(PercentsOf(l.After))
		}
	}
	f.score(p.Landings, used)
	slices.SortStableFunc(p.Landings, compareLandings)
}

// goesTo reports whether the pod's replacement is expected on a node.
func (p *PodExplanation) goesTo(node string) bool {
	return p.Move != nil && p.Move.To == node || p.Eviction != nil && p.Eviction.To == node
}

// byUsage judges destinations by usage alone, without kube-scheduler's filters.
func (f *Facts) byUsage(record *cluster.Pod, used cluster.Amounts) []strategies.Landing {
	var landings []strategies.Landing
	for i := range f.View.Nodes {
		info := &f.View.Snapshot.Nodes[i].Node
		predicted, known := f.Board.Predicted(cluster.NodeIndex(i))
		if info.Name == record.Node || !known {
			continue
		}
		l := strategies.Landing{
			Node: info.Name, State: f.States[info.Name].State,
			Before: predicted.PercentOf(info.Allocatable), After: predicted.Plus(used).PercentOf(info.Allocatable),
		}
		switch why := info.Closed(); {
		case why != "":
			l.Refused, l.Detail = reasons.NodeClosed, why
		case !f.Board.Lands(cluster.NodeIndex(i), used):
			l.Refused = reasons.AboveRejectLine
		}
		landings = append(landings, l)
	}
	return landings
}

// score adds the extender's scores to the nodes that accept the pod.
func (f *Facts) score(landings []Landing, used cluster.Amounts) {
	var taking []*Landing
	var nodes []cluster.NodeIndex
	for i := range landings {
		if at := f.Board.Node([]byte(landings[i].Node)); landings[i].Refused == "" && at >= 0 {
			taking, nodes = append(taking, &landings[i]), append(nodes, at)
		}
	}
	scores := make([]int8, len(nodes))
	f.Board.Score(nodes, used, scores)
	for i, l := range taking {
		l.Score = new(int(scores[i]))
	}
}

// FindPod returns the record of a bound pod; nil if there is none.
func FindPod(view *usage.View, namespace, name string) *cluster.Pod {
	pod, _, _ := find(view, namespace, name)
	return pod
}

func find(view *usage.View, namespace, name string) (pod *cluster.Pod, i, j int) {
	for i, node := range view.Snapshot.Nodes {
		for j, pod := range node.Pods {
			if pod.Name == name && pod.Namespace == namespace {
				return pod, i, j
			}
		}
	}
	return nil, -1, -1
}

// OfPod explains a pod. If the pod is not known, the error wraps ErrUnknown.
func OfPod(f *Facts, namespace, name string) (PodExplanation, error) {
	record, i, j := find(f.View, namespace, name)
	if record == nil {
		return f.remembered(namespace, name)
	}
	info, read := &f.View.Snapshot.Nodes[i].Node, &f.View.Nodes[i].Pods[j]
	p := PodExplanation{
		Namespace: namespace, Name: name, Node: info.Name, NodeState: string(f.States[info.Name].State), Priority: record.Priority,
		Usage: AmountsOf(read.Used), NodePercent: PercentsOf(read.Used.PercentOf(info.Allocatable)),
		Measured: read.Measured, MeasuredSeconds: int(read.Span / time.Second), Instead: []ExplainedMove{},
		Moves: f.moves(func(m *ledger.Move) bool { return m.Owner.UID != "" && m.Owner.UID == record.Owner.UID }),
	}
	if record.Owner.UID != "" {
		p.Owner = record.Owner.Kind + "/" + record.Owner.Name
	}
	f.judge(&p, record)
	f.addLandings(&p, record, read.Used)
	p.Paused, p.Summary = f.Paused, p.summary()+unless(f.Paused, p.Move != nil || p.Eviction != nil)
	return p, nil
}

// remembered explains a pod that was moved, so that only the ledger has a record of it, or
// that has ended and would be evicted.
func (f *Facts) remembered(namespace, name string) (PodExplanation, error) {
	p := PodExplanation{
		Namespace: namespace, Name: name, Instead: []ExplainedMove{}, Landings: []Landing{},
		Moves: f.moves(func(m *ledger.Move) bool { return Remembers(m, namespace, name) }),
	}
	asked := slices.IndexFunc(f.Evictions, func(e strategies.Eviction) bool { return e.Namespace == namespace && e.Name == name })
	if asked >= 0 {
		record := f.Evictions[asked].Pod
		p.Node, p.Paused = record.Node, f.Paused
		f.judge(&p, record)
		p.Summary = p.summary() + unless(f.Paused, p.Eviction != nil)
		return p, nil
	}
	if len(p.Moves) == 0 {
		return PodExplanation{}, UnknownPod(namespace, name)
	}
	p.Owner, p.Usage = p.Moves[0].Owner, p.Moves[0].Usage
	p.Summary = p.summaryOfMoved()
	return p, nil
}

// judge records whether the pod would be moved and, if not, why.
func (f *Facts) judge(p *PodExplanation, record *cluster.Pod) {
	if moves := f.plannedMoves(func(m *strategies.Move) bool { return m.UID == record.UID }); len(moves) > 0 {
		p.Candidate, p.Move = true, &moves[max(0, slices.IndexFunc(moves, func(m ExplainedMove) bool { return !m.DryRun }))]
		return
	}
	if e := f.eviction(record); e != nil {
		if e.Refused == "" {
			p.Candidate, p.Eviction = true, new(planEvictionOf(e))
			return
		}
		p.Reason, p.Detail, p.Plugin, p.Candidate = string(e.Refused), inSpiteOf(e), e.Plugin, f.candidate(record)
		return
	}
	reason, detail := f.stays(record)
	if reason == reasons.OthersSuffice {
		p.Instead = f.plannedMoves(func(m *strategies.Move) bool { return m.From == record.Node })
		detail = instead(p.Instead, f.waiting(func(m *strategies.Move) bool { return m.From == record.Node }))
		if planned := f.Planned.Pod; planned != nil && planned.Disruption.Cost() != strategies.PlainQuarters {
			detail += "; this pod counts as " + planned.Disruption.InWords()
		}
	}
	if d := f.declined(record); d != nil && d.Plugin != "" {
		p.Plugin = d.Plugin
		if asks := d.Plugin + " asks for its eviction"; !strings.HasPrefix(detail, asks) {
			detail = asks + ", but " + detail
		}
	}
	p.Reason, p.Detail = string(reason), detail
	p.Candidate = f.candidate(record)
}

// eviction returns the eviction of a pod that a descheduler plugin asks for by itself, first
// of plugins that are not in dry run; nil if none does.
func (f *Facts) eviction(record *cluster.Pod) *strategies.Eviction {
	var found *strategies.Eviction
	for i := range f.Evictions {
		if e := &f.Evictions[i]; e.UID == record.UID && (found == nil || found.DryRun && !e.DryRun) {
			found = e
		}
	}
	return found
}

// inSpiteOf explains why a pod stays although a plugin asks for its eviction.
func inSpiteOf(e *strategies.Eviction) string {
	return fmt.Sprintf("%s would evict it; %s", e.Plugin, e.Refused.Sentence())
}

func (f *Facts) candidate(record *cluster.Pod) bool {
	return f.Planned != nil && f.Planned.Pod != nil && f.Planned.Pod.Refused == "" && !record.Terminating && !f.moving(record.UID)
}

func (f *Facts) moving(podUID string) bool {
	return slices.ContainsFunc(f.InFlight, func(m ledger.Move) bool { return m.PodUID == podUID })
}

// stays returns the most specific reason why no move of a pod is planned.
func (f *Facts) stays(record *cluster.Pod) (reasons.Reason, string) {
	switch {
	case record.Terminating:
		return reasons.Terminating, "it is already terminating"
	case f.moving(record.UID):
		return reasons.OnTheMove, "it was evicted or is about to be"
	case f.Planned == nil:
		return reasons.NotPlanned, f.without()
	case f.Planned.Pod != nil && f.Planned.Pod.Refused != "":
		return f.Planned.Pod.Refused, f.refused()
	case f.Planned.Closed != "":
		return reasons.NotPlanned, f.without()
	case f.Planned.Pod == nil:
		return reasons.NotPlanned, "the watch no longer knows it"
	}
	return f.spared(record)
}

func (f *Facts) refused() string {
	refused, protection := f.Planned.Pod.Refused, f.Planned.Protection
	switch {
	case protection == "":
		return refused.Sentence()
	case refused == reasons.ProtectedByDefaultEvictor:
		return "the DefaultEvictor protects it: " + protection
	}
	return refused.Sentence() + ": " + protection
}

// spared returns why the plan does not move a pod although it is allowed to.
func (f *Facts) spared(record *cluster.Pod) (reasons.Reason, string) {
	node := f.Planned.node(record.Node)
	if node == nil {
		return reasons.NotPlanned, "the policy's nodeSelector excludes its node, or the node is not ready"
	}
	if reason, detail := f.Planned.Basis.Stays(record); reason != "" {
		if i := f.View.Snapshot.Index(node.Name); i >= 0 && reason == reasons.NodeNotHot && node.State != thresholds.Hot {
			if notHot, _ := f.Bases(i); notHot != nil {
				detail += " (" + notHot.Text + ")"
			}
		}
		return reason, detail
	}
	if d := f.declined(record); d != nil {
		return d.Reason, cmp.Or(d.Detail, d.Reason.Sentence())
	}
	if f.waiting(func(m *strategies.Move) bool { return m.UID == record.UID }) > 0 {
		return reasons.MoveLimit, reasons.MoveLimit.Sentence()
	}
	left := f.Planned.report(record.Node).Reason
	if len(f.plannedMoves(func(m *strategies.Move) bool { return m.From == record.Node })) > 0 || left == "" {
		return reasons.OthersSuffice, ""
	}
	return left, left.Sentence()
}

// declined returns the plan's record of a pod that it does not move; nil if there is none.
func (f *Facts) declined(record *cluster.Pod) *strategies.Declined {
	if f.Planned == nil {
		return nil
	}
	all := f.Planned.Plan.Declined
	if i := slices.IndexFunc(all, func(d strategies.Declined) bool { return d.UID == record.UID }); i >= 0 {
		return &all[i]
	}
	return nil
}

// waiting counts the matching moves that wait for a later cycle.
func (f *Facts) waiting(pick func(*strategies.Move) bool) (moves int) {
	for i := range f.Planned.Plan.Waiting {
		if pick(&f.Planned.Plan.Waiting[i]) {
			moves++
		}
	}
	return moves
}

// instead lists the moves that make moving a pod unnecessary, and counts the moves that
// wait for a later cycle.
func instead(moves []ExplainedMove, waiting int) string {
	const most = 5
	named := make([]string, 0, most+1)
	for i := range moves {
		if i == most {
			named = append(named, fmt.Sprintf("%d more", len(moves)-most))
			break
		}
		named = append(named, fmt.Sprintf("%s/%s (%s)", moves[i].Namespace, moves[i].Pod, moves[i].Usage))
	}
	if waiting > 0 {
		named = append(named, fmt.Sprintf("%d that wait for a later cycle", waiting))
	}
	return "fewer or less disruptive moves cool its node: " + strings.Join(named, ", ")
}

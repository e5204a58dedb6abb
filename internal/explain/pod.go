package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// Pod is what there is to say of a pod.
type Pod struct {
	// Summary says what matters most in words.
	Summary   string `json:"summary"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Owner     string `json:"owner,omitempty"`
	// Node is where it runs; empty for a pod that only the ledger remembers.
	Node      string `json:"node,omitempty"`
	NodeState string `json:"nodeState,omitempty"`
	Priority  int32  `json:"priority"`
	// Usage is what it was measured at, or an estimate where Measured is false; NodePercent is that of its node's allocatable,
	// MeasuredSeconds how long samples reach back.
	Usage           Amounts  `json:"usage"`
	NodePercent     Percents `json:"nodePercent"`
	Measured        bool     `json:"measured"`
	MeasuredSeconds int      `json:"measuredSeconds"`
	// Candidate says that it may be moved.
	Candidate bool `json:"candidate"`
	// Move is what a cycle would do with it now; absent where it would stay.
	Move *PlannedMove `json:"move,omitempty"`
	// Reason is why it would stay, Detail says it in words; Instead are the moves that cool its node without it.
	Reason  string        `json:"reason,omitempty"`
	Detail  string        `json:"detail,omitempty"`
	Instead []PlannedMove `json:"instead"`
	// Landings are what the other nodes are to it, the best first. ByUsageAlone says that kube-scheduler's filters were not
	// asked.
	Landings     []Landing `json:"landings"`
	ByUsageAlone bool      `json:"byUsageAlone,omitempty"`
	// Moves are its owner's in the ledger, those in flight first, the newest first each.
	Moves []Move `json:"moves"`
}

// FindPod returns the record of a pod that is bound to a node; nil if there is none.
func FindPod(view *usage.View, namespace, name string) *cluster.Pod {
	if pod, _, _ := find(view, namespace, name); pod != nil {
		return pod
	}
	return nil
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

// OfPod explains a pod. The error wraps ErrUnknown for one that is not known.
func OfPod(f *Facts, namespace, name string) (Pod, error) {
	record, i, j := find(f.View, namespace, name)
	if record == nil {
		return f.remembered(namespace, name)
	}
	info, read := &f.View.Snapshot.Nodes[i].Node, &f.View.Nodes[i].Pods[j]
	p := Pod{
		Namespace: namespace, Name: name, Node: info.Name, NodeState: string(f.States[info.Name].State), Priority: record.Priority,
		Usage: amounts(read.Used), NodePercent: percents(read.Used.PercentOf(info.Allocatable)),
		Measured: read.Measured, MeasuredSeconds: int(read.Span / time.Second), Instead: []PlannedMove{},
		Moves: f.moves(func(m *ledger.Move) bool { return m.Owner.UID != "" && m.Owner.UID == record.Owner.UID }),
	}
	if record.Owner.UID != "" {
		p.Owner = record.Owner.Kind + "/" + record.Owner.Name
	}
	f.judge(&p, record)
	f.addLandings(&p, record, read.Used)
	p.Summary = p.summary()
	return p, nil
}

// remembered explains a pod that only the ledger knows: one that was moved away.
func (f *Facts) remembered(namespace, name string) (Pod, error) {
	p := Pod{
		Namespace: namespace, Name: name, Instead: []PlannedMove{}, Landings: []Landing{},
		Moves: f.moves(func(m *ledger.Move) bool {
			return name != "" && m.Namespace == namespace && (m.Pod == name || m.ReplacementName == name)
		}),
	}
	if len(p.Moves) == 0 {
		return Pod{}, fmt.Errorf("pod %q in namespace %q is %w: it runs on no node, and no move of it is remembered", name, namespace, ErrUnknown)
	}
	p.Owner, p.Usage = p.Moves[0].Owner, p.Moves[0].Usage
	p.Summary = p.summaryOfMoved()
	return p, nil
}

// judge says whether the pod would be moved and, if not, why.
func (f *Facts) judge(p *Pod, record *cluster.Pod) {
	if moves := f.plannedMoves(func(m *strategies.Move) bool { return m.UID == record.UID }); len(moves) > 0 {
		p.Candidate, p.Move = true, &moves[0]
		return
	}
	reason, detail := f.stays(record)
	if reason == reasons.OthersSuffice {
		p.Instead = f.plannedMoves(func(m *strategies.Move) bool { return m.From == record.Node })
		detail = instead(p.Instead)
	}
	p.Reason, p.Detail = string(reason), detail
	p.Candidate = f.candidate(record)
}

func (f *Facts) candidate(record *cluster.Pod) bool {
	return f.Planned != nil && f.Planned.Pod != nil && f.Planned.Pod.Refused == "" && !record.Terminating && !f.moving(record.UID)
}

func (f *Facts) moving(podUID string) bool {
	for i := range f.InFlight {
		if f.InFlight[i].PodUID == podUID {
			return true
		}
	}
	return false
}

// stays says why a pod that is not planned to be moved is not, the most telling reason first.
func (f *Facts) stays(record *cluster.Pod) (reasons.Reason, string) {
	switch {
	case record.Terminating:
		return reasons.Terminating, "it is terminating already"
	case f.moving(record.UID):
		return reasons.OnTheMove, "it was evicted or is about to be"
	case f.Planned == nil:
		return reasons.NotPlanned, f.without()
	case f.Planned.Pod != nil && f.Planned.Pod.Refused != "":
		return f.Planned.Pod.Refused, f.refused()
	case f.Planned.Closed != "":
		return reasons.NotPlanned, f.without()
	case f.Planned.Pod == nil:
		return reasons.NotPlanned, "the watch does not know it any more"
	}
	return f.spared(record)
}

func (f *Facts) refused() string {
	if f.Planned.Protection != "" {
		return "the DefaultEvictor protects it: " + f.Planned.Protection
	}
	return f.Planned.Pod.Refused.Sentence()
}

// spared says why the plan leaves out a pod that may be moved.
func (f *Facts) spared(record *cluster.Pod) (reasons.Reason, string) {
	node := f.Planned.node(record.Node)
	switch {
	case node == nil:
		return reasons.NotPlanned, "the policy's nodeSelector leaves its node out, or the node is not ready"
	case node.State != thresholds.Hot:
		return reasons.NodeNotHot, fmt.Sprintf("its node %s is %s; pods are moved off hot nodes only", node.Name, node.State)
	case node.Need.AtLeastZero() == cluster.Amounts{}:
		return reasons.NodeNotHot, fmt.Sprintf("its node %s is under its evict lines; nothing has to leave", node.Name)
	}
	for i := range f.Planned.Plan.Declined {
		if d := &f.Planned.Plan.Declined[i]; d.UID == record.UID {
			return d.Reason, orElse(d.Detail, d.Reason.Sentence())
		}
	}
	left := f.Planned.left(record.Node)
	if len(f.plannedMoves(func(m *strategies.Move) bool { return m.From == record.Node })) > 0 || left == "" {
		return reasons.OthersSuffice, ""
	}
	return left, left.Sentence()
}

func orElse(words, otherwise string) string {
	if words == "" {
		return otherwise
	}
	return words
}

// instead names the moves that do without a pod.
func instead(moves []PlannedMove) string {
	const most = 5
	named := make([]string, 0, most+1)
	for i := range moves {
		if i == most {
			named = append(named, fmt.Sprintf("%d more", len(moves)-most))
			break
		}
		named = append(named, fmt.Sprintf("%s/%s (%s)", moves[i].Namespace, moves[i].Pod, moves[i].Usage))
	}
	return "the fewest and least disrupting moves that cool its node are others: " + strings.Join(named, ", ")
}

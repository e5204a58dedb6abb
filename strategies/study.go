package strategies

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
)

// Made is a plan and the input that it was made from.
type Made struct {
	Plan     Plan
	Observed Observed
	// Closed is why no plan was made; empty if one was.
	Closed string
	// Basis answers questions about the nodes and pods in the plan; nil if there is no
	// plan.
	Basis Basis
}

// Basis answers questions about the state that a strategy planned on.
type Basis interface {
	// Node returns a node as the strategy sees it; nil if the plan leaves it out.
	Node(name string) *NodeBasis
	// Stays returns why the strategy has no reason to move a pod that may be moved, for
	// example because its node is not hot; empty if it has one.
	Stays(pod *cluster.Pod) (reasons.Reason, string)
}

// NodeBasis is a node as a strategy sees it.
type NodeBasis struct {
	Name  string
	State thresholds.State
	// Closed explains why it takes no pods although it is cool; empty if it takes pods.
	Closed string
	// Need is the usage that has to leave it; zero or less if none has to.
	Need cluster.Amounts
	// Expected is how long it will be hot; nil if that is unknown.
	Expected *Expected
}

// Expected is how long a node is expected to be hot by CPU.
type Expected struct {
	// HotMinutes is the hot time within forecast.Horizon if nothing is moved.
	HotMinutes float64
	// Unserved is the estimated CPU demand of its pods beyond what it has, in
	// milli-cores.
	Unserved int64
	// Recurring is the forecast based on recurring usage; nil if no such usage would make
	// the node hot.
	Recurring *Ahead
}

// Landing describes whether one node would take a pod if nothing else moved.
type Landing struct {
	Node  string
	State thresholds.State
	// Before and After are the node's predicted usage without and with the pod.
	Before, After cluster.Percents
	// Refused explains why the node does not take the pod; empty if it does. Detail adds
	// information for users.
	Refused reasons.Reason
	Detail  string
}

// Asked holds the question that a Study answers in addition to planning.
type Asked struct {
	// Pod is the pod in question; nil for none.
	Pod *cluster.Pod
	// Protection holds the DefaultEvictor's arguments, to find which of its checks
	// protect the pod; nil skips that.
	Protection runtime.Object
}

// Study is a plan and its effect on one pod, as an explanation.
type Study struct {
	Made Made
	// Pod is the pod in question as the planner sees it, on any node; nil if there is
	// none or it no longer exists.
	Pod *Pod
	// Protection lists the DefaultEvictor checks that protect the pod, as the DefaultEvictor
	// words them, or describes what else protects it.
	Protection string
	// Landings describes for each other node whether it would take the pod.
	Landings []Landing
}

// MergeStudies combines the Studies of several strategies into one. All of them must be about
// the same pod.
func MergeStudies(studies []Study) Study {
	if len(studies) == 0 {
		return Study{}
	}
	whole := studies[0]
	whole.Made = TogetherMade(madeOf(studies))
	for i := range studies {
		s := &studies[i]
		moved := whole.Pod != nil && slices.ContainsFunc(s.Made.Plan.Moves, func(m Move) bool { return m.UID == whole.Pod.UID })
		if moved || whole.Landings == nil {
			whole.Landings = s.Landings
		}
		if moved {
			break
		}
	}
	return whole
}

func madeOf(studies []Study) []Made {
	all := make([]Made, len(studies))
	for i := range studies {
		all[i] = studies[i].Made
	}
	return all
}

// TogetherMade combines several plans on the same nodes. The result is closed if all of
// them are.
func TogetherMade(all []Made) Made {
	if len(all) == 0 {
		return Made{}
	}
	whole := all[0]
	if len(all) == 1 {
		return whole
	}
	var basis joined
	moved := map[string]bool{}
	whole.Plan = Plan{}
	for i := range all {
		if all[i].Closed == "" {
			whole.Closed = ""
		}
		if all[i].Basis != nil {
			basis = append(basis, all[i].Basis)
		}
		whole.Plan.join(&all[i].Plan, moved)
	}
	whole.Plan.Declined = slices.DeleteFunc(whole.Plan.Declined, func(d Declined) bool { return moved[d.UID] })
	if whole.Basis = nil; len(basis) > 0 {
		whole.Basis = basis
	}
	return whole
}

// join adds another plan for the same nodes: its moves, except those of pods that are
// moved already, its waiting and declined pods, and its reports on nodes. A move that is
// only logged moves nothing.
func (p *Plan) join(other *Plan, moved map[string]bool) {
	for _, m := range other.Moves {
		if !moved[m.UID] {
			moved[m.UID] = !m.DryRun
			p.Moves = append(p.Moves, m)
		}
	}
	p.Waiting, p.Declined = append(p.Waiting, other.Waiting...), append(p.Declined, other.Declined...)
	places := make(map[string]int, len(p.Nodes))
	for i := range p.Nodes {
		places[p.Nodes[i].Name] = i
	}
	for i := range other.Nodes {
		n := &other.Nodes[i]
		at, planned := places[n.Name]
		if !planned {
			p.Nodes = append(p.Nodes, *n)
			continue
		}
		known := &p.Nodes[at]
		for r := range known.After {
			known.After[r] += n.After[r] - n.Before[r]
		}
		if known.Relief == nil {
			known.Relief = n.Relief
		}
	}
}

// joined is the Basis of several strategies.
type joined []Basis

// Node implements Basis. It returns the node as the first strategy that plans for it sees
// it.
func (j joined) Node(name string) *NodeBasis {
	for _, basis := range j {
		if node := basis.Node(name); node != nil {
			return node
		}
	}
	return nil
}

// Stays implements Basis. A pod stays if no strategy has a reason to move it.
func (j joined) Stays(pod *cluster.Pod) (reason reasons.Reason, detail string) {
	for i, basis := range j {
		why, words := basis.Stays(pod)
		switch {
		case why == "":
			return "", ""
		case i == 0:
			reason, detail = why, words
		default:
			detail += "; " + words
		}
	}
	return reason, detail
}

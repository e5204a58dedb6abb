package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// PlanKind is the kind of a Plan, in the same group and version as policies.
const PlanKind = "Plan"

// Plan describes what a cycle would do now, and why.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Made is when the plan was made.
	Made time.Time `json:"made"`
	// Closed explains why no plan was made; absent if one was made.
	Closed string `json:"closed,omitempty"`
	// Paused describes what keeps the plan from being carried out now; absent if nothing
	// does.
	Paused string `json:"paused,omitempty"`
	// Provisional explains why the plan of a cycle may differ from this one; absent if it
	// would be the same.
	Provisional string `json:"provisional,omitempty"`
	// HotLeftOut lists the hot nodes that the policy's nodeSelector leaves out.
	HotLeftOut []string `json:"hotLeftOut,omitempty"`
	// OtherProfiles lists the policy's profiles that also move pods by real usage but
	// whose moves are not shown.
	OtherProfiles []string `json:"otherProfiles,omitempty"`
	// OtherPlugins lists the descheduler plugins that are not shown because they read metrics
	// themselves.
	OtherPlugins []string    `json:"otherPlugins,omitempty"`
	Summary      PlanSummary `json:"summary"`
	Steering     Steering    `json:"steering"`
	Moves        []PlanMove  `json:"moves"`
	// Evictions lists what descheduler plugins evict even if there is no better place.
	Evictions []PlanEviction `json:"evictions"`
	Declined  []PlanDeclined `json:"declined"`
	Nodes     []PlanNode     `json:"nodes"`
}

// PlanNode is a node in the report of a plan. Its percentages are absent if its usage is
// unknown.
type PlanNode struct {
	NodeState
	// Reason is why a hot node is not cooled. Detail describes the reason in words.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Relief is how long the moves off the node take; absent if there are none.
	Relief *Relief `json:"relief,omitempty"`
	// Exceeded holds the evict lines that the node is beyond.
	Exceeded []ledger.Exceeded `json:"exceeded,omitempty"`
	// CountsFrom is when the samples of a node beyond an evict line start to count;
	// absent unless the node became ready too recently.
	CountsFrom *time.Time `json:"countsFrom,omitempty"`
	// Measured is the node's usage in the last five minutes. Before and After are the
	// usage that the plan assumes without and with the moves. For a hot node, this is the
	// part of the measured usage that counts. For any other node, it is a prediction that
	// includes estimates for new pods.
	Measured *Percents `json:"measured,omitempty"`
	Before   *Percents `json:"before,omitempty"`
	After    *Percents `json:"after,omitempty"`
}

// PlanSummary holds the counts that summarize a plan.
type PlanSummary struct {
	Nodes int `json:"nodes"`
	// UnknownNodes is the number of nodes of whose usage too little is known.
	UnknownNodes int `json:"unknownNodes"`
	HotNodes     int `json:"hotNodes"`
	// NotHotNodes is the number of nodes whose measured usage is above an evict line but
	// that are not hot.
	NotHotNodes int `json:"notHotNodes"`
	// CooledNodes is the number of hot nodes that the moves bring below their evict
	// lines, and StayHotNodes the number of those that stay above.
	CooledNodes  int `json:"cooledNodes"`
	StayHotNodes int `json:"stayHotNodes"`
	Moves        int `json:"moves"`
	Evictions    int `json:"evictions"`
	// DryRun is the number of these moves and evictions that would only be logged, because
	// their plugins are in dry run.
	DryRun       int `json:"dryRun,omitempty"`
	DeclinedPods int `json:"declinedPods"`
	// HighestCPU and HighestMemory are the fullest nodes, now and after the moves;
	// absent if no usage is known.
	HighestCPU    *Highest `json:"highestCPU,omitempty"`
	HighestMemory *Highest `json:"highestMemory,omitempty"`
}

// Highest is the fullest node, as measured now and as expected after the moves.
type Highest struct {
	Before Level `json:"before"`
	After  Level `json:"after"`
}

// Level is a node with its usage in percent of its allocatable.
type Level struct {
	Node    string  `json:"node"`
	Percent float64 `json:"percent"`
}

// PlanFacts holds the knowledge of a process after planning.
type PlanFacts struct {
	// At is when the plan was made.
	At   time.Time
	Plan strategies.Plan
	// Nodes holds the observations of nodes, by name.
	Nodes map[string]*ObservedNode
	// HotLeftOut lists the hot nodes that the policy's nodeSelector leaves out of the
	// plan.
	HotLeftOut []string
	// OtherProfiles lists the profiles that also move pods by real usage but are not part
	// of the plan.
	OtherProfiles []string
	// OtherPlugins lists the descheduler plugins that are not part of the plan.
	OtherPlugins []string
	// Evictions lists what descheduler plugins ask for by themselves.
	Evictions []strategies.Eviction
	// Until maps the UID of a declined pod to the time at which the reason ends, if that
	// is known in advance.
	Until map[string]time.Time
	// Closed explains why nothing was planned; empty if a plan was made. Paused describes
	// what pauses evicting; empty if nothing does.
	Closed, Paused string
	// Watched is how long usage was observed, if this is shorter than ShortOf, the time
	// that evicting requires. Otherwise both are 0.
	Watched, ShortOf time.Duration
	Steering         SteeringEvidence
}

// ObservedNode is the observation of a node that a plan contains.
type ObservedNode struct {
	// NotHot and NotCool are explained at NodeState.
	NotHot, NotCool *Basis
	// Evidence holds the evict lines that a hot node, or a node that became ready too
	// recently, is beyond. CountsFrom is when the samples of the latter start to count.
	Evidence   []thresholds.Evidence
	CountsFrom time.Time
	// Measured is the node's usage in the last five minutes.
	Measured cluster.Percents
}

// node returns the observation of a node; empty if there is none.
func (f *PlanFacts) node(name string) ObservedNode {
	if n := f.Nodes[name]; n != nil {
		return *n
	}
	return ObservedNode{}
}

// NewPlan makes a Plan from facts.
func NewPlan(f *PlanFacts) *Plan {
	r := &Plan{
		APIVersion: policy.GroupVersion, Kind: PlanKind, Made: f.At.UTC(), Closed: f.Closed, Paused: f.Paused,
		Steering: f.Steering.Conclude(f.At), HotLeftOut: f.HotLeftOut, OtherProfiles: f.OtherProfiles, OtherPlugins: f.OtherPlugins,
		Moves: []PlanMove{}, Evictions: []PlanEviction{}, Declined: []PlanDeclined{}, Nodes: []PlanNode{},
	}
	for i := range f.Plan.Moves {
		r.Moves = append(r.Moves, planMoveOf(&f.Plan.Moves[i], f.node(f.Plan.Moves[i].From).Evidence))
	}
	for i := range f.Plan.Declined {
		r.Declined = append(r.Declined, f.declined(&f.Plan.Declined[i]))
	}
	for i := range f.Evictions {
		if e := &f.Evictions[i]; e.Refused == "" {
			r.Evictions = append(r.Evictions, planEvictionOf(e))
		} else {
			r.Declined = append(r.Declined, planDeclinedOf(&strategies.Declined{Pod: strategies.Pod{Pod: e.Pod}, Node: e.Node, Reason: e.Refused, Detail: inSpiteOf(e)}))
		}
	}
	for i := range f.Plan.Nodes {
		n := &f.Plan.Nodes[i]
		known := f.node(n.Name)
		node := PlanNode{
			NodeState: NodeState{Name: n.Name, State: string(n.State), NotHot: known.NotHot, NotCool: known.NotCool},
			Reason:    string(n.Reason), Detail: n.Why(), Relief: ReliefOf(n.Relief),
		}
		if n.State != thresholds.Unknown {
			node.Exceeded = strategies.Exceeded(known.Evidence)
			if known.CountsFrom.After(f.At) {
				node.CountsFrom = new(known.CountsFrom.UTC())
			}
			node.Measured = new(PercentsOf(known.Measured))
			node.Before, node.After = new(PercentsOf(n.Before)), new(PercentsOf(n.After))
		}
		r.Nodes = append(r.Nodes, node)
	}
	if f.Watched < f.ShortOf {
		r.Provisional = fmt.Sprintf("usage was watched for %s, and evicting takes %s (hot.minWindow). For a plan by that: --observe %[2]s",
			duration.HumanDuration(f.Watched), duration.HumanDuration(f.ShortOf))
	}
	r.Summary = r.sum()
	return r
}

// Unplanned returns a plan with the ready nodes and without moves, for a policy that
// moves nothing by real usage.
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

// Observe adds the observation of nodes, and the hot nodes that are not part of the plan.
func (f *PlanFacts) Observe(o *strategies.Observed, samplesNeeded int) {
	planned := map[string]bool{}
	for i := range f.Plan.Nodes {
		planned[f.Plan.Nodes[i].Name] = true
	}
	facts := Facts{View: o.View, States: o.States, Lines: o.Lines, SamplesNeeded: samplesNeeded}
	f.Nodes = make(map[string]*ObservedNode, len(o.View.Nodes))
	for i := range o.View.Nodes {
		info, read := &o.View.Snapshot.Nodes[i].Node, &o.View.Nodes[i]
		state, known := o.States[info.Name], &ObservedNode{}
		f.Nodes[info.Name] = known
		if young := state.Metric != "" && !state.Starting.IsZero(); young {
			known.CountsFrom, known.Evidence = state.Starting, o.Lines.Evidence(i)
		}
		if state.State == thresholds.Hot {
			known.Evidence = o.Lines.Evidence(i)
		}
		if planned[info.Name] {
			known.NotHot, known.NotCool = facts.Bases(i)
			known.Measured = read.Measured[usage.AtAvg5m].PercentOf(info.Allocatable)
		} else if len(planned) > 0 && state.State == thresholds.Hot {
			f.HotLeftOut = append(f.HotLeftOut, info.Name)
		}
	}
}

// sum summarizes a plan.
func (r *Plan) sum() PlanSummary {
	s := PlanSummary{Nodes: len(r.Nodes), Moves: len(r.Moves), Evictions: len(r.Evictions), DeclinedPods: len(r.Declined)}
	for i := range r.Moves {
		if r.Moves[i].DryRun {
			s.DryRun++
		}
	}
	for i := range r.Evictions {
		if r.Evictions[i].DryRun {
			s.DryRun++
		}
	}
	leave := r.Relieving()
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.NotHot.ByMeasure() {
			s.NotHotNodes++
		}
		switch {
		case n.Before == nil:
			s.UnknownNodes++
			continue
		case thresholds.State(n.State) != thresholds.Hot:
		case n.Reason != "":
			s.HotNodes, s.StayHotNodes = s.HotNodes+1, s.StayHotNodes+1
		case len(leave[n.Name]) > 0:
			s.HotNodes, s.CooledNodes = s.HotNodes+1, s.CooledNodes+1
		default: // it is hot only because it is above its leave line
			s.HotNodes++
		}
		s.HighestCPU = s.HighestCPU.with(n.Name, n.Measured.CPU, n.After.CPU)
		s.HighestMemory = s.HighestMemory.with(n.Name, n.Measured.Memory, n.After.Memory)
	}
	return s
}

// with returns the fuller of h, which may be nil, and the given node.
func (h *Highest) with(node string, measured, after float64) *Highest {
	if h == nil {
		return &Highest{Before: Level{node, measured}, After: Level{node, after}}
	}
	if measured > h.Before.Percent {
		h.Before = Level{node, measured}
	}
	if after > h.After.Percent {
		h.After = Level{node, after}
	}
	return h
}

// Relieving returns the moves that relieve their source, by source.
func (r *Plan) Relieving() map[string][]*PlanMove {
	leave := map[string][]*PlanMove{}
	for i := range r.Moves {
		if m := &r.Moves[i]; reasons.Reason(m.Reason).Relieves() {
			leave[m.From] = append(leave[m.From], m)
		}
	}
	return leave
}

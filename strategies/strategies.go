// Package strategies holds the values that all strategies share: the input of a plan, the
// plan itself, the cost of a move, and the sentence that explains it. Each subfolder
// holds one strategy. A strategy turns an Observed into a Plan, which the evicting half
// carries out.
package strategies

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
)

// Observed is the input of a strategy.
type Observed struct {
	View   *usage.View
	Board  *scorer.Board
	States map[string]thresholds.NodeState
	Lines  *thresholds.Resolved
	// Closed explains why nothing may be evicted now; empty if evicting is allowed.
	Closed string
	// Held is the part of Closed that does not depend on usage. It applies to all
	// evictions, including those of descheduler plugins.
	Held string
	// Coming holds the replacements that are expected on nodes and that View does not
	// show yet.
	Coming []Arrival
	// Supposed holds moves that were not made but count as made, so that their pods count
	// as leaving.
	Supposed []Move
	// Begun names the nodes that moves have recently left. Those that are still hot are
	// finished first.
	Begun map[string]bool
	// Relieved names the nodes that were hot within the last day and that pods were moved
	// off for that reason.
	Relieved map[string]bool
	// Moved names, by UID, the pods that moves have brought to their nodes within the
	// last day.
	Moved map[string]bool
	// JustMoved is like Moved, but covers only the cooldown that follows a move that did
	// not help.
	JustMoved map[string]bool
	// MaxMoves limits the moves in addition to the policy's own limit; negative means no
	// additional limit.
	MaxMoves int
	// Beside returns why a pod must not be moved in addition to planned moves, given
	// their numbers for its owner and its namespace; nil if nothing limits these.
	Beside func(pod *cluster.Pod, ofOwner, ofNamespace int) (reasons.Reason, string)
	// Pace returns how long the given moves take, by the nodes that they leave. The moves
	// are made in order, with at most perCycle in a cycle and perNode off one node in it;
	// 0 means unlimited. It is nil if the pace is unknown.
	Pace func(moves []Move, perCycle, perNode int) map[string]Relief
}

// Arrival is a replacement that is expected on a node.
type Arrival struct{ Namespace, OwnerUID, Node string }

// PodsOnHotNodes counts the pods on hot nodes, moved or not.
func (o *Observed) PodsOnHotNodes() (pods int) {
	for _, info := range o.View.Snapshot.Nodes {
		if o.States[info.Node.Name].State == thresholds.Hot {
			pods += len(info.Pods)
		}
	}
	return pods
}

// Pod is one pod of a hot node.
type Pod struct {
	*cluster.Pod
	// Usage is the pod's measured usage, Expected the CPU that it will use.
	Usage    cluster.Amounts
	Expected forecast.Expected
	// PeakMilliCores is the maximum CPU that it used in the last hours.
	PeakMilliCores int64
	// Unserved is the estimated CPU demand beyond what its node gives it, in milli-cores.
	Unserved int64
	// Pattern is its recurring usage, if it has any.
	Pattern forecast.PodPattern
	// Refused explains why the pod must not be moved; empty if it may be moved.
	Refused reasons.Reason
	// Disruption is the cost of moving the pod.
	Disruption Disruption
}

// Wanted is the pod's demand on its node.
func (p *Pod) Wanted() cluster.Amounts {
	wanted := p.Usage
	wanted[cluster.CPU] += p.Unserved
	return wanted
}

// Move is one planned move.
type Move struct {
	Pod
	From, To string
	Reason   reasons.Reason
	// Plugin is the descheduler plugin that asked for the move; empty if a strategy did.
	Plugin string
	// Why explains in a sentence why the pod is moved, instead of the facts about its hot
	// node; empty for moves off hot nodes.
	Why string
	// The usage of source and destination before and after this move, in the
	// order of the plan; zero if it is unknown.
	FromBefore, FromAfter, ToBefore, ToAfter cluster.Percents
	// HotMinutesSaved is the expected reduction in hot time of source and destination
	// within forecast.Horizon, averaged over the moves off this source; 0 if it is
	// unknown how long the source will be hot.
	HotMinutesSaved float64
	// CeilingMilliCores is the predicted CPU up to which the destination takes the pod,
	// instead of its reject line; 0 if that line applies.
	CeilingMilliCores int64
	// Ahead is the forecast for a source that is not hot yet; nil for a hot one.
	Ahead *Ahead
	// DryRun reports whether the move is only logged, because its plugin is in dry run.
	DryRun bool
}

// Ahead describes when recurring usage is expected to make a node hot.
type Ahead struct {
	// Within is a period, or forecast.Horizon if that is longer.
	Within time.Duration
	// HotMinutes is the part of Within for which it will be hot. PeakPercent is its
	// maximum CPU usage, in percent of allocatable, and PeakAt when that occurs next.
	HotMinutes, PeakPercent float64
	PeakAt                  time.Time
}

// Sentence explains with numbers why the pod is moved. It becomes the pod's Event.
func (m *Move) Sentence(evidence []thresholds.Evidence) string {
	switch {
	case m.Ahead != nil:
		return m.aheadSentence()
	case m.Why != "" && (m.Usage == cluster.Amounts{} || m.ToAfter == cluster.Percents{}):
		return fmt.Sprintf("%s Planned destination: %s.", m.Why, m.To)
	case m.Why != "":
		return fmt.Sprintf("%s Pod uses %s. Planned destination: %s (cpu %.1f%% → %.1f%%, memory %.1f%% → %.1f%%).", m.Why, m.Usage.InWords(), m.To,
			m.ToBefore[cluster.CPU], m.ToAfter[cluster.CPU], m.ToBefore[cluster.Memory], m.ToAfter[cluster.Memory])
	}
	hottest := cluster.CPU
	if m.FromBefore[cluster.Memory]-m.FromAfter[cluster.Memory] > m.FromBefore[cluster.CPU]-m.FromAfter[cluster.CPU] {
		hottest = cluster.Memory
	}
	why := ""
	if len(evidence) > 0 {
		why = ": " + thresholds.Summary(evidence)
	}
	saves := ""
	if m.HotMinutesSaved > 0 {
		saves = fmt.Sprintf(" Expected to save %.0f hot minutes within %.0f hours.", m.HotMinutesSaved, forecast.Horizon.Hours())
	}
	state, limit := "is hot", ""
	if m.Reason == reasons.NodeFull {
		why += ". The cool nodes cannot take enough of its pods to cool it, so this one goes to a node with less demand for CPU"
		state, limit = "has more demand for CPU than capacity", fmt.Sprintf(", at most %.0f%%", 100*FullCeiling)
	}
	return fmt.Sprintf("Node %s %s%s. Pod uses %s. Planned destination: %s (%s %.1f%% → %.1f%%%s).%s",
		m.From, state, why, m.Usage.InWords(), m.To, hottest, m.ToBefore[hottest], m.ToAfter[hottest], limit, saves)
}

func (m *Move) aheadSentence() string {
	return fmt.Sprintf("Node %s is expected to be hot for %.0f minutes of each %s, next at %s with %.1f%% of its CPU. Pod uses %s, and then more. "+
		"Planned destination: %s. Expected to save %.0f hot minutes in each %s.",
		m.From, m.Ahead.HotMinutes, duration.HumanDuration(m.Ahead.Within), m.Ahead.PeakAt.UTC().Format("15:04 UTC"), m.Ahead.PeakPercent, m.Usage.InWords(),
		m.To, m.HotMinutesSaved, duration.HumanDuration(m.Ahead.Within))
}

// Decision returns the facts of Sentence for the ledger, with the lines and windows.
func (m *Move) Decision(evidence []thresholds.Evidence) ledger.Decision {
	within := forecast.Horizon
	if m.Ahead != nil {
		within = m.Ahead.Within
	}
	d := ledger.Decision{Message: m.Sentence(evidence), Exceeded: Exceeded(evidence), HotMinutesSaved: math.Round(m.HotMinutesSaved)}
	if d.HotMinutesSaved > 0 {
		d.WithinMinutes = within.Minutes()
	}
	return d
}

// Exceeded returns the lines and windows of evidence, rounded.
func Exceeded(evidence []thresholds.Evidence) (all []ledger.Exceeded) {
	for _, e := range evidence {
		all = append(all, ledger.Exceeded{
			Metric: string(e.Metric), Window: e.Window.String(), Value: math.Round(e.Value*10) / 10, Line: math.Round(e.Evict*10) / 10,
			Below: e.Below, Percent: e.Percent,
		})
	}
	return all
}

// Destination is where kube-scheduler would put the replacement of a pod that is evicted
// in any case.
type Destination struct {
	// Node is empty if no node is expected. None then explains why.
	Node, None string
	// Usage is the usage that the replacement is expected to bring there; zero if it is
	// unknown.
	Usage cluster.Amounts
}

// Eviction is an eviction that a descheduler plugin asks for by itself, without a plan.
// It does not depend on where the replacement goes.
type Eviction struct {
	*cluster.Pod
	// Plugin is the plugin that asks for it, and Why explains why.
	Plugin, Why string
	// To is where kube-scheduler would put the replacement. If it is empty, NoDestination
	// explains why.
	To, NoDestination string
	// Refused is why the pod would not be evicted; empty if it would be.
	Refused reasons.Reason
	// DryRun reports whether the eviction is only logged, because its plugin is in dry run.
	DryRun bool
}

// Declined is a pod that would have helped but is not moved.
type Declined struct {
	Pod
	Node   string
	Reason reasons.Reason
	// Plugin is the descheduler plugin that asks for its eviction; empty if a strategy
	// would move it.
	Plugin string
	// Detail adds information for users, such as which filter refused the pod on which node.
	Detail string
}

// NodeReport is a node before and after the plan.
type NodeReport struct {
	Name          string
	State         thresholds.State
	Before, After cluster.Percents
	// Reason is why a hot node is not cooled; empty otherwise.
	Reason reasons.Reason
	// NoRoom is the usage that would have to leave a hot node but has no destination;
	// zero if there is none.
	NoRoom cluster.Amounts
	// Pinned describes the pods that keep a node hot and must not be moved; empty if
	// there are none.
	Pinned string
	// Relief is how long the moves off the node take; nil if there are none, or if that
	// is unknown.
	Relief *Relief
}

// Why explains why a hot node is not cooled; empty if it is.
func (n *NodeReport) Why() string {
	why := n.Reason.SentenceOfNode()
	if n.Pinned != "" {
		why += "; " + n.Pinned
	}
	return why
}

// Plan holds the moves to make, and the reasons why other pods and nodes are left as they
// are.
type Plan struct {
	Moves []Move
	// Waiting are the moves that hot nodes need beyond Moves, because of the limits of
	// one cycle. Later cycles plan them again. Those without a destination are an
	// estimate, based on the fewest that suffice.
	Waiting  []Move
	Declined []Declined
	Nodes    []NodeReport
}

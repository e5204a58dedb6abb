package announce

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status/observed"
	"github.com/evenkeel/evenkeel/strategies"
)

// The reasons of Events on nodes.
const (
	becameHot = "BecameHot"
	cooled    = "Cooled"
	// cannotBeCooled means that no plan relieves the hot node.
	cannotBeCooled = "CannotBeCooled"
)

const (
	// mostNodeEvents bounds the Events on nodes after one observation or plan.
	mostNodeEvents = 20
	// freshFor is how long after a change it may still be reported. A new leader also
	// reports changes that its predecessor may have missed.
	freshFor = 2 * time.Minute
)

// Nodes writes Events on nodes: one for each change of state. It is safe for
// concurrent use.
type Nodes struct {
	announcer *Announcer

	mu  sync.Mutex
	hot map[string]*hotNode // by name
}

// hotNode is a node that is hot, or was hot when its state was last known.
type hotNode struct {
	since time.Time
	// told is true if an Event was written, or if it is too late for one.
	told bool
	// stuck is the last reported reason why the node cannot be cooled.
	stuck reasons.Reason
}

// NewNodes returns a Nodes.
func NewNodes(announcer *Announcer) *Nodes {
	return &Nodes{announcer: announcer, hot: map[string]*hotNode{}}
}

// Observed is called with each observation.
func (n *Nodes) Observed(o *observer.Observation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	left := mostNodeEvents
	for i := range o.View.Snapshot.Nodes {
		name := o.View.Snapshot.Nodes[i].Node.Name
		state, known := o.States[name], n.hot[name]
		switch {
		case state.State == thresholds.Hot:
			if known == nil {
				known = &hotNode{since: state.Since}
				n.hot[name] = known
			}
			if !known.told && left > 0 && n.tellHot(o, i, known) {
				left--
			}
		case known != nil && state.State != thresholds.Unknown:
			delete(n.hot, name)
			if left > 0 && n.announcer.onNode(name, v1.EventTypeNormal, cooled,
				fmt.Sprintf("Cooled after %s: %s.%s", duration.HumanDuration(o.At.Sub(known.since)), used(o, i), stillAbove(o, i))) {
				left--
			}
		}
	}
	for name := range n.hot {
		if o.View.Snapshot.Index(name) < 0 {
			delete(n.hot, name)
		}
	}
}

// tellHot writes an Event that a node became hot, unless that was too long ago, and
// reports whether it did.
func (n *Nodes) tellHot(o *observer.Observation, i int, known *hotNode) bool {
	if o.At.Sub(known.since) > freshFor {
		known.told = true
		return false
	}
	why := thresholds.Summary(o.Lines.Evidence(i))
	if why == "" { // the node is now between its leave line and its evict line
		why = used(o, i)
	}
	known.told = n.announcer.onNode(o.View.Snapshot.Nodes[i].Node.Name, v1.EventTypeWarning, becameHot, "Became hot: "+why+".")
	return known.told
}

// used describes the usage of a node.
func used(o *observer.Observation, i int) string {
	return percents(o.View.Nodes[i].Current[usage.AtAvg5m].PercentOf(o.View.Snapshot.Nodes[i].Node.Allocatable)) + " over 5 minutes"
}

// stillAbove explains why a node is no longer hot although its measured usage is above an
// evict line; empty if the usage is not above one.
func stillAbove(o *observer.Observation, i int) string {
	facts := observed.Facts(o)
	notHot, _ := facts.Bases(i)
	if !notHot.ByMeasure() {
		return ""
	}
	return " " + notHot.Sentence("It")
}

// percents formats percentages of a node. It omits zeros, because a source need not
// report a resource without lines.
func percents(p cluster.Percents) string {
	var words []string
	for _, r := range cluster.Resources() {
		if p[r] > 0 {
			words = append(words, fmt.Sprintf("%s %.1f%%", r, p[r]))
		}
	}
	return cmp.Or(strings.Join(words, ", "), "no usage")
}

// Planned is called with each plan.
func (n *Nodes) Planned(plan *strategies.Plan) {
	n.mu.Lock()
	defer n.mu.Unlock()
	left := mostNodeEvents
	for i := range plan.Nodes {
		report := &plan.Nodes[i]
		known, why := n.hot[report.Name], stuck(report)
		if known == nil || why == "" || known.stuck == report.Reason || left == 0 {
			continue
		}
		if n.announcer.onNode(report.Name, v1.EventTypeWarning, cannotBeCooled, fmt.Sprintf("Stays hot (%s): %s.", percents(report.Before), why)) {
			known.stuck = report.Reason
			left--
		}
	}
}

// stuck explains why a plan leaves a hot node hot; empty if a later plan may cool the
// node without any change.
func stuck(report *strategies.NodeReport) string {
	switch {
	case report.State != thresholds.Hot:
		return ""
	case report.Reason == reasons.NoLanding:
		return report.Why() + ": " + report.NoRoom.InWords() + " would have to leave"
	case report.Reason == reasons.GainTooSmall, report.Reason == reasons.HotThroughImmovable:
		return report.Why()
	}
	return ""
}

package observer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
)

// Observation is everything on which decisions are based, at one point in time. Only its
// Board changes until the next Observation.
type Observation struct {
	At     time.Time
	View   *usage.View
	Board  *scorer.Board
	States map[string]thresholds.NodeState
	// Lines are the thresholds by which the nodes were classified.
	Lines *thresholds.Resolved
	// SamplesNeeded is how many samples in a row make a node hot.
	SamplesNeeded int
	// Ready is the number of ready nodes that have to be measured, and Fresh the number
	// of these whose usage is known.
	Ready, Fresh int
	// Batches counts the complete readings so far; First is the time of the
	// first one that reported a node.
	Batches int
	First   time.Time
	// Settled reports whether sources with history cover the time for which a
	// node must be over its lines to be hot, so that waiting longer gains
	// nothing.
	Settled bool
	// Sources has the result of the last reading of each source, including
	// those that were not asked.
	Sources []SourceStatus
	// Blocked is why nothing may be evicted on this observation; empty if
	// evicting is allowed.
	Blocked reasons.Reason
	// Changing reports whether the sources and windows of a new policy are being
	// observed while this Observation still uses the old ones.
	Changing bool

	estimate usage.Estimate
	// charged holds the amounts charged to the board for each pod that has come since the
	// Observation. The store's lock guards it.
	charged map[string]cluster.Amounts
}

// Blockers returns every reason for which an Observation can block evicting.
func Blockers() []reasons.Reason {
	return []reasons.Reason{reasons.UsageSourceUnavailable, reasons.NoUsageData, reasons.UsageCoverageTooLow, reasons.UsageWindowsFilling}
}

// SourceError returns the errors of the last reading if no source could be
// read, otherwise nil.
func (o *Observation) SourceError() error {
	var all []error
	for i := range o.Sources {
		switch {
		case !o.Sources[i].Asked:
		case o.Sources[i].Err == nil:
			return nil
		default:
			all = append(all, fmt.Errorf("%s: %w", o.Sources[i].Name, o.Sources[i].Err))
		}
	}
	return errors.Join(all...)
}

// LastingError returns SourceError if waiting cannot help because the API server does not
// serve the sources or does not allow this process to read them.
func (o *Observation) LastingError() error {
	for i := range o.Sources {
		err := o.Sources[i].Err
		if o.Sources[i].Asked && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
			return nil
		}
	}
	return o.SourceError()
}

// Closed describes why nothing may be evicted; empty if evicting is allowed.
func (o *Observation) Closed() string {
	if o.Blocked == "" {
		return ""
	}
	if o.Changing && o.Blocked == reasons.UsageWindowsFilling {
		return fmt.Sprintf("%s: the policy's sources or windows have changed, and the new ones are being observed", o.Blocked)
	}
	short := o.Unknown()[reasons.WindowTooShort]
	text := fmt.Sprintf("%s: %d of %d ready nodes have fresh usage", o.Blocked, o.Fresh+short, o.Ready)
	if short > 0 {
		text += fmt.Sprintf(", %d of them not for long enough yet", short)
	}
	if why := o.unknowns(); why != "" {
		text += " (" + why + ")"
	}
	if err := o.SourceError(); err != nil {
		text += "; " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return text
}

// unknowns lists how many ready nodes are unknown, by reason.
func (o *Observation) unknowns() string {
	counts := o.Unknown()
	reasons := make([]string, 0, len(counts))
	for reason, n := range counts {
		reasons = append(reasons, fmt.Sprintf("%s: %d", reason, n))
	}
	slices.Sort(reasons)
	return strings.Join(reasons, ", ")
}

// Unknown counts, by reason, the nodes that have to be measured but are
// unknown.
func (o *Observation) Unknown() map[reasons.Reason]int {
	counts := map[reasons.Reason]int{}
	for i := range o.View.Nodes {
		if unknown := o.View.Nodes[i].Unknown; unknown != "" && o.View.Snapshot.Nodes[i].Node.Measured() {
			counts[unknown]++
		}
	}
	return counts
}

// predictedOf returns the usage that the view predicted for a pod.
func (o *Observation) predictedOf(pod *cluster.Pod) (cluster.Amounts, bool) {
	i := o.View.Snapshot.Index(pod.Node)
	if i < 0 {
		return cluster.Amounts{}, false
	}
	for j, other := range o.View.Snapshot.Nodes[i].Pods {
		if other.UID == pod.UID {
			return o.View.Nodes[i].Pods[j].Used, true
		}
	}
	return cluster.Amounts{}, false
}

// lateBy is the number of sample intervals to wait for a node that is ready but unknown.
// The newest samples of some nodes may not have arrived yet when the source is read.
const lateBy = 3

// Sufficient reports whether there are enough samples for a decision: enough nodes and pods are
// known, either from sources with history or for the given period, and no further node is
// about to become known.
func (o *Observation) Sufficient(period, interval time.Duration, minCoverage float64) bool {
	seen := o.At.Sub(o.First)
	if o.Fresh < o.Ready && seen < min(lateBy*interval, period) {
		return false
	}
	// It is unknown how much time the sources cover until the gate opens.
	return o.Blocked == "" && (o.Settled || seen >= period) && o.podsCovered(minCoverage)
}

// podsCovered reports whether the given percentage of all pods, and of the pods on each
// hot node, have been measured for long enough. Otherwise many small pods would be moved
// in place of a few large ones.
func (o *Observation) podsCovered(percent float64) bool {
	pods, measured := 0, 0
	for i := range o.View.Nodes {
		node := &o.View.Nodes[i]
		if !node.Known() || !o.View.Snapshot.Nodes[i].Node.Member() {
			continue
		}
		there, known := 0, 0
		for _, pod := range node.Pods {
			if pod.Starting {
				continue // waiting for this pod does not help, because other pods keep starting
			}
			if there++; pod.Measured {
				known++
			}
		}
		hot := o.States[o.View.Snapshot.Nodes[i].Node.Name].State == thresholds.Hot
		if hot && 100*float64(known) < percent*float64(there) {
			return false
		}
		pods, measured = pods+there, measured+known
	}
	return 100*float64(measured) >= percent*float64(pods)
}

func coverage(view *usage.View) (ready, fresh int) {
	for i := range view.Nodes {
		if !view.Snapshot.Nodes[i].Node.Measured() {
			continue
		}
		ready++
		if view.Nodes[i].Known() {
			fresh++
		}
	}
	return ready, fresh
}

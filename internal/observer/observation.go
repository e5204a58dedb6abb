package observer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// Observation is everything that is decided on, at one moment. Only its Board
// changes, by what happens until the next.
type Observation struct {
	At     time.Time
	View   *usage.View
	Board  *scorer.Board
	States map[string]thresholds.NodeState
	// Lines are what the nodes were judged by.
	Lines *thresholds.Resolved
	// Ready counts the ready nodes, Fresh those of them whose usage is known.
	Ready, Fresh int
	// Pods counts the pods on nodes whose usage is known, Measured those of
	// them that were measured long enough.
	Pods, Measured int
	// Batches counts the complete readings so far, First is when the first of
	// them that reported a node was made.
	Batches int
	First   time.Time
	// Settled says that sources with history have looked at nodes for as long
	// as a node has to be over its lines, so that nothing is gained by watching
	// on.
	Settled bool
	// Sources reports each source what the last reading brought, those not
	// asked included.
	Sources []SourceStatus
	// Gate is why nothing may be evicted on this observation; empty when it
	// may.
	Blocked reasons.Reason
	// Changing says that a new policy's sources and windows are being observed,
	// and that this is still by the old ones.
	Changing bool

	estimate usage.Estimate
	// charged is what the board was adjusted by for pods that came since;
	// changes come under the store's lock.
	charged map[string]cluster.Amounts
}

// Blockers lists every reason for which usage is too poor to evict on.
func Blockers() []reasons.Reason {
	return []reasons.Reason{reasons.UsageSourceUnavailable, reasons.NoUsageData, reasons.UsageCoverageTooLow, reasons.UsageWindowsFilling}
}

// SourceError is what the last reading failed with where no source could be
// read; nil where one could.
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

// Closed says in words why nothing may be evicted; empty where it may.
func (o *Observation) Closed() string {
	if o.Blocked == "" {
		return ""
	}
	if o.Changing && o.Blocked == reasons.UsageWindowsFilling {
		return fmt.Sprintf("%s: the policy names other sources or windows than before, which are being observed", o.Blocked)
	}
	said := fmt.Sprintf("%s: %d of %d ready nodes have fresh usage", o.Blocked, o.Fresh, o.Ready)
	if why := o.unknowns(); why != "" {
		said += " (" + why + ")"
	}
	if err := o.SourceError(); err != nil {
		said += "; " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return said
}

// unknowns counts the ready nodes that are unknown by their reason.
func (o *Observation) unknowns() string {
	counts := o.Unknown()
	reasons := make([]string, 0, len(counts))
	for reason, n := range counts {
		reasons = append(reasons, fmt.Sprintf("%s: %d", reason, n))
	}
	slices.Sort(reasons)
	return strings.Join(reasons, ", ")
}

// Unknown counts the ready nodes that are unknown by their reason.
func (o *Observation) Unknown() map[reasons.Reason]int {
	counts := map[reasons.Reason]int{}
	for i := range o.View.Nodes {
		if unknown := o.View.Nodes[i].Unknown; unknown != "" && o.View.Snapshot.Nodes[i].Node.Ready {
			counts[unknown]++
		}
	}
	return counts
}

// predictedOf returns what the view predicted a pod with.
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

// Ripe reports whether there are enough samples to decide on: enough nodes and
// pods are known, by sources with a memory or for as long as given.
func (o *Observation) Ripe(period time.Duration, minCoverage float64) bool {
	// Until the gate opens it is not known for how long the sources have told.
	return o.Blocked == "" && (o.Settled || o.At.Sub(o.First) >= period) &&
		100*float64(o.Measured) >= minCoverage*float64(o.Pods)
}

func coverage(view *usage.View) (ready, fresh int) {
	for i := range view.Nodes {
		if !view.Snapshot.Nodes[i].Node.Ready {
			continue
		}
		ready++
		if view.Nodes[i].Known() {
			fresh++
		}
	}
	return ready, fresh
}

func podCoverage(view *usage.View) (pods, measured int) {
	for i := range view.Nodes {
		if !view.Nodes[i].Known() {
			continue
		}
		for j := range view.Nodes[i].Pods {
			pods++
			if view.Nodes[i].Pods[j].Measured {
				measured++
			}
		}
	}
	return pods, measured
}

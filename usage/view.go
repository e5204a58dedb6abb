package usage

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

// View is what is known of a cluster's usage at one moment. It is immutable and
// parallel to the Snapshot it was read against: Nodes[i] belongs to
// Snapshot.Nodes[i] and Nodes[i].Pods[j] to its Pods[j].
type View struct {
	At       time.Time
	Snapshot *cluster.Snapshot
	// Windows are those that nodes were read over; Last and Avg5m come first.
	Windows []Window
	// Signals are the metrics that nodes were read of beside CPU and Memory.
	Signals []Metric
	Nodes   []NodeUsage
	// Siblings is what pods that were not measured themselves are taken to use
	// by those that are like them.
	Siblings Siblings
}

// The places of the windows that every View has.
const (
	AtLast  = 0
	AtAvg5m = 1
)

// WindowIndex returns the place of a window in Windows, or -1.
func (v *View) WindowIndex(w Window) int { return slices.Index(v.Windows, w) }

// SignalIndex returns the place of a metric in Signals, or -1.
func (v *View) SignalIndex(m Metric) int { return slices.Index(v.Signals, m) }

// NodeUsage is one node's reading. Its slices are parallel to the View's
// Windows.
type NodeUsage struct {
	// Unknown is why the node's usage is not known; empty when it is. Unknown
	// is never zero: the amounts below mean nothing then.
	Unknown reasons.Reason
	// Source is where the newest sample came from.
	Source string
	// Sampled is when the newest sample arrived, Age how long ago it was
	// measured; Span how long samples reach back, at most five minutes.
	Sampled   time.Time
	Age, Span time.Duration
	// Measured is the node as a whole, as measured, departed pods included.
	Measured []cluster.Amounts
	// Vouched is how long the source itself has looked for a window: the
	// window's length where the source gave it, 0 where samples were summed up
	// here.
	Vouched []time.Duration
	// Told is Measured where the window itself is known, in whatever fraction
	// of a unit it was told. Measured has figures for other windows as well:
	// those of a shorter or an older one stand for them.
	Told []Told
	// System is what belongs to no pod: the median over five minutes, because
	// around a pod's start and end single samples attribute its usage to
	// nobody.
	System cluster.Amounts
	// Current is Measured without what has left since, or is leaving: the
	// evidence for calling a node hot.
	Current []cluster.Amounts
	// Predicted is System plus all pods on the node, terminating ones included,
	// with estimates for those not measured long enough: what placing one more
	// pod has to reckon with. Windows other than Avg5m differ from it as they
	// were measured to.
	Predicted []cluster.Amounts
	// Signals holds one row per Signal of the View, NaN where nothing is known.
	Signals [][]float64
	Pods    []PodUsage
}

// Told is usage in milli-cores and bytes, NaN for a resource of which it is not
// known.
type Told [cluster.NumResources]float64

// Known reports whether the node's usage may be relied on.
func (n *NodeUsage) Known() bool { return n.Unknown == "" }

// refusals are why a node is unknown whose sample was refused, where the cause
// says it.
var refusals = map[Cause]reasons.Reason{
	Stale:         reasons.UsageStale,
	Future:        reasons.UsageFromTheFuture,
	Absurd:        reasons.UsageAbsurd,
	Contradictory: reasons.UsageContradictory,
	Duplicate:     reasons.UsageAmbiguous,
}

// PodUsage is one pod's reading.
type PodUsage struct {
	// Measured is false where Used is an estimate.
	Measured bool
	Span     time.Duration
	// Used is the mean of five minutes, or of the pod's life if that is
	// shorter.
	Used cluster.Amounts
}

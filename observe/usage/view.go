package usage

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
)

// View holds the known usage of a cluster at one point in time. It is immutable and
// parallel to its Snapshot: Nodes[i] belongs to Snapshot.Nodes[i], and Nodes[i].Pods[j]
// to its Pods[j]. The Snapshot is the one passed in unless CPU is stolen from a node.
// Then it is a copy in which that node has less CPU.
type View struct {
	At       time.Time
	Snapshot *cluster.Snapshot
	// Windows are read for every node; Last and Avg5m come first.
	Windows []Window
	// Signals are metrics read for nodes in addition to CPU and Memory.
	Signals []Metric
	Nodes   []NodeUsage
	// Siblings holds the assumed usage of pods that were not measured themselves,
	// taken from similar pods.
	Siblings Siblings
	// copied reports whether Snapshot is a copy.
	copied bool
}

// The indices of the windows that every View has.
const (
	AtLast  = 0
	AtAvg5m = 1
)

// WindowIndex returns the index of a window in Windows, or -1.
func (v *View) WindowIndex(w Window) int { return slices.Index(v.Windows, w) }

// SignalIndex returns the index of a metric in Signals, or -1.
func (v *View) SignalIndex(m Metric) int { return slices.Index(v.Signals, m) }

// NodeUsage is one node's reading. Its slices are parallel to the View's
// Windows.
type NodeUsage struct {
	// Unknown is why the node's usage is unknown; empty if it is known. The amounts below
	// are meaningless if usage is unknown; they must not be read as zero.
	Unknown reasons.Reason
	// Source is the source of the newest sample.
	Source string
	// Sampled is when the newest sample arrived, Age how long ago it was measured, and
	// Span the time that the samples cover, at most five minutes.
	Sampled   time.Time
	Age, Span time.Duration
	// Measured is the node's usage as measured, including departed pods. It is
	// compared with the node's allocatable amounts, so it excludes Reserved, as do
	// System, Current and Predicted.
	Measured []cluster.Amounts
	// Reserved is the part of the whole machine's usage that is covered by its
	// reserve (capacity minus allocatable): the system's usage, up to the reserve.
	// If the usage of pods is unknown, the reserve is assumed to be used to the
	// same degree as the machine, so that Measured has the same ratio to
	// allocatable as the whole machine's usage has to capacity.
	Reserved []cluster.Amounts
	// ByCapacity reports whether Reserved is based on this assumption.
	ByCapacity bool
	// SourceSpan is the time that the source itself observed for a window: the
	// window's length if the source provided it, 0 if it was computed here.
	SourceSpan []time.Duration
	// StolenMilliCores is the CPU that the machine was denied, as a five-minute
	// mean. The View's Snapshot has already deducted it from the node.
	StolenMilliCores int64
	// Reported is like Whole, but only contains windows whose own value is known, and
	// includes the fractions of a unit that the source provided. Whole fills the other
	// windows from a shorter or older one.
	Reported []Reported
	// System is usage outside all pods and beyond the reserve. It is the
	// five-minute median, because around a pod's start and end single samples
	// contain usage that belongs to no pod.
	System cluster.Amounts
	// Current is Measured without the usage of pods that have left since or are leaving,
	// and without usage of starting pods beyond their estimates. It decides whether a
	// node is hot.
	Current []cluster.Amounts
	// Rise describes how memory rises; zero if it does not.
	Rise Rise
	// Predicted is System plus all pods on the node, including terminating ones, with
	// estimates for pods that have not been measured long enough. It is the basis for
	// placing another pod. Predictions for other windows differ from that for Avg5m by as
	// much as the measurements do.
	Predicted []cluster.Amounts
	// Expected is the CPU that the node will use if its pods stay the same.
	Expected forecast.Expected
	// LeastMilliCores is the lowest CPU usage of the whole machine in the last
	// hours; 0 if it has not been measured for that long.
	LeastMilliCores int64
	// PeakMilliCores is the highest CPU usage of the whole machine in the last hours.
	PeakMilliCores int64
	// Signals holds one row per Signal of the View; NaN for unknown values.
	Signals [][]float64
	Pods    []PodUsage
}

// Reported is usage in milli-cores and bytes, NaN for unknown resources.
type Reported [cluster.NumResources]float64

// Whole returns the whole machine's usage over a window, as measured.
func (n *NodeUsage) Whole(w int) cluster.Amounts {
	if w >= len(n.Reserved) {
		return n.Measured[w]
	}
	return n.Measured[w].Plus(n.Reserved[w])
}

// Known reports whether the node's usage can be relied on.
func (n *NodeUsage) Known() bool { return n.Unknown == "" }

// refusals maps the cause for which a node's sample was rejected to the reason
// why the node is unknown, if the cause explains it.
var refusals = map[Cause]reasons.Reason{
	Stale:         reasons.UsageStale,
	Future:        reasons.UsageFromTheFuture,
	Absurd:        reasons.UsageAbsurd,
	Contradictory: reasons.UsageContradictory,
	Duplicate:     reasons.UsageAmbiguous,
}

// PodUsage is one pod's reading.
type PodUsage struct {
	// Small fields are grouped to save memory, because there is one PodUsage
	// for each pod.

	// Measured is false if Used is an estimate, or usage that was measured too briefly
	// but exceeds the estimate.
	Measured bool
	// Starting reports whether the pod is measured, but not for long enough since
	// its startup.
	Starting bool
	// Lasts reports whether the pod, or its replacement, is expected to exist a period
	// later.
	Lasts bool
	// Expected is the CPU that the pod is expected to use. For an unmeasured pod, it is
	// Used at all times.
	Expected forecast.Expected
	// MeasuredIn is how long it takes until the pod is Measured if samples keep
	// arriving; 0 if it already is, or if no sample has arrived for a long
	// time.
	MeasuredIn time.Duration
	// Uncounted is the part of the pod's usage that is ignored when deciding
	// whether its node is hot, because the pod is Starting.
	Uncounted cluster.Amounts
	// Assumed is the part of the pod's usage that is only estimated, beyond what was
	// measured. It is ignored like Uncounted.
	Assumed cluster.Amounts
	Span    time.Duration
	// Used is the five-minute mean, or the mean over the pod's lifetime if that is
	// shorter.
	Used cluster.Amounts
	// PeakMilliCores is the highest CPU usage in the last hours; 0 if unknown.
	PeakMilliCores int64
	// Pattern is the pod's recurring usage, if there is any.
	Pattern forecast.PodPattern
}

// Counted returns the part of the pod's usage that its node's Current contains.
func (p *PodUsage) Counted() cluster.Amounts {
	return p.Used.Minus(p.Uncounted).Minus(p.Assumed).AtLeastZero()
}

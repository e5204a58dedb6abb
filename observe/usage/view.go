package usage

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
)

// View is what is known of a cluster's usage at one moment. It is immutable and
// parallel to its Snapshot: Nodes[i] belongs to Snapshot.Nodes[i] and
// Nodes[i].Pods[j] to its Pods[j]. The Snapshot is the one that was given, unless
// CPU is stolen from a node: then it is a copy in which that node has less.
type View struct {
	At       time.Time
	Snapshot *cluster.Snapshot
	// Windows are read of every node; Last and Avg5m come first.
	Windows []Window
	// Signals are the metrics read of nodes in addition to CPU and Memory.
	Signals []Metric
	Nodes   []NodeUsage
	// Siblings holds the assumed usage of pods that were not measured
	// themselves, by pods like them.
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
	// Unknown is why the node's usage is not known; empty if it is. Unknown is
	// never zero: the amounts below then mean nothing.
	Unknown reasons.Reason
	// Source is where the newest sample came from.
	Source string
	// Sampled is when the newest sample arrived, Age how long ago it was
	// measured; Span how long samples reach back, at most five minutes.
	Sampled   time.Time
	Age, Span time.Duration
	// Measured is the node as measured, departed pods included. It is compared with
	// the allocatable amounts of the node, so it leaves out Reserved, as do System,
	// Current and Predicted.
	Measured []cluster.Amounts
	// Reserved is the part of the whole machine's usage that its reserve covers,
	// which is capacity less allocatable: the system's usage, up to the reserve.
	// Without usage of pods the reserve is assumed to be used as fully as the
	// machine, so that Measured is in the same proportion to allocatable as the
	// whole machine's usage is to capacity.
	Reserved []cluster.Amounts
	// ByCapacity reports whether Reserved is such an assumption.
	ByCapacity bool
	// SourceSpan is the time that the source itself observed for a window: the
	// window's length if the source gave it, 0 if it was computed here.
	SourceSpan []time.Duration
	// StolenMilliCores is the CPU that the machine was denied, as a mean of five
	// minutes. The View's Snapshot holds what the node has without it.
	StolenMilliCores int64
	// Reported is Whole for the windows that are known themselves, with the
	// fractions of a unit that the source gave. Whole fills other windows
	// from a shorter or an older one.
	Reported []Reported
	// System is usage outside all pods and beyond the reserve: the median over five minutes, because
	// around a pod's start and end single samples attribute its usage to no
	// pod.
	System cluster.Amounts
	// Current is Measured without what has left since or is leaving, and
	// without what starting pods use beyond their estimates: the evidence for
	// calling a node hot.
	Current []cluster.Amounts
	// Rise is how memory rises; zero if it does not.
	Rise Rise
	// Predicted is System plus all pods on the node, terminating ones included,
	// with estimates for those not measured long enough: the basis for placing
	// one more pod. Windows other than Avg5m differ from it as they were
	// measured to.
	Predicted []cluster.Amounts
	// Expected is the CPU that the node would use if its pods stayed the same.
	Expected forecast.Expected
	// LeastMilliCores is the least CPU that the whole machine used in the last hours; 0
	// if it has not been measured for that long.
	LeastMilliCores int64
	// Signals holds one row per Signal of the View, NaN where unknown.
	Signals [][]float64
	Pods    []PodUsage
}

// Reported is usage in milli-cores and bytes, NaN for an unknown resource.
type Reported [cluster.NumResources]float64

// Whole is the whole machine's usage over a window, as measured.
func (n *NodeUsage) Whole(w int) cluster.Amounts {
	if w >= len(n.Reserved) {
		return n.Measured[w]
	}
	return n.Measured[w].Plus(n.Reserved[w])
}

// Known reports whether the node's usage may be relied on.
func (n *NodeUsage) Known() bool { return n.Unknown == "" }

// refusals maps the cause for which a node's sample was rejected to why the
// node is unknown, if the cause explains it.
var refusals = map[Cause]reasons.Reason{
	Stale:         reasons.UsageStale,
	Future:        reasons.UsageFromTheFuture,
	Absurd:        reasons.UsageAbsurd,
	Contradictory: reasons.UsageContradictory,
	Duplicate:     reasons.UsageAmbiguous,
}

// PodUsage is one pod's reading.
type PodUsage struct {
	// Measured is false where Used is an estimate, or what was measured so far
	// if that is more.
	Measured bool
	// Starting reports whether it is measured, but not for long enough since
	// its startup.
	Starting bool
	// MeasuredIn is how long it takes until the pod is Measured, if samples keep
	// coming; 0 if it is, or if no sample has come for long.
	MeasuredIn time.Duration
	// Uncounted is the part of its usage that does not count towards calling its
	// node hot, because the pod is Starting.
	Uncounted cluster.Amounts
	// Assumed is the part of its usage that only an estimate is of, beyond what was
	// measured. It does not count towards that either.
	Assumed cluster.Amounts
	Span    time.Duration
	// Used is the mean of five minutes, or of the pod's life if that is
	// shorter.
	Used cluster.Amounts
	// PeakMilliCores is the most CPU that it used in the last hours; 0 if unknown.
	PeakMilliCores int64
	// Expected is the CPU that it will use: Used, for ever, where it has not been
	// measured.
	Expected forecast.Expected
	// Pattern is what it uses again and again, if it does.
	Pattern forecast.PodPattern
	// Lasts reports whether it, or another in its place, is expected to be there a
	// period later.
	Lasts bool
}

// Counted returns the part of its usage that its node's Current contains.
func (p *PodUsage) Counted() cluster.Amounts {
	return p.Used.Minus(p.Uncounted).Minus(p.Assumed).AtLeastZero()
}

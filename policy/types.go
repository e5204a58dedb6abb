package policy

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/policy/calendar"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

const (
	// GroupVersion is the apiVersion of a LoadPolicy document.
	GroupVersion = "evenkeel.io/v1alpha1"
	// LoadPolicyKind is the kind of a LoadPolicy document.
	LoadPolicyKind = "LoadPolicy"
)

// LoadPolicy says where usage comes from, what hot and cool mean, how nodes are
// scored and how carefully pods are evicted. Every percentage is 0 to 100, of a
// node's allocatable unless its comment says otherwise.
type LoadPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// Usage says where usage is measured and when it is trusted.
	Usage Usage `json:"usage"`
	// Lines are the levels of usage that mean something, per metric: the one
	// definition of hot for both sides of scheduling. Metrics that are not
	// listed are ignored; if lines is left out, cpu and memory are used. List at
	// least one of cpu and memory, unless every listed metric has relieves: none.
	Lines Lines `json:"lines"`
	// NodePools are groups of nodes with lines of their own. A node is in the
	// first pool that matches it; a node in none takes lines as they are.
	NodePools []NodePool `json:"nodePools"`
	// MinGapPercent is the least distance between the reject and the evict line
	// of a metric: 1 to 50, in percentage points, for metrics of usage.metrics
	// in percent of the evict line. It keeps the scheduler from filling a node
	// up to the line at which pods are evicted again.
	MinGapPercent float64 `json:"minGapPercent"`
	// Hot says how sure one has to be before a node counts as hot.
	Hot Hot `json:"hot"`
	// Scoring says how nodes are compared when a pod is placed.
	Scoring Scoring `json:"scoring"`
	// Eviction says how fast and how carefully pods are moved.
	Eviction Eviction `json:"eviction"`
	// NodeSync says what is written to the nodes for others to read.
	NodeSync NodeSync `json:"nodesync"`
}

// Usage says where usage is measured and when it is trusted.
type Usage struct {
	// Sources are asked in this order; a node takes the first that has fresh,
	// plausible data for it. At least one, each type once.
	Sources []Source `json:"sources"`
	// Metrics are further metrics of nodes, such as the busy time of a disk,
	// that lines may name. Each must have a query of a Prometheus source.
	Metrics []Metric `json:"metrics"`
	// SampleInterval is the time between two samples: 5s to 5m. It is
	// independent of how often pods are moved.
	SampleInterval metav1.Duration `json:"sampleInterval"`
	// MaxAge is the age from which a sample is no data and its node unknown:
	// longer than sampleInterval, at most 1h. A source may have its own.
	MaxAge metav1.Duration `json:"maxAge"`
	// MinCoveragePercent is the share of ready nodes with fresh data below
	// which nothing is evicted: 0 to 100. Virtual nodes, nodes that are being
	// removed and those that the nodeSelector leaves out do not count.
	MinCoveragePercent float64 `json:"minCoveragePercent"`
	// QueriesPerSecond bounds the requests to a source: above 0, at most 1000.
	QueriesPerSecond float64 `json:"queriesPerSecond"`
	// Timeout bounds one request to a source: 100ms to 5m. A source may have
	// its own.
	Timeout metav1.Duration `json:"timeout"`
	// ObservationPeriod is how long a one-shot run samples before it decides:
	// at least hot.minWindow and time for hot.consecutiveSamples, at most 1h.
	ObservationPeriod metav1.Duration `json:"observationPeriod"`
}

// Hot says how sure one has to be before a node counts as hot.
type Hot struct {
	// Windows must all lie above the evict line: last, avg_<time>,
	// max_avg_<time> and p<1 to 99>_<time>, each once. At least one must be
	// last, or an average or percentile that reaches back at most 10m: a long
	// window alone keeps a cooled node hot for its whole length.
	Windows []usage.Window `json:"windows"`
	// ConsecutiveSamples is how many samples in a row must agree: 1 to 100.
	ConsecutiveSamples int `json:"consecutiveSamples"`
	// MinWindow is the span of samples below which a partly filled window is
	// unknown: 1s to 5m.
	MinWindow metav1.Duration `json:"minWindow"`
	// Startup is how long after a node became ready, or a pod's newest
	// container started, usage is no evidence: 0s to 1h. Such a node is not
	// hot. Such a pod is not moved, and counts for no more than its siblings
	// or, without any, its requests with the factors of scoring.estimate. Where
	// pods take longer to get ready than eviction.breaker.unreadyAfter, raise that too.
	Startup metav1.Duration `json:"startup"`
	// RisingMemory is memory that does not wait for these windows.
	RisingMemory RisingMemory `json:"risingMemory"`
}

// RisingMemory makes a node hot whose memory is above its evict line and would
// be full soon, as with a leak. consecutiveSamples have to agree here too.
type RisingMemory struct {
	// Window is how long all samples must be above the evict line, and rise
	// steadily: 30s to 5m; one that is shorter than four times
	// usage.sampleInterval becomes that. 0s to wait for hot.windows in any case.
	Window metav1.Duration `json:"window"`
	// FullPercent is what is reached at the same rate, in percent of
	// allocatable: above 0, at most 100. At or below the evict line of memory
	// any steady rise is urgent, however slow; lint warns of that.
	FullPercent float64 `json:"fullPercent"`
	// Within is how soon it is reached: 10s to 1h.
	Within metav1.Duration `json:"within"`
}

// Scoring says how nodes are compared when a pod is placed.
type Scoring struct {
	// Weights are the shares of the resources in a node's score: 0 to 100
	// each, at least one above 0. A resource that is not named weighs nothing.
	Weights map[v1.ResourceName]int64 `json:"weights"`
	// Estimate predicts the usage of pods that have not been measured yet.
	Estimate Estimate `json:"estimate"`
	// HotValue makes nodes that were given pods in quick succession score
	// lower, before those pods' usage is measured: ten of a hundred points for
	// every count pods bound within timeRange, summed over the list. At most 10
	// terms.
	HotValue []HotValue `json:"hotValue"`
	// DampPercent flattens the scores of a request whose nodes differ by less
	// than this many percentage points, so that noise does not herd pods: 0 to
	// 50.
	DampPercent float64 `json:"dampPercent"`
	// Measured judges nodes by measured windows, as earlier systems did, in
	// place of predicted usage. Not given: predicted usage decides.
	Measured *MeasuredScoring `json:"measured,omitempty"`
}

// HotValue is one term of Crane's hot value: the bindings to a node within
// timeRange, divided by count and rounded down.
type HotValue struct {
	// TimeRange is how far back bindings count: 10s to 1h, each once. Required.
	TimeRange metav1.Duration `json:"timeRange"`
	// Count is how many bindings cost ten points: 1 to 1000. Required.
	Count int `json:"count"`
}

// Estimate predicts the usage of a pod from what it asks for.
type Estimate struct {
	// CPUPercentOfRequest is the share of its CPU request that a pod is
	// expected to use: above 0, at most 1000.
	CPUPercentOfRequest float64 `json:"cpuPercentOfRequest"`
	// MemoryPercentOfRequest is the same for memory: above 0, at most 1000.
	MemoryPercentOfRequest float64 `json:"memoryPercentOfRequest"`
	// DefaultCPU is expected of a container that requests no CPU: 0 or more.
	DefaultCPU resource.Quantity `json:"defaultCPU"`
	// DefaultMemory is expected of a container that requests no memory: 0 or
	// more.
	DefaultMemory resource.Quantity `json:"defaultMemory"`
}

// Steering says how replacements get to their destinations, and whether
// evictions depend on that.
type Steering string

const (
	// SteeringAuto takes the best way that is proven: the extender or the
	// plugin, or else the API server.
	SteeringAuto Steering = "auto"
	// SteeringAdmission has the API server steer, and evicts nothing while it
	// does not.
	SteeringAdmission Steering = "admission"
	// SteeringRequired stops evicting when a replacement was bound without the
	// extender having been asked.
	SteeringRequired Steering = "required"
	// SteeringNone evicts without that check: destinations are left to chance.
	SteeringNone Steering = "none"
)

// Forecast says what usage is expected, and so what a move is worth.
type Forecast string

const (
	// ForecastRecurring expects what comes back in each period, and of all else that
	// it lasts; pods may be moved before what recurs makes their node hot.
	ForecastRecurring Forecast = "recurring"
	// ForecastLasting expects that usage goes on as it was.
	ForecastLasting Forecast = "lasting"
	// ForecastNone expects nothing and moves whatever that saves.
	ForecastNone Forecast = "none"
)

// Recurs returns after how long usage is expected to come back; 0 for never.
func (e *Eviction) Recurs() time.Duration {
	if e.Forecast == ForecastRecurring {
		return e.ForecastPeriod.Duration
	}
	return 0
}

// Eviction says how fast and how carefully pods are moved.
type Eviction struct {
	// DefaultProfile runs RealUsageLowNodeUtilization with its defaults where
	// the file has no DeschedulerPolicy; workloads with a single replica are left
	// alone. With false such a file evicts nothing: for policies that only label
	// nodes or answer kube-scheduler.
	DefaultProfile bool `json:"defaultProfile"`
	// Steering is auto, the best of these that is proven; required, which stops
	// evicting when a replacement was bound without the extender having been
	// asked; admission, where the API server steers by the component
	// admission-steering and nothing is evicted while it does not; or none,
	// which evicts without any check.
	Steering Steering `json:"steering"`
	// CycleDeadline ends a paced cycle; what is left waits for the next one:
	// 10s to 24h.
	CycleDeadline metav1.Duration `json:"cycleDeadline"`
	// Interval is the least time between two evictions: 0s to 10m, and shorter
	// than cycleDeadline.
	Interval metav1.Duration `json:"interval"`
	// MaxMovesPerCycle bounds the moves of one cycle: 1 to 500.
	MaxMovesPerCycle int `json:"maxMovesPerCycle"`
	// MaxMovesPerHour bounds the evictions of any 60 minutes, those of upstream
	// plugins included, but for pods that have failed or succeeded: a number from
	// 0, which is no bound, to 2000, or a percentage from 1% to 100% of the pods on
	// nodes that take part. A percentage allows at least 50 moves and at most 2000.
	MaxMovesPerHour intstr.IntOrString `json:"maxMovesPerHour"`
	// MaxMovesPerHourOfNamespace bounds them for the pods of one namespace: 0 to
	// 2000. With 0 moves by usage may use half of what maxMovesPerHour allows or, if
	// the namespace has more than half of the pods on nodes that take part, as large
	// a part.
	MaxMovesPerHourOfNamespace int `json:"maxMovesPerHourOfNamespace"`
	// MaxMovesPerHourOfOwner bounds them for the pods of one controller: a number
	// from 0, which is no bound, to 2000, or a percentage from 1% to 100% of the
	// controller's pods. A percentage allows at least 2 moves, and bounds moves by
	// usage alone, not what other plugins evict.
	MaxMovesPerHourOfOwner intstr.IntOrString `json:"maxMovesPerHourOfOwner"`
	// MaxMovesPerHourOfNodePool bounds them for the pods on the nodes of one
	// pool, those in none counting as one: 0, which is no bound, to 2000.
	MaxMovesPerHourOfNodePool int `json:"maxMovesPerHourOfNodePool"`
	// MinGainPercent is the least that one move has to take off a hot node, of
	// its allocatable, in a resource that it is hot by: 0 to 50. Where pods are
	// small, half of what a pod of the node that may be moved uses in the mean is
	// enough.
	MinGainPercent float64 `json:"minGainPercent"`
	// MinHotTimeSaved is by how much the moves off a node have to shorten the time
	// that it and their destinations are expected to be above their evict lines of
	// CPU, within four hours, for each move that costs as much as that of a plain
	// pod. The hotter the node is, the more a minute counts; moves of pods that use
	// less than 5 % of it count for less than one. 0s moves whatever that saves.
	MinHotTimeSaved metav1.Duration `json:"minHotTimeSaved"`
	// Forecast is what usage is expected: recurring, lasting or none. With none, a
	// move off a hot node is made whatever it saves.
	Forecast Forecast `json:"forecast"`
	// ForecastPeriod is after how long usage recurs: 5m to 168h.
	ForecastPeriod metav1.Duration `json:"forecastPeriod"`
	// NodeSettle is how long after a move from or to it no more pods are moved
	// away from a node, until measurements have caught up: 0s to 1h.
	NodeSettle metav1.Duration `json:"nodeSettle"`
	// Cooldown is how long an owner is left alone after a move of one of its
	// pods, above all one that did not help.
	Cooldown Cooldown `json:"cooldown"`
	// OutcomeAfter is how long after a replacement was bound it is judged
	// whether the move has helped: 30s to 1h.
	OutcomeAfter metav1.Duration `json:"outcomeAfter"`
	// Windows are the times at which anything may be evicted; without any it
	// may at any time. At most 50; they may overlap.
	Windows []Period `json:"windows"`
	// Blackouts are the times at which nothing is evicted, windows or not. At
	// most 50.
	Blackouts []Period `json:"blackouts"`
	// Breaker says when evicting stops by itself.
	Breaker Breaker `json:"breaker"`
	// MaxInFlightPercentOfOwner is the share of an owner's replicas that may be
	// on the move, unready, pending or terminating at once when no
	// PodDisruptionBudget says it; always at least one pod: 0 to 100. With 0 it
	// is one at a time.
	MaxInFlightPercentOfOwner float64 `json:"maxInFlightPercentOfOwner"`
	// MoveTTL is how long after its grace period a move may take before its
	// reservation lapses: 10s to 1h.
	MoveTTL metav1.Duration `json:"moveTTL"`
	// SourceAvoidance is how long the replacement of an evicted pod is kept
	// away from the node it was evicted from: 0s to 24h.
	SourceAvoidance metav1.Duration `json:"sourceAvoidance"`
	// OwnerSettle protects the pods of owners that were scaled or rolled out
	// less than this ago: 0s to 24h.
	OwnerSettle metav1.Duration `json:"ownerSettle"`
	// EvictJobs allows to evict pods of Jobs. Each such eviction counts against
	// the Job's backoffLimit, unless its podFailurePolicy ignores disruptions;
	// none is made that would fail the Job or one of its indexes.
	EvictJobs bool `json:"evictJobs"`
	// SchedulerNames are the schedulers that ask our extender; pods of any
	// other are left alone. At least one, each once.
	SchedulerNames []string `json:"schedulerNames"`
	// AcrossZones allows to move pods to nodes of another zone, by the label
	// topology.kubernetes.io/zone, if none of their own takes them.
	AcrossZones bool `json:"acrossZones"`
	// AcrossCapacityTypes allows to move pods between spot or preemptible nodes
	// and others, by the labels of Karpenter, EKS, GKE and AKS.
	AcrossCapacityTypes bool `json:"acrossCapacityTypes"`
	// LeavingTaints are the keys of taints on nodes that an autoscaler is
	// draining: no pod is moved there, and none away, because the autoscaler
	// does. A key that ends in * stands for all that begin so. At most 50, each
	// once.
	LeavingTaints []string `json:"leavingTaints"`
	// ClosingTaints are the keys of taints on nodes where nothing should land,
	// whatever their effect, such as those of nodes that will soon be removed:
	// no pod is moved there and such nodes score 0, but they are relieved as any
	// other. A key that ends in * stands for all that begin so. At most 50, each
	// once.
	ClosingTaints []string `json:"closingTaints"`
	// RecreatingControllers are further kinds of controllers that start another
	// pod in place of an evicted one, as Kind.group, such as
	// CloneSet.apps.kruise.io. ReplicaSets, StatefulSets and
	// ReplicationControllers are known to; pods of any other controller are left
	// alone, but for Jobs with evictJobs. Evenkeel has to be able to list them. At
	// most 50, each once.
	RecreatingControllers []string `json:"recreatingControllers"`
}

// Cooldown is a rest that grows with every further move that does not help.
type Cooldown struct {
	// Always is the rest after any eviction of an owner's pods, also one that
	// helped: 0s, which is none, to 24h. The moves of one cycle go together.
	Always metav1.Duration `json:"always"`
	// Base is the rest after the first move of an owner that did not help: 0s,
	// which is none, to 24h.
	Base metav1.Duration `json:"base"`
	// Max bounds the rest, which doubles with each further such move in a row:
	// at least base, at most 24h.
	Max metav1.Duration `json:"max"`
}

// Period is a recurring time, such as every night.
type Period = calendar.Period

// Breaker says when evicting stops by itself; it goes on by itself when the
// cause is gone.
type Breaker struct {
	// MaxPendingReplacements is how many replacements may wait for a node for
	// longer than pendingAfter before nothing more is evicted: 0 to 500. An
	// owner with one is left alone until it has landed. More of one namespace
	// stop that namespace alone. The whole cluster stops only if more than this
	// number, and more than 5% of the last hour's evictions, are of at least
	// three owners in three namespaces; each owner and namespace counts for at
	// most a third of the number, plus one.
	MaxPendingReplacements int `json:"maxPendingReplacements"`
	// PendingAfter is how long a replacement may wait for a node before it
	// counts: 10s to 1h.
	PendingAfter metav1.Duration `json:"pendingAfter"`
	// MaxUnreadyReplacements is how many replacements may be bound for longer
	// than unreadyAfter, or have restarted, without being ready before nothing
	// more is evicted: 0 to 500. An owner with one is left alone until it is
	// ready, for an hour at most. More of one namespace stop that namespace
	// alone. The whole cluster stops by the rule of maxPendingReplacements, and
	// counts a replacement for no longer than rest. A replacement whose pod was
	// not ready either, or crashed, counts for its owner only.
	MaxUnreadyReplacements int `json:"maxUnreadyReplacements"`
	// UnreadyAfter is how long a replacement may take to become ready before it
	// counts: 10s to 1h.
	UnreadyAfter metav1.Duration `json:"unreadyAfter"`
	// MaxRefusedPercent is the share of the last 20 evictions that the API
	// server may refuse for a PodDisruptionBudget before evicting rests: 0 to
	// 100. Refusals in one namespace stop that namespace alone, as with
	// maxPendingReplacements.
	MaxRefusedPercent float64 `json:"maxRefusedPercent"`
	// MaxErrors is how many calls to the API server may fail in a row before
	// evicting rests: 1 to 100. Failures in one namespace stop that namespace
	// alone, as with maxPendingReplacements.
	MaxErrors int `json:"maxErrors"`
	// Rest is how long evicting rests for maxRefusedPercent or maxErrors: 10s
	// to 24h.
	Rest metav1.Duration `json:"rest"`
	// MaxNotReadyPercent is the share of nodes that may be not ready before
	// nothing is evicted: 0 to 100.
	MaxNotReadyPercent float64 `json:"maxNotReadyPercent"`
	// MaxDrainingPercent is the share of nodes that may have been cordoned,
	// drained or deleted within standBack before evicting stands back: 0 to 100.
	// One node never is too many.
	MaxDrainingPercent float64 `json:"maxDrainingPercent"`
	// MaxUnschedulablePercent is the share of all pods that may wait for a node,
	// of those created within standBack, before evicting stands back: 0 to 100.
	// Four pods never are too many. Pods that no node could take if it were empty
	// do not count, and those of one or two namespaces stop nothing, as with
	// maxPendingReplacements.
	MaxUnschedulablePercent float64 `json:"maxUnschedulablePercent"`
	// StandBack is how long evicting stands back for either at most: 0s to 24h.
	StandBack metav1.Duration `json:"standBack"`
}

// Metric is a metric of nodes that Evenkeel does not know by itself.
type Metric struct {
	// Name is how queries and lines call it: 1 to 63 small letters, digits, and
	// between them '-', '_' or '.'. A pressure may be listed to say what
	// relieves it; cpu, memory and memory.available may not. Required.
	Name usage.Metric `json:"name"`
	// LowerIsWorse reverses the order of its levels: a node below the evict
	// line is hot.
	LowerIsWorse bool `json:"lowerIsWorse"`
	// Relieves says which usage a move has to take off a node to relieve it:
	// cpu or memory; with none, a node that is hot by it is marked by nodesync
	// and keeps its pods. May be left out for a metric without an evict line.
	Relieves usage.Metric `json:"relieves"`
}

// Source is one place usage is read from.
type Source struct {
	// Type is the name of one of the kinds of sources. Required.
	Type string `json:"type"`
	// MaxAge is usage.maxAge for this source: longer than sampleInterval, at
	// most 1h (Annotations: 1d). 0s takes usage.maxAge; Annotations, whose
	// values each have a period of their own, then go by that alone.
	MaxAge metav1.Duration `json:"maxAge,omitzero"`
	// Timeout is usage.timeout for this source: 100ms to 5m. 0s takes
	// usage.timeout.
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// Config is the block of the type. Each type has its own, so it is not
	// among the fields that are known here.
	Config source.Config `json:"-"`
}

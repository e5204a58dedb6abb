package policy

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/calendar"
)

const (
	// GroupVersion is the apiVersion of a LoadPolicy document.
	GroupVersion = "evenkeel.io/v1alpha1"
	// LoadPolicyKind is the kind of a LoadPolicy document.
	LoadPolicyKind = "LoadPolicy"
)

// LoadPolicy configures how Evenkeel measures usage, which nodes count as hot
// or cool, how it scores nodes and how carefully it evicts pods. Percentages
// range from 0 to 100 and refer to a node's allocatable resources unless noted
// otherwise.
type LoadPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// Usage configures where usage is measured and when a measurement is
	// trusted.
	Usage Usage `json:"usage"`
	// Lines are the usage thresholds per metric. Both the evicting and the
	// scheduling half use them, so there is one definition of hot. Metrics
	// that are not listed are ignored. The default covers cpu and memory. List
	// at least one of cpu and memory, unless every listed metric has relieves:
	// none.
	Lines Lines `json:"lines"`
	// NodePools are groups of nodes with their own lines. A node belongs to
	// the first pool whose selector matches it. A node that matches no pool
	// uses lines unchanged.
	NodePools []NodePool `json:"nodePools"`
	// MinGapPercent is the minimum distance between the reject and the evict
	// line of a metric: 1 to 50 percentage points, or percent of the evict
	// line for metrics of usage.metrics. The gap prevents the scheduler from
	// filling a node up to the line at which its pods would be evicted again.
	MinGapPercent float64 `json:"minGapPercent" retired:"3 points keep nodes below the evict line in clusters of every size"`
	// Hot configures how much evidence it takes before a node counts as hot.
	Hot Hot `json:"hot"`
	// Scoring configures how nodes are compared when a pod is placed.
	Scoring Scoring `json:"scoring"`
	// Eviction configures how fast and how carefully pods are moved.
	Eviction Eviction `json:"eviction"`
	// NodeSync configures what is written to nodes for other components to
	// read.
	NodeSync NodeSync `json:"nodesync"`
}

// Usage configures where usage is measured and when a measurement is trusted.
type Usage struct {
	// Sources are tried in order. Each node uses the first source that has
	// fresh and plausible data for it. At least one source is required, and
	// each type may be listed once.
	Sources []Source `json:"sources"`
	// Metrics are additional node metrics, such as the busy time of a disk,
	// that lines may refer to. Each needs a query in the Prometheus source.
	Metrics []Metric `json:"metrics"`
	// SampleInterval is the time between two samples: 5s to 5m. It does not
	// affect how often pods are moved.
	SampleInterval metav1.Duration `json:"sampleInterval"`
	// MaxAge is the age at which a sample stops counting and its node becomes
	// unknown: longer than sampleInterval, at most 1h. A source can override
	// it.
	MaxAge metav1.Duration `json:"maxAge"`
	// MinCoveragePercent is the share of ready nodes that must have fresh
	// data; below it, nothing is evicted: 0 to 100. Virtual nodes, nodes that
	// are being removed and nodes excluded by the nodeSelector do not count.
	MinCoveragePercent float64 `json:"minCoveragePercent"`
	// QueriesPerSecond limits the requests to a source: above 0, at most 1000.
	QueriesPerSecond float64 `json:"queriesPerSecond"`
	// Timeout limits a single request to a source: 100ms to 5m. A source can
	// override it.
	Timeout metav1.Duration `json:"timeout"`
	// ObservationPeriod is how long a one-shot run collects samples before it
	// decides. It must cover hot.minWindow and hot.consecutiveSamples, and be
	// at most 1h.
	ObservationPeriod metav1.Duration `json:"observationPeriod"`
}

// Hot configures how much evidence it takes before a node counts as hot.
type Hot struct {
	// Windows are the windows whose values must all be above the evict line:
	// last, avg_<time>, max_avg_<time> and p<1 to 99>_<time>, each at most
	// once. At least one must be last, or an average or percentile over at
	// most 10m, because a long window alone would keep a node hot for the
	// whole window after it has cooled.
	Windows []usage.Window `json:"windows"`
	// ConsecutiveSamples is how many samples in a row must agree: 1 to 100.
	ConsecutiveSamples int `json:"consecutiveSamples"`
	// MinWindow is the minimum time that samples must span before a partly
	// filled window has a value: 1s to 5m.
	MinWindow metav1.Duration `json:"minWindow"`
	// Startup is how long usage is ignored as evidence after a node became
	// ready or a pod's newest container started: 0s to 1h. During that time
	// the node does not become hot. The pod is not moved, and counts for no
	// more than its siblings use or, if it has none, for 85% of its CPU and
	// 70% of its memory request. If pods take longer than
	// eviction.breaker.unreadyAfter to become ready, raise that as well.
	Startup metav1.Duration `json:"startup"`
	// RisingMemory makes nodes hot sooner, without waiting for windows, while
	// their memory is filling up.
	RisingMemory RisingMemory `json:"risingMemory"`
}

// RisingMemory makes a node hot if its memory is above the evict line and
// would be full soon, for example because of a leak. consecutiveSamples must
// agree here too.
type RisingMemory struct {
	// Window is how long all samples must be above the evict line and rise
	// steadily, at a rate that fills memory to 95% within 3m: 30s to 5m. A
	// value shorter than four times usage.sampleInterval is raised to that. 0s
	// turns this off, so that memory waits for hot.windows.
	Window metav1.Duration `json:"window"`
	// FullPercent is the level, in percent of allocatable, that memory must be
	// about to reach at its current rate: above 0, at most 100. At or below
	// the evict line of memory, any steady rise counts as urgent, however
	// slow; lint warns about that.
	FullPercent float64 `json:"fullPercent" retired:"a kubelet evicts at about this level on every node"`
	// Within is how soon memory must reach fullPercent at that rate: 10s to
	// 1h.
	Within metav1.Duration `json:"within" retired:"what counts is whether moves are made in time, and they take the same time everywhere"`
}

// Scoring configures how nodes are compared when a pod is placed.
type Scoring struct {
	// Weights are the weights of the resources in a node's score: 0 to 100
	// each, at least one above 0. A resource that is not listed has weight 0.
	Weights map[v1.ResourceName]int64 `json:"weights"`
	// Estimate predicts the usage of pods that have not been measured yet.
	Estimate Estimate `json:"estimate" retired:"pods without usage of their own count as their siblings do, and all others are measured within minutes"`
	// HotValue lowers the score of nodes that received several pods in quick
	// succession, before the usage of these pods is measured. Each term subtracts ten
	// of a hundred points for every count pods that were bound within timeRange. At most
	// 10 terms.
	HotValue []HotValue `json:"hotValue"`
	// DampPercent flattens the scores of a request if its nodes differ by less
	// than this many percentage points, so that noise does not herd pods onto
	// one node: 0 to 50.
	DampPercent float64 `json:"dampPercent" retired:"it hides measurement noise, which is the same everywhere"`
	// Measured scores nodes by measured windows, as earlier systems did,
	// instead of by predicted usage. If omitted, predicted usage is used.
	Measured *MeasuredScoring `json:"measured,omitempty"`
}

// HotValue is one term of Crane's hot value: the number of pods bound to a
// node within timeRange, divided by count and rounded down.
type HotValue struct {
	// TimeRange is how far back bindings count: 10s to 1h. Each value may be
	// used once. Required.
	TimeRange metav1.Duration `json:"timeRange"`
	// Count is how many bindings cost ten points: 1 to 1000. Required.
	Count int `json:"count"`
}

// Estimate predicts a pod's usage from its requests.
type Estimate struct {
	// CPUPercentOfRequest is the share of its CPU request that a pod is
	// expected to use: above 0, at most 1000.
	CPUPercentOfRequest float64 `json:"cpuPercentOfRequest"`
	// MemoryPercentOfRequest is the share of its memory request that a pod is
	// expected to use: above 0, at most 1000.
	MemoryPercentOfRequest float64 `json:"memoryPercentOfRequest"`
	// DefaultCPU is the expected CPU usage of a container without a CPU
	// request: 0 or more.
	DefaultCPU resource.Quantity `json:"defaultCPU"`
	// DefaultMemory is the expected memory usage of a container without a
	// memory request: 0 or more.
	DefaultMemory resource.Quantity `json:"defaultMemory"`
}

// Steering is how replacements reach their destinations, and whether evictions
// depend on it.
type Steering string

const (
	// SteeringAuto uses the best method that is proven to work: the extender or the plugin, or else the API server.
	SteeringAuto Steering = "auto"
	// SteeringAdmission has the API server steer, and evicts nothing while that does not work.
	SteeringAdmission Steering = "admission"
	// SteeringRequired stops evicting once kube-scheduler has bound a replacement
	// without asking the extender.
	SteeringRequired Steering = "required"
	// SteeringNone evicts without that check, so destinations are left to chance.
	SteeringNone Steering = "none"
)

// Forecast selects which usage is expected, and therefore what a move is worth.
type Forecast string

const (
	// ForecastRecurring expects usage that recurs with each period, and that all other usage lasts. Pods may be moved
	// before recurring usage makes their node hot.
	ForecastRecurring Forecast = "recurring"
	// ForecastLasting expects that usage stays as it is.
	ForecastLasting Forecast = "lasting"
	// ForecastNone expects nothing, and moves pods whatever that saves.
	ForecastNone Forecast = "none"
)

// Recurs returns the period after which usage is expected to recur; 0 for never.
func (e *Eviction) Recurs() time.Duration {
	if e.Forecast == ForecastRecurring {
		return e.ForecastPeriod.Duration
	}
	return 0
}

// Eviction configures how fast and how carefully pods are moved.
type Eviction struct {
	// DefaultProfile runs RealUsageLowNodeUtilization with its defaults if the
	// file has no DeschedulerPolicy. Workloads with a single replica are left
	// alone. If false, such a file evicts nothing, which suits policies that
	// only label nodes or answer kube-scheduler.
	DefaultProfile bool `json:"defaultProfile"`
	// DryRunPlugins are plugins that only say what they would do, while the
	// others evict. Each must be enabled under deschedule or balance; it is in
	// dry run in every profile that enables it. Its moves count for nobody
	// else: the other plugins plan as if it were disabled. simulate makes
	// its moves. At most 50, each once.
	DryRunPlugins []string `json:"dryRunPlugins"`
	// Steering selects how replacements reach their destinations. auto uses the best
	// method that is proven to work. required stops evicting once kube-scheduler has
	// bound a replacement without asking the extender. admission has the API server
	// steer, which needs the component admission-steering, and evicts nothing while
	// that does not work. none evicts without any check.
	Steering Steering `json:"steering"`
	// CycleDeadline ends a cycle that takes longer; the remaining moves wait
	// for the next cycle: 10s to 24h.
	CycleDeadline metav1.Duration `json:"cycleDeadline" retired:"a cycle that is cut short continues in the next one"`
	// Interval is the minimum time between two evictions: 0s to 10m, and
	// shorter than cycleDeadline.
	Interval metav1.Duration `json:"interval" retired:"the hourly limits set the pace, and the default suits every cluster"`
	// MaxMovesPerCycle limits the moves of one cycle: 1 to 500.
	MaxMovesPerCycle int `json:"maxMovesPerCycle"`
	// MaxMovesPerHour limits the evictions in any 60 minutes, including those
	// by upstream's plugins but not those of pods that have failed or
	// succeeded: a number up to 2000, where 0 means unlimited, or a percentage
	// from 1% to 100% of the pods on participating nodes. A percentage allows
	// at least 50 and at most 2000 moves.
	MaxMovesPerHour intstr.IntOrString `json:"maxMovesPerHour"`
	// MaxMovesPerHourOfNamespace limits evictions per namespace in the same way: 0 to
	// 2000. With 0, moves by usage may use half of maxMovesPerHour in one namespace,
	// or, if the namespace has more than half of the pods on participating nodes, the
	// same share of it.
	MaxMovesPerHourOfNamespace int `json:"maxMovesPerHourOfNamespace"`
	// MaxMovesPerHourOfOwner limits evictions per controller in the same way:
	// a number up to 2000, where 0 means unlimited, or a percentage from 1% to
	// 100% of the controller's pods. A percentage allows at least 2 moves. It
	// applies to moves by usage only, not to evictions by other plugins.
	MaxMovesPerHourOfOwner intstr.IntOrString `json:"maxMovesPerHourOfOwner"`
	// MaxMovesPerHourOfNodePool limits evictions per node pool in the same
	// way: 0 to 2000, where 0 means unlimited. Nodes without a pool count as
	// one pool.
	MaxMovesPerHourOfNodePool int `json:"maxMovesPerHourOfNodePool" retired:"the limits per cluster, namespace and owner apply in every pool"`
	// MinGainPercent is the minimum share of a hot node's allocatable that a
	// single move must free, of a resource by which the node is hot: 0 to 50.
	// If the node's pods are small, half of the mean usage of its movable pods
	// is enough.
	MinGainPercent float64 `json:"minGainPercent" retired:"minHotTimeSaved decides whether a move is worth it, and other values led to the same moves"`
	// MinHotTimeSaved is the minimum reduction in hot time that justifies a
	// move: how much less time the node and its destinations are expected to
	// spend above their evict lines of CPU over the next four hours, per move
	// of a plain pod. Moves that cost more must save more. The hotter the node
	// is, the more a minute counts; several pods that each use less than 5% of
	// the node cost less than as many plain pods. With 0s, moves are made
	// whatever they save.
	MinHotTimeSaved metav1.Duration `json:"minHotTimeSaved"`
	// Forecast selects which usage is expected: recurring, lasting or none.
	// With none, a move off a hot node is made whatever it saves.
	Forecast Forecast `json:"forecast"`
	// ForecastPeriod is the period after which usage recurs: 5m to 168h.
	ForecastPeriod metav1.Duration `json:"forecastPeriod"`
	// NodeSettle is how long no further pods are moved off a node after a move
	// from or to it, until measurements have caught up: 0s to 1h.
	NodeSettle metav1.Duration `json:"nodeSettle" retired:"a move shows in the usage of its nodes within a minute in any cluster"`
	// Cooldown is how long an owner is left alone after one of its pods was
	// moved, especially if the move did not help.
	Cooldown Cooldown `json:"cooldown"`
	// OutcomeAfter is how long after a replacement was bound its move is
	// judged: 30s to 1h.
	OutcomeAfter metav1.Duration `json:"outcomeAfter" retired:"it is the time after which a move is fully reflected in hot.windows"`
	// Windows are the times at which evictions are allowed. If empty, they are
	// always allowed. At most 50; they may overlap.
	Windows []Period `json:"windows"`
	// Blackouts are the times at which nothing is evicted, even inside a
	// window. At most 50.
	Blackouts []Period `json:"blackouts"`
	// Breaker configures when evicting stops automatically.
	Breaker Breaker `json:"breaker"`
	// MaxInFlightPercentOfOwner is the share of an owner's replicas that may
	// be on the move, unready, pending or terminating at the same time if no
	// PodDisruptionBudget covers them: 0 to 100. One pod is always allowed, so
	// 0 means one at a time.
	MaxInFlightPercentOfOwner float64 `json:"maxInFlightPercentOfOwner"`
	// MoveTTL is how long a move may take, after the pod's grace period,
	// before its reservation expires: 10s to 1h.
	MoveTTL metav1.Duration `json:"moveTTL" retired:"the pod's grace period, which varies, is added automatically"`
	// SourceAvoidance is how long the replacement of an evicted pod is kept
	// off the node that the pod was evicted from: 0s to 24h.
	SourceAvoidance metav1.Duration `json:"sourceAvoidance" retired:"it only has to outlast the scheduling of a replacement"`
	// OwnerSettle is how long the pods of an owner are protected after it was
	// scaled or rolled out: 0s to 24h.
	OwnerSettle metav1.Duration `json:"ownerSettle"`
	// EvictJobs allows evicting pods of Jobs. Each eviction counts against the
	// Job's backoffLimit unless its podFailurePolicy ignores disruptions.
	// Evenkeel never makes an eviction that would fail the Job or one of its
	// indexes.
	EvictJobs bool `json:"evictJobs"`
	// SchedulerNames are the schedulers that ask Evenkeel's extender. Pods of
	// other schedulers are left alone. At least one, each once.
	SchedulerNames []string `json:"schedulerNames"`
	// AcrossZones allows moving a pod to a node of another zone (label
	// topology.kubernetes.io/zone) if no node of its own zone takes it.
	AcrossZones bool `json:"acrossZones"`
	// AcrossCapacityTypes allows moving pods between spot or preemptible nodes
	// and other nodes, identified by the labels of Karpenter, EKS, GKE and
	// AKS.
	AcrossCapacityTypes bool `json:"acrossCapacityTypes"`
	// LeavingTaints are the keys of taints on nodes that an autoscaler is
	// draining. No pod is moved to such a node, and none off it, because the
	// autoscaler does that. A key that ends in * matches every key with that
	// prefix. At most 50, each once.
	LeavingTaints []string `json:"leavingTaints"`
	// ClosingTaints are the keys of taints, of any effect, on nodes that
	// should get no more pods, for example because they will be removed soon.
	// No pod is moved to such a node and it scores 0, but it is relieved like
	// any other. A key that ends in * matches every key with that prefix. At
	// most 50, each once.
	ClosingTaints []string `json:"closingTaints"`
	// RecreatingControllers are additional kinds of controllers that replace
	// an evicted pod, as Kind.group, for example CloneSet.apps.kruise.io.
	// ReplicaSets, StatefulSets and ReplicationControllers are built in, and
	// Jobs with evictJobs; pods of other controllers are left alone. Evenkeel
	// needs permission to list these kinds. At most 50, each once.
	RecreatingControllers []string `json:"recreatingControllers"`
}

// Cooldown is how long an owner rests; it grows with each consecutive move
// that does not help.
type Cooldown struct {
	// Always is the rest after any eviction of an owner's pods, even one that
	// helped: 0s to 24h, where 0s means no rest. Several moves in one cycle
	// are not affected.
	Always metav1.Duration `json:"always"`
	// Base is the rest after the first move that did not help: 0s to 24h,
	// where 0s means no rest.
	Base metav1.Duration `json:"base"`
	// Max limits the rest, which doubles with each consecutive move that did
	// not help: at least base, at most 24h.
	Max metav1.Duration `json:"max"`
}

// Period is a recurring time span, such as every night.
type Period = calendar.Period

// Breaker configures when evicting stops automatically. It resumes
// automatically once the cause is gone. It also stops if more than three
// replacements wait for a node for a minute, if PodDisruptionBudgets refuse
// half of the last 20 evictions, or if five calls to the API server fail in a
// row; causes in one or two namespaces stop only these.
type Breaker struct {
	// MaxPendingReplacements is how many replacements may wait for a node
	// longer than pendingAfter before evicting stops: 0 to 500. An owner with
	// a waiting replacement is left alone until it has landed. If too many
	// wait in one namespace, evicting stops in that namespace only. It stops
	// in the whole cluster only if the waiting replacements exceed both this
	// number and 5% of the last hour's evictions, and belong to at least three
	// owners in three namespaces. Each owner and each namespace counts for at
	// most a third of this number, plus one.
	MaxPendingReplacements int `json:"maxPendingReplacements" retired:"the breaker automatically also counts 5% of the last evictions"`
	// PendingAfter is how long a replacement may wait for a node before it
	// counts: 10s to 1h.
	PendingAfter metav1.Duration `json:"pendingAfter" retired:"a working scheduler places a pod within a minute"`
	// MaxUnreadyReplacements is how many replacements may have restarted, or
	// have been bound for longer than unreadyAfter, without being ready before
	// evicting stops: 0 to 500. An owner with such a replacement is left alone
	// until it is ready, for an hour at most. If there are too many in one
	// namespace, evicting stops in that namespace only. It stops in the whole
	// cluster by the rule of maxPendingReplacements, where a replacement
	// counts for no longer than rest. A replacement of a pod that was itself
	// unready or crashing counts for its owner only.
	MaxUnreadyReplacements int `json:"maxUnreadyReplacements" retired:"the breaker automatically also counts 5% of the last evictions, and unreadyAfter defines which pods are slow"`
	// UnreadyAfter is how long a replacement may take to become ready: 10s to
	// 1h. An owner with one that takes longer, or restarts, is left alone, and
	// more than three of them stop evicting: in their namespace or, if they
	// belong to at least three, in the whole cluster.
	UnreadyAfter metav1.Duration `json:"unreadyAfter"`
	// MaxRefusedPercent is the share of the last 20 evictions that the API
	// server may refuse because of a PodDisruptionBudget before evicting
	// rests: 0 to 100. Refusals in a single namespace stop that namespace
	// only, as with maxPendingReplacements.
	MaxRefusedPercent float64 `json:"maxRefusedPercent" retired:"the API server refuses evictions because of PodDisruptionBudgets, which set the limit"`
	// MaxErrors is how many calls to the API server may fail in a row before
	// evicting rests: 1 to 100. Failures in a single namespace stop that
	// namespace only, as with maxPendingReplacements.
	MaxErrors int `json:"maxErrors" retired:"a few failed calls in a row look the same in every cluster"`
	// Rest is how long evicting rests after maxRefusedPercent or maxErrors was
	// reached: 10s to 24h.
	Rest metav1.Duration `json:"rest" retired:"evicting resumes automatically once the cause is gone"`
	// MaxNotReadyPercent is the share of nodes that may be not ready; above
	// it, nothing is evicted: 0 to 100.
	MaxNotReadyPercent float64 `json:"maxNotReadyPercent"`
	// MaxDrainingPercent is the share of nodes that may have been cordoned,
	// drained or deleted within standBack before evicting stands back: 0 to
	// 100. A single node is never too many.
	MaxDrainingPercent float64 `json:"maxDrainingPercent" retired:"standBack sets how long evicting pauses, and 0s disables the pause"`
	// MaxUnschedulablePercent is the share of pods created within standBack
	// that may wait for a node, in percent of all pods, before evicting stands
	// back: 0 to 100. Four pods are never too many. Pods that would not fit
	// even an empty node do not count, and waiting pods of only one or two
	// namespaces stop nothing, as with maxPendingReplacements.
	MaxUnschedulablePercent float64 `json:"maxUnschedulablePercent" retired:"standBack sets how long evicting pauses, and 0s disables the pause"`
	// StandBack is the longest time for which evicting pauses after many nodes or pods
	// have changed, and the age up to which such a change counts: 0s, which never
	// pauses, to 24h. Many nodes are more than one and more than 10% of all, if they
	// were cordoned, drained or deleted. Many pods are more than four and more than 2%
	// of all, if they are new, wait for a node and would fit an empty one, in at least
	// three namespaces.
	StandBack metav1.Duration `json:"standBack"`
}

// Metric is a node metric that is not built in.
type Metric struct {
	// Name is the name that queries and lines use: 1 to 63 lower-case letters
	// and digits, with '-', '_' or '.' between them. A pressure metric may be
	// listed to set what relieves it; cpu, memory and memory.available may not
	// be listed. Required.
	Name usage.Metric `json:"name"`
	// LowerIsWorse reverses the order of the levels: a node below the evict
	// line is hot.
	LowerIsWorse bool `json:"lowerIsWorse"`
	// Relieves is the resource whose usage a move must take off a node to
	// relieve it: cpu or memory. With none, a node that is hot by this metric
	// is marked by nodesync and keeps its pods. Optional for a metric without
	// an evict line.
	Relieves usage.Metric `json:"relieves"`
}

// Source is one source of usage.
type Source struct {
	// Type is the kind of source. Required.
	Type string `json:"type"`
	// MaxAge overrides usage.maxAge for this source: longer than
	// sampleInterval, at most 1h (Annotations: 1d). 0s uses usage.maxAge,
	// except for Annotations, whose values then expire by their own periods
	// only.
	MaxAge metav1.Duration `json:"maxAge,omitzero"`
	// Timeout overrides usage.timeout for this source: 100ms to 5m. 0s uses
	// usage.timeout.
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// Config is the block of the source's type. Each type has its own, so Config is not decoded with the other fields.
	Config source.Config `json:"-"`
}

package policy

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Lines are the levels of usage that mean something, per resource: the one
	// definition of hot for both sides of scheduling. A resource that is not
	// named is not judged; without lines at all, cpu and memory are.
	Lines Lines `json:"lines"`
	// MinGapPercent is the least distance between the reject and the evict line
	// of a resource, in percent points: 1 to 50. It keeps the scheduler from
	// filling a node up to the line at which pods are evicted again.
	MinGapPercent float64 `json:"minGapPercent"`
	// Hot says how sure one has to be before a node counts as hot.
	Hot Hot `json:"hot"`
	// Scoring says how nodes are compared when a pod is placed.
	Scoring Scoring `json:"scoring"`
	// Eviction says how fast and how carefully pods are moved.
	Eviction Eviction `json:"eviction"`
}

// SourceType names a kind of usage source.
type SourceType string

// SourceMetricsServer is the metrics.k8s.io API, served by metrics-server or by
// an adapter in its place.
const SourceMetricsServer SourceType = "MetricsServer"

// Source is one place usage is read from.
type Source struct {
	// Type is the kind of source: MetricsServer.
	Type SourceType `json:"type"`
}

// Usage says where usage is measured and when it is trusted.
type Usage struct {
	// Sources are asked in this order; a node takes the first that has fresh
	// data for it. At least one, each type once.
	Sources []Source `json:"sources"`
	// SampleInterval is the time between two samples: 5s to 5m. It is
	// independent of how often pods are moved.
	SampleInterval metav1.Duration `json:"sampleInterval"`
	// MaxAge is the age from which a sample is no data and its node unknown:
	// longer than sampleInterval, at most 1h.
	MaxAge metav1.Duration `json:"maxAge"`
	// MinCoveragePercent is the share of ready nodes with fresh data below
	// which nothing is evicted: 0 to 100.
	MinCoveragePercent float64 `json:"minCoveragePercent"`
	// QueriesPerSecond bounds the requests to a source: above 0, at most 1000.
	QueriesPerSecond float64 `json:"queriesPerSecond"`
	// Timeout bounds one request to a source: 100ms to 5m.
	Timeout metav1.Duration `json:"timeout"`
	// ObservationPeriod is how long a one-shot run samples before it decides:
	// at least hot.minWindow and time for hot.consecutiveSamples, at most 1h.
	ObservationPeriod metav1.Duration `json:"observationPeriod"`
}

// Lines holds the lines of each judged resource.
type Lines map[v1.ResourceName]ResourceLines

// ResourceLines are the levels of one resource, each 0 to 100, with
// low < reject, reject + minGapPercent <= evict and low < leave <= evict.
type ResourceLines struct {
	// Low: a node at or below it on every resource is cool and may take pods.
	Low float64 `json:"low"`
	// Reject: a node predicted above it is kept out of scheduling while others
	// will do; it is the ceiling of every planned landing.
	Reject float64 `json:"reject"`
	// Evict: a node above it on any resource is hot, and pods are planned away
	// until it is predicted at or below this line.
	Evict float64 `json:"evict"`
	// Leave: a hot node stops being hot below it. It never causes a move.
	Leave float64 `json:"leave"`
}

// Resources returns the judged resources in a stable order.
func (l Lines) Resources() []v1.ResourceName {
	return slices.Sorted(maps.Keys(l))
}

// Window names the time over which usage is taken.
type Window string

const (
	// WindowLast is the newest sample alone.
	WindowLast Window = "last"
	// WindowAvg5m is the mean of the last five minutes.
	WindowAvg5m Window = "avg_5m"
)

// Hot says how sure one has to be before a node counts as hot.
type Hot struct {
	// Windows must all lie above the evict line: last, avg_5m. At least one,
	// each once.
	Windows []Window `json:"windows"`
	// ConsecutiveSamples is how many samples in a row must agree: 1 to 100.
	ConsecutiveSamples int `json:"consecutiveSamples"`
	// MinWindow is the span of samples below which a partly filled window is
	// unknown: 1s to 5m.
	MinWindow metav1.Duration `json:"minWindow"`
}

// Scoring says how nodes are compared when a pod is placed.
type Scoring struct {
	// Weights are the shares of the resources in a node's score: 0 to 100
	// each, at least one above 0. A resource that is not named weighs nothing.
	Weights map[v1.ResourceName]int64 `json:"weights"`
	// Estimate predicts the usage of pods that have not been measured yet.
	Estimate Estimate `json:"estimate"`
	// DampPercent flattens the scores of a request whose nodes differ by less
	// than this many percent points, so that noise does not herd pods: 0 to 50.
	DampPercent float64 `json:"dampPercent"`
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

// Steering says whether evictions depend on kube-scheduler asking the extender.
type Steering string

const (
	// SteeringRequired stops evicting when a replacement was bound without the
	// extender having been asked.
	SteeringRequired Steering = "required"
	// SteeringNone evicts without that check: landings are hoped for only.
	SteeringNone Steering = "none"
)

// Eviction says how fast and how carefully pods are moved.
type Eviction struct {
	// Steering is required or none.
	Steering Steering `json:"steering"`
	// CycleDeadline ends a paced cycle; what is left waits for the next one:
	// 10s to 24h.
	CycleDeadline metav1.Duration `json:"cycleDeadline"`
	// Interval is the least time between two evictions: 0s to 10m, and shorter
	// than cycleDeadline.
	Interval metav1.Duration `json:"interval"`
	// MaxMovesPerCycle bounds the moves of one cycle: 1 to 500.
	MaxMovesPerCycle int `json:"maxMovesPerCycle"`
	// MaxInFlightPercentOfOwner is the share of an owner's replicas that may be
	// on the move at once when no PodDisruptionBudget says it; always at least
	// one pod: 0 to 100.
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
	// EvictJobs allows to evict pods of Jobs; each such eviction counts against
	// the Job's backoffLimit.
	EvictJobs bool `json:"evictJobs"`
	// SchedulerNames are the schedulers that ask our extender; pods of any
	// other are left alone. At least one, each once.
	SchedulerNames []string `json:"schedulerNames"`
}

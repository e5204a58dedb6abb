package policy

import (
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
	// Lines are the levels of usage that mean something, per metric: the one
	// definition of hot for both sides of scheduling. At least one of cpu and
	// memory; a metric that is not named is not judged; without lines at all,
	// cpu and memory are.
	Lines Lines `json:"lines"`
	// NodePools are groups of nodes with lines of their own. A node is in the
	// first pool that matches it; a node in none takes lines as they are.
	NodePools []NodePool `json:"nodePools"`
	// MinGapPercent is the least distance between the reject and the evict line
	// of a metric: 1 to 50, in percent points, for metrics of usage.metrics in
	// percent of the evict line. It keeps the scheduler from filling a node up
	// to the line at which pods are evicted again.
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
	// sane data for it. At least one, each type once.
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
	// which nothing is evicted: 0 to 100.
	MinCoveragePercent float64 `json:"minCoveragePercent"`
	// QueriesPerSecond bounds the requests to a source: above 0, at most 1000.
	QueriesPerSecond float64 `json:"queriesPerSecond"`
	// Timeout bounds one request to a source: 100ms to 5m. A source may have its
	// own.
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
	// Steering is required, which stops evicting when a replacement was bound
	// without the extender having been asked, or none, which evicts without that
	// check.
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

package policy

import "github.com/evenkeel/evenkeel/observe/usage"

// Formula selects how measured usage becomes a score.
type Formula string

// The formulas. u is a term's usage in percent of capacity, w its weight;
// scores are 0 to 100. kube-scheduler gets a tenth of them, rounded down.
const (
	// FormulaCrane is the weighted mean of what is free, less ten for each
	// point of the hot value. An unknown term adds nothing and keeps its
	// weight.
	//
	//	score = int(sum (100-u)*w / sum w) - 10*hot    at least 0
	FormulaCrane Formula = "Crane"
	// FormulaMemoryLoad is what is free of the only term, truncated to a whole
	// percent, in steps of ten; 10 if it is unknown.
	//
	//	score = 10 * int((100-int(u))/10)
	FormulaMemoryLoad Formula = "MemoryLoad"
	// FormulaMinMax is the only term, truncated to a whole percent, spread over
	// the nodes of a request; 0 if all are equal. An unknown node scores as the
	// median of the known ones.
	//
	//	score = 100 - int((int(u)-min)*100/(max-min))
	FormulaMinMax Formula = "MinMax"
)

// MeasuredScoring scores nodes by individual measured windows, as earlier
// systems did, instead of by predicted usage. Pods bound between two samples
// count only once they are measured. Percentages refer to a node's capacity,
// as sources report them. Planned moves respect lines as well.
type MeasuredScoring struct {
	// Formula selects how usage becomes a score: Crane, MemoryLoad or MinMax.
	// The hot value is subtracted in each case. Required.
	Formula Formula `json:"formula"`
	// Terms are the windows that are scored: at most 20, each combination of
	// metric and window once, and exactly one with MemoryLoad and MinMax.
	// Without terms, no node is preferred.
	Terms []MeasuredTerm `json:"terms"`
	// Limits keep pods off a node; exceeding one is enough. At most 20, each
	// combination of metric and window once. Pods of DaemonSets are not
	// affected.
	Limits []MeasuredLimit `json:"limits"`
	// Message is the reason that kube-scheduler shows in the events of a pod
	// for a node above a limit: one line of at most 200 bytes.
	Message string `json:"message"`
	// RejectAll rejects all nodes of a request if all are above a limit, so
	// that the pod waits. Otherwise all nodes are kept in that case.
	RejectAll bool `json:"rejectAll"`
}

// MeasuredTerm is one window of usage that is scored.
type MeasuredTerm struct {
	// Metric is cpu or memory. Required.
	Metric usage.Metric `json:"metric"`
	// Window is a window as in hot.windows; last if omitted.
	Window usage.Window `json:"window"`
	// Weight is the weight of the term: 0 to 1000. With Crane, at least one
	// must be above 0.
	Weight float64 `json:"weight"`
}

// MeasuredLimit is one window of usage that keeps pods off a node. A window
// without a known value has no effect.
type MeasuredLimit struct {
	// Metric is cpu or memory. Required.
	Metric usage.Metric `json:"metric"`
	// Window is a window as in hot.windows; last if omitted.
	Window usage.Window `json:"window"`
	// AbovePercent keeps pods off nodes whose usage is above it: above 0, at
	// most 100. Set either this or fromPercent.
	AbovePercent *float64 `json:"abovePercent,omitempty"`
	// FromPercent keeps pods off nodes whose usage is at or above it: above 0,
	// at most 100.
	FromPercent *float64 `json:"fromPercent,omitempty"`
}

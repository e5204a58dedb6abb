package policy

import "github.com/evenkeel/evenkeel/usage"

// Formula is how measured usage becomes a score.
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

// MeasuredScoring judges nodes by single measured windows, as earlier systems
// did, instead of predicted usage. Pods that come between two samples then
// count only once they are measured. Percentages are of a node's capacity, as
// sources write them. Planned moves keep to lines as well.
type MeasuredScoring struct {
	// Formula is how usage becomes a score: Crane, MemoryLoad or MinMax. The
	// hot value is taken off with each. Required.
	Formula Formula `json:"formula"`
	// Terms are what is scored: at most 20, each metric and window once;
	// exactly one with MemoryLoad and MinMax. Without any, no node is
	// preferred.
	Terms []MeasuredTerm `json:"terms"`
	// Limits are what keeps pods off a node, any one of them: at most 20, each
	// metric and window once. Pods of DaemonSets are not kept off.
	Limits []MeasuredLimit `json:"limits"`
	// Message is what kube-scheduler tells about a node above a limit, in the
	// pod's events: one line of at most 200 bytes.
	Message string `json:"message"`
	// RejectAll lets a request go without a node when all are above a limit, so
	// that the pod waits. Else all are kept then.
	RejectAll bool `json:"rejectAll"`
}

// MeasuredTerm is one window of usage that is scored.
type MeasuredTerm struct {
	// Metric is cpu or memory. Required.
	Metric usage.Metric `json:"metric"`
	// Window is as in hot.windows; last if it is not given.
	Window usage.Window `json:"window"`
	// Weight is the term's share: 0 to 1000, with Crane above 0 for at least
	// one.
	Weight float64 `json:"weight"`
}

// MeasuredLimit is one window of usage that keeps pods off a node. A window
// that is not known keeps none off.
type MeasuredLimit struct {
	// Metric is cpu or memory. Required.
	Metric usage.Metric `json:"metric"`
	// Window is as in hot.windows; last if it is not given.
	Window usage.Window `json:"window"`
	// AbovePercent is the usage above which pods are kept off: above 0, at most
	// 100. Either this or fromPercent.
	AbovePercent *float64 `json:"abovePercent,omitempty"`
	// FromPercent is the usage from which on they are, itself included: above
	// 0, at most 100.
	FromPercent *float64 `json:"fromPercent,omitempty"`
}

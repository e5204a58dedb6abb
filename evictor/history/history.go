// Package history makes evictions traceable long after they were made. It writes
// structured log lines about evictions and their results, and reads those lines and the
// ledger for `evenkeel history`.
package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
)

// Entry is one eviction, or one that a dry run would have made. Its JSON keys
// are those of the log lines.
type Entry struct {
	// At is when the eviction was made. A dry run would make the same eviction again and
	// again, because nothing is evicted. At is then the first time, and Times the number
	// of times.
	At        time.Time `json:"at"`
	DryRun    bool      `json:"dryRun,omitempty"`
	Times     int       `json:"times,omitempty"`
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	PodUID    string    `json:"podUID"`
	// Owner is kind/name of the pod's controller, and Workload that of the Deployment
	// behind it; empty if there is none.
	Owner    string `json:"owner,omitempty"`
	Workload string `json:"workload,omitempty"`
	Node     string `json:"node"`
	// Destination is the planned destination; empty for evictions by descheduler plugins
	// that do not plan destinations.
	Destination string `json:"destination,omitempty"`
	// CPUMilli and MemoryBytes are the pod's usage; absent if it is unknown.
	CPUMilli    *int64 `json:"cpuMilli,omitempty"`
	MemoryBytes *int64 `json:"memoryBytes,omitempty"`
	ledger.Decision
	// State is the state of the move in the ledger, and Denied the message with
	// which admission control denied its eviction; both are empty for an entry
	// from a log.
	State  string `json:"state,omitempty"`
	Denied string `json:"denied,omitempty"`
	// Landed is the replacement's node, and Replacement its name; empty if unknown.
	Landed      string `json:"landed,omitempty"`
	Replacement string `json:"replacement,omitempty"`
	// Outcome holds the results by which the eviction is judged some time later; nil
	// until then.
	Outcome Outcome `json:"outcome,omitempty"`
}

// Outcome maps questions about an eviction to their answers. The questions are the keys
// in the log line.
type Outcome map[string]bool

// The questions about an eviction, and those about an eviction that a dry run would have
// made.
const (
	planned          = "planned"
	sourceCooler     = "sourceCooler"
	destinationUnder = "destinationUnder"
	healthy          = "healthy"
	sourceStillHot   = "sourceStillHot"
	destinationTakes = "destinationTakes"
	podStayed        = "podStayed"
)

// against describes, for each question except planned, what the answer "no" means.
var against = map[string]string{
	sourceCooler:     "the node is as hot as before",
	destinationUnder: "the destination is too hot",
	healthy:          "the replacement is not ready or has restarted",
	sourceStillHot:   "the node cooled without it",
	destinationTakes: "the destination no longer takes the pod",
	podStayed:        "the pod is gone without it",
}

// OfMove returns the entry of a move in the ledger. It returns false for a move that was
// neither made nor denied.
func OfMove(m *ledger.Move) (Entry, bool) {
	e := ofIntent(&m.Intent, m.Evicted)
	e.State, e.Denied, e.Landed, e.Replacement = string(m.State), m.Denied, m.Node, m.ReplacementName
	if m.Evicted.IsZero() {
		e.At = m.Ended
	}
	if m.State != ledger.Landed {
		e.Landed = ""
	}
	if m.Outcome != nil {
		o := m.Outcome
		e.Outcome = Outcome{planned: o.Planned, sourceCooler: o.SourceCooler, destinationUnder: o.DestinationUnder, healthy: o.Healthy}
	}
	made := !m.Evicted.IsZero() && (m.Accepted || m.Decision == nil) // earlier versions recorded neither Accepted nor Decision
	return e, made || m.Denied != ""
}

func ofIntent(m *ledger.Intent, at time.Time) Entry {
	e := Entry{At: at, Namespace: m.Namespace, Pod: m.Pod, PodUID: m.PodUID, Node: m.From, Destination: m.To}
	if m.Usage != (cluster.Amounts{}) { // no running pod uses nothing
		e.CPUMilli, e.MemoryBytes = new(m.Usage[cluster.CPU]), new(m.Usage[cluster.Memory])
	}
	if m.Owner.Name != "" {
		e.Owner = m.Owner.Kind + "/" + m.Owner.Name
		if kind, name := m.Workload(); kind != m.Owner.Kind {
			e.Workload = kind + "/" + name
		}
	}
	if m.Decision != nil {
		e.Decision = *m.Decision
	}
	e.Plugin = cmp.Or(e.Plugin, m.Plugin) // the ledger drops old Decisions first
	return e
}

// Against lists the arguments against an eviction in hindsight.
func (o Outcome) Against() (words []string) {
	for _, question := range slices.Sorted(maps.Keys(o)) {
		if why := against[question]; why != "" && !o[question] {
			words = append(words, why)
		}
	}
	return words
}

// Helped reports whether the eviction helped, and whether that is known.
func (e *Entry) Helped() (helped, judged bool) {
	return e.Outcome != nil && len(e.Outcome.Against()) == 0, e.Outcome != nil
}

// Result describes how the eviction turned out.
func (e *Entry) Result() string {
	result := e.landing()
	if e.Outcome == nil {
		return result
	}
	words := e.Outcome.Against()
	switch {
	case len(words) > 0 && e.DryRun:
		return result + "; it would not have helped: " + strings.Join(words, ", ")
	case len(words) > 0:
		return result + "; it did not help: " + strings.Join(words, ", ")
	case e.DryRun:
		return result + "; it would have helped"
	}
	return result + "; it helped"
}

func (e *Entry) landing() string {
	switch {
	case e.DryRun && e.Times > 1:
		return fmt.Sprintf("would be evicted (%d times)", e.Times)
	case e.DryRun:
		return "would be evicted"
	case e.Denied != "":
		return "not evicted, denied: " + e.Denied
	case e.Landed != "" && e.Landed == e.Destination:
		return "landed as planned"
	case e.Landed != "":
		return "landed on " + e.Landed
	}
	switch ledger.State(e.State) {
	case ledger.Cancelled:
		return "evicted, no replacement wanted"
	case ledger.Expired:
		return "evicted, no replacement seen in time"
	case ledger.Intended, ledger.Evicted, ledger.Booked:
		return "evicted, replacement on its way"
	case ledger.Landed:
	}
	return "evicted"
}

// Why describes briefly what was exceeded, or otherwise which plugin evicted
// the pod.
func (e *Entry) Why() string {
	words := make([]string, len(e.Exceeded))
	for i, x := range e.Exceeded {
		sign, unit := ">", ""
		if x.Below {
			sign = "<"
		}
		if x.Percent {
			unit = "%"
		}
		words[i] = fmt.Sprintf("%s %s %g%s %s %g%s", x.Metric, x.Window, x.Value, unit, sign, x.Line, unit)
	}
	if len(words) == 0 {
		return e.Message
	}
	return strings.Join(words, ", ")
}

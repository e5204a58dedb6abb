package status

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// SteeringEvidence holds the facts about steering that can be found out without changing
// anything.
type SteeringEvidence struct {
	// Required is the policy's eviction.steering.
	Required policy.Steering
	// Hold describes why evictions are on hold; zero if they are not.
	Hold ledger.Hold
	// Ended lists the ledger's ended moves, oldest first.
	Ended []ledger.Move
	// Extender is the address of the extender whose status was read; empty if there is
	// none. Asked is the number of kube-scheduler's requests that it has answered. Err is
	// the error if this number is unknown.
	Extender string
	Asked    int64
	Err      error
	// Installed is true if the API server serves the kind that it needs for steering.
	Installed bool
}

// The states of Steering.
const (
	// SteeringProven means that replacements go to their planned nodes.
	SteeringProven = "proven"
	// SteeringUnproven means that a cycle has to find out whether replacements go to
	// their planned nodes.
	SteeringUnproven = "unproven"
	// SteeringAbsent means that steering does not work, so nothing is evicted.
	SteeringAbsent = "absent"
	// SteeringOff means that the policy disables steering.
	SteeringOff = "off"
)

// Steering describes whether replacements are known to land on their planned nodes.
type Steering struct {
	// Required is the policy's eviction.steering.
	Required string `json:"required"`
	State    string `json:"state"`
	// By describes the evidence for State, and Means the consequence.
	By    string `json:"by"`
	Means string `json:"means"`
}

// recent is the maximum age of a landing that counts as evidence.
const recent = 24 * time.Hour

const oneByOne = "evictions are made one at a time until a replacement has been steered, and stop at the first one that is not"

// Conclude evaluates the evidence in the same order as a cycle: first the policy, then a
// hold, then proof of steering.
func (e *SteeringEvidence) Conclude(at time.Time) Steering {
	s := Steering{Required: string(e.Required)}
	switch hold := &e.Hold; {
	case e.Required == policy.SteeringNone:
		s.State, s.By = SteeringOff, "the policy's eviction.steering is none"
		s.Means = "replacements go where kube-scheduler alone puts them, which may be a hot node again"
		return s
	case hold.Reason != "":
		s.State = SteeringAbsent
		s.By = fmt.Sprintf("%s ago %s (%s)", duration.HumanDuration(at.Sub(hold.Since)), cmp.Or(reasons.Reason(hold.Reason).Sentence(), "evicting was stopped"), hold.Reason)
		s.Means = fmt.Sprintf("nothing is evicted for %s, unless steering is proven sooner", duration.HumanDuration(hold.Until.Sub(at)))
		return s
	}
	if s.By = e.asked(at); s.By != "" {
		s.State, s.Means = SteeringProven, "replacements go to the planned nodes"
		return s
	}
	s.State, s.By, s.Means = e.unproven()
	if landed := e.landed(at); landed != "" {
		s.By += "; " + landed
	}
	return s
}

// asked describes the proof that kube-scheduler asks an extender; empty if there is none,
// or if the policy does not use an extender.
func (e *SteeringEvidence) asked(at time.Time) string {
	if e.Required == policy.SteeringAdmission {
		return ""
	}
	if e.Asked > 0 {
		return fmt.Sprintf("kube-scheduler has asked the extender at %s, %s", e.Extender, reasons.Count(int(e.Asked), "time"))
	}
	for i := len(e.Ended) - 1; i >= 0; i-- {
		if m := &e.Ended[i]; m.State == ledger.Landed && at.Sub(m.Ended) < recent {
			if !m.Asked {
				return ""
			}
			return fmt.Sprintf("kube-scheduler asked about the replacement of %s/%s, which landed on %s %s ago", m.Namespace, m.Pod, m.Node, duration.HumanDuration(at.Sub(m.Ended)))
		}
	}
	return ""
}

func (e *SteeringEvidence) unproven() (state, by, means string) {
	admission := e.Required == policy.SteeringAdmission
	switch {
	case admission && !e.Installed:
		return SteeringAbsent, "the API server has no Steerings: deploy/components/admission-steering is not installed", "nothing is evicted"
	case admission:
		return SteeringUnproven, "the API server may steer, but a plan does not test that", "each cycle tests it before its first eviction, and evicts nothing if it fails"
	case e.Required == policy.SteeringAuto && e.Installed:
		return SteeringUnproven, "the API server may steer, but a plan does not test that", "each cycle tests it before its first eviction; if it fails, " + oneByOne
	case e.Err != nil:
		return SteeringUnproven, fmt.Sprintf("the extender at %s could not be asked: %v", e.Extender, e.Err), oneByOne
	case e.Extender != "":
		return SteeringUnproven, fmt.Sprintf("kube-scheduler has not asked the extender at %s since it started", e.Extender), oneByOne
	}
	return SteeringUnproven, "no extender was asked, because --extender-url is not set", oneByOne
}

// landed describes how many of the recent moves landed as planned; empty if there are no
// recent moves.
func (e *SteeringEvidence) landed(at time.Time) string {
	planned, all := 0, 0
	for i := range e.Ended {
		if m := &e.Ended[i]; m.State == ledger.Landed && m.To != "" && at.Sub(m.Ended) < recent {
			if all++; m.Node == m.To {
				planned++
			}
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("of %s in the last day %d landed as planned", reasons.Count(all, "move"), planned)
}

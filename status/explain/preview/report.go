// Package preview is what `evenkeel plan` shows: what a cycle would do now, and
// why, as a value, and how that is printed.
//
// It decides nothing: moves and reasons come from the rooms that decide. It does
// no I/O but write to the writer that it is given, and never asks for the time.
package preview

import (
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/explain"
	"github.com/evenkeel/evenkeel/strategies"
)

// Facts are what a process knows when it has planned.
type Facts struct {
	// At is when that was.
	At   time.Time
	Plan strategies.Plan
	// Evidence is by which lines nodes are hot or would be, by node.
	Evidence map[string][]thresholds.Evidence
	// CountsFrom is from when nodes count that are beyond an evict line and became
	// ready too recently, by node.
	CountsFrom map[string]time.Time
	// NotHot is why nodes are not hot although they are measured or predicted above an
	// evict line, NotCool why they are not cool although they are measured under their
	// low lines, by node.
	NotHot, NotCool map[string]*explain.Basis
	// Measured is the measured usage of the plan's nodes, by node.
	Measured map[string]cluster.Percents
	// HotLeftOut are hot nodes that the policy's nodeSelector leaves out of the plan.
	HotLeftOut []string
	// OtherProfiles also move pods by real usage, and are no part of the plan.
	OtherProfiles []string
	// Until is when a declined pod's reason ends, by the pod's UID, where that is
	// known ahead.
	Until map[string]time.Time
	// Closed is why nothing was planned, Paused what pauses evicting; empty if
	// something was, or nothing does.
	Closed, Paused string
	// Watched is for how long usage was watched where that is less than what
	// evicting takes, ShortOf; 0 where it is not.
	Watched, ShortOf time.Duration
	Steering         Evidence
}

// New returns the report of facts.
func New(f *Facts) *Report {
	r := &Report{
		APIVersion: policy.GroupVersion, Kind: Kind, Made: f.At.UTC(), Closed: f.Closed, Paused: f.Paused,
		Steering: f.Steering.conclude(f.At), HotLeftOut: f.HotLeftOut, OtherProfiles: f.OtherProfiles, Moves: []Move{}, Declined: []Declined{}, Nodes: []Node{},
	}
	for i := range f.Plan.Moves {
		r.Moves = append(r.Moves, moveOf(&f.Plan.Moves[i], f.Evidence[f.Plan.Moves[i].From]))
	}
	for i := range f.Plan.Declined {
		r.Declined = append(r.Declined, f.declined(&f.Plan.Declined[i]))
	}
	for i := range f.Plan.Nodes {
		n := &f.Plan.Nodes[i]
		node := Node{Name: n.Name, State: string(n.State), Reason: string(n.Reason), Detail: n.Why(), Relief: explain.ReliefOf(n.Relief), NotHot: f.NotHot[n.Name], NotCool: f.NotCool[n.Name]}
		if n.State != thresholds.Unknown {
			node.Exceeded = strategies.Exceeded(f.Evidence[n.Name])
			if from := f.CountsFrom[n.Name]; from.After(f.At) {
				node.CountsFrom = new(from.UTC())
			}
			node.Measured = new(explain.PercentsOf(f.Measured[n.Name]))
			node.Before, node.After = new(explain.PercentsOf(n.Before)), new(explain.PercentsOf(n.After))
		}
		r.Nodes = append(r.Nodes, node)
	}
	if f.Watched < f.ShortOf {
		r.Provisional = fmt.Sprintf("usage was watched for %s, and evicting takes %s (hot.minWindow). For a plan by that: --observe %[2]s",
			duration.HumanDuration(f.Watched), duration.HumanDuration(f.ShortOf))
	}
	r.Summary = r.sum()
	return r
}

func moveOf(m *strategies.Move, evidence []thresholds.Evidence) Move {
	move := Move{
		Namespace: m.Namespace, Pod: m.Name, Owner: m.Owner.Kind + "/" + m.Owner.Name, From: m.From, To: m.To,
		Reason: string(m.Reason), Message: m.Sentence(evidence), Usage: explain.AmountsOf(m.Usage), Cost: m.Disruption.InPlainPods(),
		FromBefore: explain.PercentsOf(m.FromBefore), FromAfter: explain.PercentsOf(m.FromAfter),
		ToBefore: explain.PercentsOf(m.ToBefore), ToAfter: explain.PercentsOf(m.ToAfter),
		HotMinutesSaved: math.Round(m.HotMinutesSaved),
	}
	if m.Ahead != nil {
		move.Ahead = explain.RecurringOf(m.Ahead)
	}
	return move
}

func (f *Facts) declined(d *strategies.Declined) Declined {
	is := Declined{
		Namespace: d.Namespace, Pod: d.Name, Node: d.Node, Reason: string(d.Reason), Detail: d.Detail, Passing: slices.Contains(passing, d.Reason),
	}
	if d.Owner.UID != "" {
		is.Owner = d.Owner.Kind + "/" + d.Owner.Name
	}
	if until := f.Until[d.UID]; until.After(f.At) {
		is.Until = new(until.UTC())
	}
	return is
}

package safeguards

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Queue holds the moves needed for relief, in the order in which they are made, and the
// settings that determine their pace in addition to the Config.
type Queue struct {
	Moves []Queued
	// Interval is the minimum time between two evictions, and Deadline the maximum
	// duration of a cycle; 0 means unlimited.
	Interval, Deadline time.Duration
	// PerCycle bounds the moves of one cycle, and PerNode those that leave one node in a
	// cycle; 0 means unlimited.
	PerCycle, PerNode int
	// Next returns when the next cycle begins after one that has ended.
	Next func(ended time.Time) time.Time
	// Open returns whether the calendar allows evicting at a time, why it does or does
	// not, and when that changes. It is nil if evicting is always allowed.
	Open func(at time.Time) (open bool, why string, changes time.Time)
}

// Queued is a move that has not been made yet. At most AtOnce moves of a Group may be in
// progress at once, each for the duration Takes. Reason explains why the other moves
// wait. Moves without a Group are not bounded in this way.
type Queued struct {
	ledger.Intent

	Group  string
	AtOnce int
	Takes  time.Duration
	Reason reasons.Reason
}

// Pace describes when the moves off one node can be made at the earliest.
type Pace struct {
	// Moves is the number of the node's moves, and Now the number of moves that the first
	// cycle makes.
	Moves, Now int
	// Last is when the last move is made. If Later is true, the simulation ended at Last,
	// and the last move is made after that.
	Last  time.Time
	Later bool
	// Bound is the limit that delays the moves longest. Its Reason is empty if no limit
	// delays them.
	Bound Bound
}

// Bound is a limit on moves, and how long it delays moves.
type Bound struct {
	Reason reasons.Reason
	// Limit is the number of moves that the bound allows at once or within an hour, and
	// Left the number that it still allows now. Both are 0 for a bound that does not
	// count moves.
	Limit, Left int
	Holds       time.Duration
}

// paceHorizon limits how far ahead the queue is simulated, and mostLooked how many moves
// are examined, so that a simulation takes less than a second.
const (
	paceHorizon = 24 * time.Hour
	mostLooked  = 500_000
)

// Pace simulates the queue in virtual time and returns the Pace of each node. Like a
// cycle, it asks a Verdict before each move, based on the moves made until then and the
// virtual time. It assumes that all moves help and that nothing else is moved.
func (r *Rules) Pace(facts Facts, queue *Queue, now time.Time) map[string]*Pace {
	p := &pacing{
		rules: r, queue: queue, facts: settled(&facts, now), now: now,
		under: map[string][]time.Time{}, paces: map[string]*Pace{}, holds: map[string]map[reasons.Reason]*Bound{},
	}
	p.today = r.At(p.facts, now)
	for i := range queue.Moves {
		entry(p.paces, queue.Moves[i].From).Moves++
		p.left = append(p.left, &queue.Moves[i])
	}
	at := now
	for len(p.left) > 0 && at.Sub(now) < paceHorizon && p.looked < mostLooked {
		at = p.after(p.cycle(at))
	}
	for _, q := range p.left {
		p.paces[q.From].Last, p.paces[q.From].Later = at, true
	}
	for node, pace := range p.paces {
		for _, b := range p.holds[node] {
			if b.Holds > pace.Bound.Holds || b.Holds == pace.Bound.Holds && b.Reason < pace.Bound.Reason {
				pace.Bound = *b
			}
		}
	}
	return p.paces
}

// settled returns the facts as they will be when moves in progress have landed and
// current trouble is over.
func settled(facts *Facts, now time.Time) Facts {
	f := Facts{Pods: facts.Pods, Nodes: facts.Nodes, Ended: slices.Clone(facts.Ended)}
	for i := range facts.InFlight {
		m := facts.InFlight[i]
		if m.Evicted.IsZero() {
			m.Evicted = now
		}
		m.State, m.Ended = ledger.Landed, now
		f.Ended = append(f.Ended, m)
	}
	return f
}

// pacing is a queue being simulated.
type pacing struct {
	rules *Rules
	queue *Queue
	facts Facts
	now   time.Time
	// today is the Verdict before any of the queue's moves. looked counts the moves
	// examined.
	today  *Verdict
	looked int
	left   []*Queued
	// under holds, by group, the times at which the moves in progress end.
	under map[string][]time.Time
	paces map[string]*Pace
	// holds contains, by node and reason, how long each bound has delayed the node's
	// moves.
	holds map[string]map[reasons.Reason]*Bound
	// blocked contains, by node, the cause for which the first of its remaining moves
	// waits.
	blocked map[string]blocked
}

// blocked is a cause for which a move waits. Until is zero if the cause ends with the
// cycle.
type blocked struct {
	bound Bound
	until time.Time
}

// cycle makes the moves that a cycle starting at a time can make, and returns
// when the cycle ends.
func (p *pacing) cycle(at time.Time) time.Time {
	began, first := at, at.Equal(p.now)
	p.facts.CycleStart = at
	fromNode, made := map[string]int{}, 0
	for {
		var coming time.Time // the earliest end of a move for which others wait
		at, coming = p.pass(at, fromNode, &made, first)
		if coming.IsZero() || p.queue.Deadline > 0 && coming.Sub(began) >= p.queue.Deadline {
			return at
		}
		p.wait(coming.Sub(at))
		at = coming
	}
}

// pass makes, one after another, the moves that can be made from the given time on. It
// returns when the pass is done, and the earliest end of a move for which other moves
// wait.
func (p *pacing) pass(at time.Time, fromNode map[string]int, made *int, first bool) (done, coming time.Time) {
	if p.queue.Open != nil {
		p.facts.Closed, p.facts.Opens = "", time.Time{}
		if open, why, changes := p.queue.Open(at); !open {
			p.facts.Closed, p.facts.Opens = why, changes
		}
	}
	v, ahead := p.rules.At(p.facts, at), map[party]int{}
	p.looked += len(p.facts.Ended) + len(p.left)
	p.blocked = map[string]blocked{}
	var left []*Queued
	for _, q := range p.left {
		is, waits := p.hinders(v, q, ahead, fromNode[q.From], *made, at)
		if is.bound.Reason != "" {
			if _, known := p.blocked[q.From]; !known {
				p.blocked[q.From] = is
			}
			if waits && (coming.IsZero() || is.until.Before(coming)) {
				coming = is.until
			}
			left = append(left, q)
			continue
		}
		for _, of := range partiesOf(&q.Intent) {
			if of != (party{scope: ofOwner}) { // has an owner
				ahead[of]++
			}
		}
		p.make(q, at)
		fromNode[q.From]++
		*made++
		if first {
			p.paces[q.From].Now++
		}
		at = at.Add(p.queue.Interval)
	}
	p.left = left
	return at, coming
}

// make records a move as made and landed.
func (p *pacing) make(q *Queued, at time.Time) {
	m := ledger.Move{Intent: q.Intent, State: ledger.Landed, Node: q.To, Recorded: p.facts.CycleStart, Evicted: at, Ended: at.Add(q.Takes)}
	p.facts.Ended = append(p.facts.Ended, m)
	p.paces[q.From].Last = at
	if q.Group != "" {
		p.under[q.Group] = append(p.under[q.Group], at.Add(q.Takes))
	}
}

// hinders returns the cause for which a move waits. waits reports whether the cause may
// end within the cycle.
func (p *pacing) hinders(v *Verdict, q *Queued, ahead map[party]int, fromNode, made int, at time.Time) (is blocked, waits bool) {
	switch {
	case p.queue.PerCycle > 0 && made >= p.queue.PerCycle:
		return blocked{bound: Bound{Reason: reasons.MoveLimit, Limit: p.queue.PerCycle}}, false
	case p.queue.PerNode > 0 && fromNode >= p.queue.PerNode:
		return blocked{bound: Bound{Reason: reasons.EvictionLimit, Limit: p.queue.PerNode}}, false
	}
	var before counts
	for s, of := range partiesOf(&q.Intent) {
		before[s] = v.used(of).intended + ahead[of]
	}
	if c := v.refusal(&q.Intent, before, true); c.reason != "" {
		return blocked{p.boundOf(q, c.reason), c.until}, false
	}
	if q.Group == "" {
		return blocked{}, false
	}
	under := slices.DeleteFunc(p.under[q.Group], func(end time.Time) bool { return !end.After(at) })
	if p.under[q.Group] = under; len(under) < max(q.AtOnce, 1) {
		return blocked{}, false
	}
	return blocked{Bound{Reason: q.Reason, Limit: max(q.AtOnce, 1)}, slices.MinFunc(under, time.Time.Compare)}, true
}

// boundOf describes the bound because of which a Verdict refuses a move.
func (p *pacing) boundOf(q *Queued, reason reasons.Reason) Bound {
	for _, of := range partiesOf(&q.Intent) {
		if b := p.today.budget(of); b.reason == reason {
			used := p.today.used(of)
			return Bound{Reason: reason, Limit: b.limit, Left: max(0, b.limit-used.evicted-used.intended)}
		}
	}
	return Bound{Reason: reason}
}

// wait records that the blocked nodes are delayed for a duration.
func (p *pacing) wait(d time.Duration) {
	for node, is := range p.blocked {
		all := p.holds[node]
		if all == nil {
			all = map[reasons.Reason]*Bound{}
			p.holds[node] = all
		}
		if all[is.bound.Reason] == nil {
			all[is.bound.Reason] = &Bound{Reason: is.bound.Reason, Limit: is.bound.Limit, Left: is.bound.Left}
		}
		all[is.bound.Reason].Holds += d
	}
}

// after returns when the next cycle begins in which a move may be possible.
func (p *pacing) after(ended time.Time) time.Time {
	next := p.queue.Next(ended)
	for earliest := p.earliest(); next.Before(earliest) && next.Sub(p.now) < paceHorizon; {
		next = p.queue.Next(next)
	}
	p.wait(next.Sub(ended))
	return next
}

// earliest returns when the first of the causes for which moves wait ends; zero if one of
// them ends at an unknown time.
func (p *pacing) earliest() (earliest time.Time) {
	for _, is := range p.blocked {
		if is.until.IsZero() {
			return time.Time{}
		}
		if earliest.IsZero() || is.until.Before(earliest) {
			earliest = is.until
		}
	}
	return earliest
}

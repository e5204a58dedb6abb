package cycle

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Cause is why a cycle starts. It is a label of a metric.
type Cause string

const (
	// Scheduled is a start by time: the interval has passed, or a cron schedule says so.
	Scheduled Cause = "Scheduled"
	// NodeHot means that a node turned hot.
	NodeHot Cause = "NodeHot"
	// NodeJoined means that a node joined that can take pods.
	NodeJoined Cause = "NodeJoined"
	// RoomFree means that a node can take pods again, or pods of a hot node fit on a cool one.
	RoomFree Cause = "RoomFree"
	// PolicyChanged means that another policy took effect.
	PolicyChanged Cause = "PolicyChanged"
)

// Causes returns every cause, those first that name the start of a cycle if there are
// several.
func Causes() []Cause { return []Cause{Scheduled, PolicyChanged, NodeHot, NodeJoined, RoomFree} }

// Event is what starts a cycle; Node is empty unless it is about one.
type Event struct {
	Cause Cause
	Node  string
}

// calm is for how long something must not have been so for its return to be an event.
// What comes and goes faster is left to the schedule: a node that turns hot again and
// again must not cause more evictions than without events.
const calm = 10 * time.Minute

// Events notices what the next cycle should not wait for. It is safe for concurrent
// use. A nil Events notices nothing.
type Events struct {
	local func() time.Time
	// woken receives when there is an event.
	woken chan struct{}

	mu      sync.Mutex
	changes changes
	// settle is the minimum time between the starts of two cycles. byUsage reports whether
	// the policy moves pods based on their usage.
	settle  time.Duration
	byUsage bool
}

// NewEvents returns Events by a clock that is never set.
func NewEvents(local func() time.Time) *Events {
	return &Events{local: local, woken: make(chan struct{}, 1)}
}

// Follow takes over what a policy says of events, and counts it as one.
func (e *Events) Follow(settle time.Duration, byUsage bool) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settle, e.byUsage = settle, byUsage
	e.changes.pending = append(e.changes.pending[:0], fact{Event: Event{Cause: PolicyChanged}}) // whose cycle sees the rest, too
	e.wake()
}

// Observed looks for events in an observation.
func (e *Events) Observed(o *observer.Observation) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byUsage {
		e.look(usageFacts(o))
		return
	}
	e.look(nodeFacts(o.View.Snapshot))
}

// Looked looks for events in a cluster whose usage is not observed.
func (e *Events) Looked(snapshot *cluster.Snapshot) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.look(nodeFacts(snapshot))
}

func (e *Events) look(is facts) {
	e.changes.look(is, e.local())
	e.wake()
}

func (e *Events) wake() {
	if len(e.changes.pending) == 0 {
		return
	}
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// first returns the most important event since the last cycle began, and the least time
// between the starts of two cycles.
func (e *Events) first() (Event, time.Duration) {
	if e == nil {
		return Event{}, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changes.first(), e.settle
}

// begun forgets the events before a cycle: it sees what they were about.
func (e *Events) begun(why Cause) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changes.begun(why)
}

// Planned has nodes that have just turned hot judged again before the schedule says so,
// if moving their pods is not worth it yet: what is foreseen of a load grows with the
// time that it lasts.
func (e *Events) Planned(plan *strategies.Plan) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range plan.Nodes {
		if hot := (Event{NodeHot, plan.Nodes[i].Name}); plan.Nodes[i].Reason == reasons.NotWorthwhile && e.changes.judged[hot] {
			e.changes.again = append(e.changes.again, fact{Event: hot})
		}
	}
}

// wait waits for an event, at most for some time, and returns false if the context ended.
func (e *Events) wait(ctx context.Context, atMost time.Duration) bool {
	var woken chan struct{}
	if e != nil {
		woken = e.woken
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-woken:
	case <-timer.C:
	}
	return true
}

// fact is something that is so at one time. When it turns so, that is an event.
type fact struct {
	Event
	// requests are, for RoomFree without a node, those of pods on a hot node that fit on
	// a cool one.
	requests cluster.Amounts
}

// facts are what is known at one time.
type facts struct {
	so []fact
	// unknown reports whether nothing is known of a node, which changes nothing; of the
	// cluster for the empty name.
	unknown func(node string) bool
}

// changes finds the facts that turn so.
type changes struct {
	// seen is when each fact was so the last time; nil before the first look, which
	// finds nothing new. looked is when the last look was.
	seen   map[fact]time.Time
	looked time.Time
	// members are the nodes that have joined.
	members map[string]bool
	// pending are the facts that turned so since the last cycle, and still are.
	pending []fact
	// judged are the nodes that have turned hot since the last cycle but one that the
	// schedule started, again those of them that the next look makes pending once more.
	judged map[Event]bool
	again  []fact
}

// begun begins a cycle.
func (c *changes) begun(why Cause) {
	before := c.judged
	c.judged = map[Event]bool{}
	for _, f := range c.pending {
		if f.Cause == NodeHot && (why != Scheduled || !before[f.Event]) {
			c.judged[f.Event] = true
		}
	}
	c.pending, c.again = nil, nil
}

// look compares the facts with those before.
func (c *changes) look(of facts, now time.Time) {
	first := c.seen == nil
	if first {
		c.seen, c.members = map[fact]time.Time{}, map[string]bool{}
	}
	is := make(map[fact]bool, len(of.so))
	for f := range c.seen {
		if of.unknown(f.Node) {
			is[f], c.seen[f] = true, now
		}
	}
	for _, f := range of.so {
		is[f] = true
		last, known := c.seen[f]
		c.seen[f] = now
		if f.Cause == NodeJoined { // which a node does once
			if !c.members[f.Node] && !first {
				c.pending = append(c.pending, f)
			}
			c.members[f.Node] = true
		} else if !first && (!known || last.Before(c.looked) && now.Sub(last) > calm) {
			c.pending = append(c.pending, f)
		}
	}
	c.looked = now
	for f, last := range c.seen {
		if now.Sub(last) > calm {
			delete(c.seen, f)
		}
	}
	c.pending, c.again = append(c.pending, c.again...), nil
	c.pending = slices.DeleteFunc(c.pending, func(f fact) bool { return f.Cause != PolicyChanged && !is[f] })
}

// first returns the most important pending event; zero if there is none.
func (c *changes) first() Event {
	if len(c.pending) == 0 {
		return Event{}
	}
	order := func(f fact) int { return slices.Index(Causes(), f.Cause) }
	return slices.MinFunc(c.pending, func(a, b fact) int { return cmp.Or(order(a)-order(b), cmp.Compare(a.Node, b.Node)) }).Event
}

// nodeFacts are the facts about the nodes of a cluster.
func nodeFacts(snapshot *cluster.Snapshot) facts {
	is := facts{unknown: func(string) bool { return false }}
	for _, info := range snapshot.Nodes {
		if info.Node.Closed() == "" {
			is.so = append(is.so, openNode(info.Node.Name)...)
		}
	}
	return is
}

// openNode are the facts about a node that can take pods.
func openNode(name string) []fact {
	return []fact{{Event: Event{NodeJoined, name}}, {Event: Event{RoomFree, name}}}
}

// usageFacts are the facts about an observation. A node takes no pods before its usage
// is known.
func usageFacts(o *observer.Observation) facts {
	if o.Blocked != "" {
		return facts{unknown: func(string) bool { return true }}
	}
	unread := map[string]bool{}
	is := facts{unknown: func(node string) bool { return unread[node] }}
	wanted := map[cluster.Amounts]bool{}
	var free []cluster.Amounts
	for _, info := range o.View.Snapshot.Nodes {
		name := info.Node.Name
		state, open := o.States[name].State, info.Node.Closed() == ""
		switch {
		case open && state == thresholds.Unknown:
			unread[name] = true
		case open:
			is.so = append(is.so, openNode(name)...)
		}
		switch {
		case state == thresholds.Hot:
			is.so = append(is.so, fact{Event: Event{NodeHot, name}})
			for _, pod := range info.Pods {
				if pod.Owner.UID != "" && pod.Owner.Kind != "DaemonSet" && !pod.Terminating {
					wanted[pod.Requests] = true
				}
			}
		case state == thresholds.Cool && open:
			left := info.Node.Allocatable
			for _, pod := range info.Pods {
				left = left.Minus(pod.Requests)
			}
			free = append(free, left)
		}
	}
	for requests := range wanted {
		if slices.ContainsFunc(free, func(left cluster.Amounts) bool { return left.Minus(requests).AtLeastZero() == left.Minus(requests) }) {
			is.so = append(is.so, fact{Event: Event{Cause: RoomFree}, requests: requests})
		}
	}
	return is
}

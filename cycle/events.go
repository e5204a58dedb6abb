package cycle

import (
	"cmp"
	"context"
	"maps"
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
	// Scheduled means that the interval has passed or that a cron schedule is due.
	Scheduled Cause = "Scheduled"
	// NodeHot means that a node turned hot.
	NodeHot Cause = "NodeHot"
	// NodeJoined means that a node that can take pods has joined.
	NodeJoined Cause = "NodeJoined"
	// RoomFree means that a node can take pods again, or pods of a hot node fit on a cool one.
	RoomFree Cause = "RoomFree"
	// PolicyChanged means that a new policy took effect.
	PolicyChanged Cause = "PolicyChanged"
	// Resumed means that the kill switch was removed.
	Resumed Cause = "Resumed"
)

// Causes returns every cause, in the order of precedence if several of them could start a
// cycle.
func Causes() []Cause {
	return []Cause{Scheduled, PolicyChanged, Resumed, NodeHot, NodeJoined, RoomFree}
}

// Event is something that starts a cycle. Node is empty unless it concerns a single node.
type Event struct {
	Cause Cause
	Node  string
}

// calm is how long a fact must have been false before it counts as an event when it
// becomes true again. Faster changes are left to the schedule, because a node that
// repeatedly turns hot must not cause more evictions than it would without events.
const calm = 10 * time.Minute

// memberFor is how long a node that has disappeared is remembered, so that its return
// does not count as joining.
const memberFor = 24 * time.Hour

// Events detects changes for which a cycle should start early. It is safe for concurrent
// use. A nil Events detects nothing.
type Events struct {
	local func() time.Time
	// woken receives a value when there is an event.
	woken chan struct{}

	mu      sync.Mutex
	changes changes
	// settle is the minimum time between the starts of two cycles. byUsage reports whether
	// the policy moves pods based on their usage.
	settle  time.Duration
	byUsage bool
	paused  bool // whether the kill switch is set
}

// NewEvents returns Events with a clock that is never adjusted.
func NewEvents(local func() time.Time) *Events {
	return &Events{local: local, woken: make(chan struct{}, 1)}
}

// Follow applies the settings of a new policy. The change of policy is an event.
func (e *Events) Follow(settle time.Duration, byUsage bool) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settle, e.byUsage = settle, byUsage
	e.changes.pending = append(e.changes.pending[:0], fact{Event: Event{Cause: PolicyChanged}}) // its cycle also covers the other pending events
	e.wake()
}

// Paused notes whether the kill switch is set. Its removal is an event, because the
// cycles that earlier events have started could not evict.
func (e *Events) Paused(paused bool) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.paused && !paused {
		e.changes.pending = append(e.changes.pending, fact{Event: Event{Cause: Resumed}})
		e.wake()
	}
	e.paused = paused
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

// first returns the most important event since the last cycle began, and the minimum time
// between the starts of two cycles.
func (e *Events) first() (Event, time.Duration) {
	if e == nil {
		return Event{}, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changes.first(), e.settle
}

// begun discards pending events when a cycle begins, because the cycle takes their causes
// into account.
func (e *Events) begun(why Cause) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changes.begun(why)
}

// Planned schedules another cycle ahead of time for nodes that have just turned hot but
// whose moves are not worthwhile yet. The longer a load lasts, the longer it is expected
// to last, so the moves may soon be worthwhile.
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

// wait waits for an event, but at most for the given duration. It returns false if the
// context ended.
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

// fact is a fact about the cluster. An event occurs when it becomes true.
type fact struct {
	Event
	// requests holds, for RoomFree without a node, the requests of a pod on a hot node
	// that fits on a cool node.
	requests cluster.Amounts
}

// facts holds the facts that are true at one time.
type facts struct {
	so []fact
	// unknown reports whether nothing is known about a node, or about the cluster if the
	// name is empty. Facts about it then keep their last known state.
	unknown func(node string) bool
}

// changes finds the facts that become true.
type changes struct {
	// seen holds when each fact was last true; nil before the first look, which detects
	// no events. looked is the time of the last look.
	seen   map[fact]time.Time
	looked time.Time
	// members holds the nodes that have joined, with the time when each was last seen.
	members map[string]time.Time
	// pending holds the facts that have become true since the last cycle began and still
	// are.
	pending []fact
	// judged holds the nodes that have turned hot since the second-to-last scheduled cycle.
	// again holds those of them that the next look makes pending again.
	judged map[Event]bool
	again  []fact
}

// begun discards pending facts when a cycle begins.
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

// look compares the current facts with the earlier ones.
func (c *changes) look(of facts, now time.Time) {
	first := c.seen == nil
	if first {
		c.seen, c.members = map[fact]time.Time{}, map[string]time.Time{}
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
		if f.Cause == NodeJoined { // a node joins only once
			if _, member := c.members[f.Node]; !member && !first {
				c.pending = append(c.pending, f)
			}
			c.members[f.Node] = now
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
	maps.DeleteFunc(c.members, func(_ string, last time.Time) bool { return now.Sub(last) > memberFor })
	c.pending, c.again = append(c.pending, c.again...), nil
	c.pending = slices.DeleteFunc(c.pending, func(f fact) bool { return f.Cause != PolicyChanged && f.Cause != Resumed && !is[f] })
}

// first returns the most important pending event; zero if there is none.
func (c *changes) first() Event {
	if len(c.pending) == 0 {
		return Event{}
	}
	order := func(f fact) int { return slices.Index(Causes(), f.Cause) }
	return slices.MinFunc(c.pending, func(a, b fact) int { return cmp.Or(order(a)-order(b), cmp.Compare(a.Node, b.Node)) }).Event
}

// nodeFacts returns the facts about the nodes of a cluster.
func nodeFacts(snapshot *cluster.Snapshot) facts {
	is := facts{unknown: func(string) bool { return false }}
	for _, info := range snapshot.Nodes {
		if info.Node.Closed() == "" {
			is.so = append(is.so, openNode(info.Node.Name)...)
		}
	}
	return is
}

// openNode returns the facts about a node that can take pods.
func openNode(name string) []fact {
	return []fact{{Event: Event{NodeJoined, name}}, {Event: Event{RoomFree, name}}}
}

// usageFacts returns the facts about an observation. A node does not count as able to
// take pods before its usage is known.
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

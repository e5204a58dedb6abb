package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/strategies"
)

// These constants limit the work of planning moves ahead of time: the number of nodes
// considered in a plan, of pods considered per node, of destinations considered per pod,
// of destinations tried, and of pods that leave a node in a plan.
const (
	mostAhead        = 32
	aheadPods        = 16
	aheadWidth       = 64
	aheadTries       = 8
	mostMovesPerNode = 4
)

const (
	// leastAhead is the minimum number of minutes per period for which a node must be
	// expected to be hot.
	leastAhead = 3
	// mostPassedOn is the share of the savings at the source that may reappear at the
	// destination, both in hot minutes and in usage above the line.
	mostPassedOn = 0.3
	// believedPeriods is the maximum number of periods for which a pattern is expected to
	// last. A period shorter than Horizon counts as the corresponding fraction of a
	// Horizon.
	believedPeriods = 7
	// leastSaved is the minimum number of hot minutes per period that a move must save.
	leastSaved = 0.5
)

// WillBeHot reports whether a known node that is not hot is expected to become hot
// because of recurring usage. Without an evict line for CPU, it returns false.
func (n *Node) WillBeHot(clock forecast.Clock) bool {
	known := n.State == thresholds.Cool || n.State == thresholds.Warm
	return known && n.HotLine < math.MaxInt64 && n.Certain != nil && n.hotAhead(n.Certain, clock) >= leastAhead
}

// hotAhead returns the number of minutes per period for which the node is expected to be
// hot.
func (n *Node) hotAhead(course *forecast.Course, clock forecast.Clock) float64 {
	return course.HotMinutes(n.HotLine, n.Allocatable[cluster.CPU], clock)
}

// relieved is a node that will be hot, considered without the pods that were already
// moved.
type relieved struct {
	*planner

	at      cluster.NodeIndex
	node    *Node
	minutes float64 // hot minutes if nothing is moved
	course  forecast.Course
	moved   map[*strategies.Pod]bool
}

// Expect returns the forecast for a node that will be hot.
func (n *Node) Expect(clock forecast.Clock, now time.Time) *strategies.Ahead {
	peak, milliCores := n.Certain.Peak()
	return &strategies.Ahead{
		Within: max(clock.Period, forecast.Horizon), HotMinutes: n.hotAhead(n.Certain, clock), PeakAt: clock.Next(peak, now),
		PeakPercent: cluster.Amounts{cluster.CPU: milliCores}.PercentOf(n.Allocatable)[cluster.CPU],
	}
}

// relieve moves up to most pods off the node, the most worthwhile first, as long as each
// saves enough.
func (r *relieved) relieve(most int) (landed []landing) {
	why := r.node.Expect(r.in.Recurs, r.in.At)
	for range most {
		l, ok, pods := landing{}, false, r.worthwhile()
		if r.node.Zone != "" {
			l, ok = r.mostSaved(pods, true)
		}
		if !ok {
			l, ok = r.mostSaved(pods, false)
		}
		if !ok {
			break
		}
		l.from, l.ahead = r.at, why
		r.course.Remove(l.pod.Expected, l.pod.Pattern)
		r.moved[l.pod] = true
		r.planned.Add(l.pod.Pod)
		landed = append(landed, l)
	}
	return landed
}

// offered is a possible move ahead of time, with the hot minutes per period that it
// saves.
type offered struct {
	pod   *strategies.Pod
	to    *destination
	saves float64
	cools float64 // how much less the source will be above its line, in milli-cores
	owned int     // number of pods of the same owner on the destination
}

// mostSaved makes the move that saves the most hot time for its cost, if any of the moves
// of these pods saves enough.
func (r *relieved) mostSaved(pods []offered, ownZone bool) (landing, bool) {
	var offers []offered
	for _, o := range pods {
		offers = r.offers(offers, &o, ownZone)
	}
	slices.SortStableFunc(offers, compareOffers)
	for _, o := range offers[:min(len(offers), aheadTries)] {
		if l, ok := r.destinations.try(o.pod, o.to); ok {
			l.saves = o.saves
			return l, true
		}
	}
	return landing{}, false
}

// worthwhile returns, among the pods that save enough at their source, those that save
// most for their cost.
func (r *relieved) worthwhile() []offered {
	var pods []offered
	before, above := r.node.hotAhead(&r.course, r.in.Recurs), r.course.Above(r.node.HotLine)
	for i := range r.node.Pods {
		pod := &r.node.Pods[i]
		if exceeded, _ := r.exceeds(pod); exceeded != "" || pod.Refused != "" || r.moved[pod] || !r.quiet(pod) {
			continue
		}
		without := r.course
		without.Remove(pod.Expected, pod.Pattern)
		if saves := before - r.node.hotAhead(&without, r.in.Recurs); r.enough(pod, saves) {
			pods = append(pods, offered{pod: pod, saves: saves, cools: above - without.Above(r.node.HotLine)})
		}
	}
	slices.SortStableFunc(pods, compareOffers)
	return pods[:min(len(pods), aheadPods)]
}

// compareOffers orders pods by priority, lowest first, as for a hot node, and then by
// what they save for their cost, highest first.
func compareOffers(a, b offered) int {
	return cmp.Or(cmp.Compare(a.pod.Priority, b.pod.Priority), cmp.Compare(b.perCost(), a.perCost()), compareDisruption(a.pod, b.pod),
		cmp.Compare(a.owned, b.owned), compareKey(a.pod, b.pod))
}

// offers appends the destinations that would stay hot only a little longer, and become
// only a little hotter, with the pod, so that most of the savings at the source remain.
func (r *relieved) offers(offers []offered, at *offered, ownZone bool) []offered {
	pod := at.pod
	looked, siblings := 0, r.destinations.siblings(pod)
	for to := range r.destinations.withRoom(pod, coolestFirst, ownZone) {
		if looked++; looked > aheadWidth {
			break
		}
		if to.name == pod.Node {
			continue
		}
		node, course := &r.in.Nodes[to.at], to.expected()
		if to.hotAhead < 0 {
			to.hotAhead = node.hotAhead(course, r.in.Recurs)
		}
		with := *course
		with.Add(pod.Expected, pod.Pattern)
		if to.hotAhead >= leastAhead && with.Above(node.HotLine)-course.Above(node.HotLine) > mostPassedOn*at.cools {
			continue
		}
		passedOn := node.hotAhead(&with, r.in.Recurs) - to.hotAhead
		if saves := at.saves - passedOn; passedOn <= mostPassedOn*at.saves && r.enough(pod, saves) {
			offers = append(offers, offered{pod: pod, to: to, saves: saves, owned: siblings.on(to.at)})
		}
	}
	return offers
}

// enough reports whether saving the given hot minutes per period justifies moving a pod.
// Savings count for every period for which the pod's pattern is expected to last; it is
// expected to last for as long as it has been observed.
func (r *relieved) enough(pod *strategies.Pod, saves float64) bool {
	within := max(r.in.Recurs.Period, forecast.Horizon).Hours()
	lasts := min(float64(pod.Pattern.Periods)*r.in.Recurs.Period.Hours()/within, believedPeriods)
	return saves >= leastSaved && saves*lasts >= r.in.MinHotMinutesSaved*pod.Disruption.InPlainPods()
}

// perCost returns what a move saves, in whole minutes, divided by its cost in plain pods.
func (o *offered) perCost() float64 { return math.Round(o.saves / o.pod.Disruption.InPlainPods()) }

// quiet reports whether a pod with recurring usage uses no more than its mean, both as
// measured and, now and in the next part of the period, according to its pattern.
func (r *relieved) quiet(pod *strategies.Pod) bool {
	if !pod.Pattern.Recurs() {
		return false
	}
	mean, part := pod.Pattern.Mean(), r.in.Recurs.Part(r.in.At.Unix())
	return float64(pod.Usage[cluster.CPU]) <= mean && pod.Pattern.At(part) <= mean && pod.Pattern.At(part+1) <= mean
}

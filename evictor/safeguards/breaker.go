package safeguards

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// recentCalls is the number of latest calls over which the share of refusals
	// is computed.
	recentCalls = 20
	// At least minCalls must lie within callsWithin of the latest call for their
	// share to be meaningful.
	minCalls    = 5
	callsWithin = 10 * time.Minute
)

// close collects the reasons why nothing may be evicted. The hourly budget is not among
// them, because it depends on what is evicted.
func (v *Verdict) close(facts *Facts) {
	b, calls := &v.config.Breaker, v.calls(facts.Calls)
	for _, c := range []closure{
		outsideWindow(facts), b.notReady(facts), b.failed(calls, v.now, (*trouble).everybodys), v.nobodyAsked(), b.refused(calls, v.now, (*trouble).everybodys),
		v.stopsAll(reasons.ReplacementsUnready, unready, b.MaxUnready), v.stopsAll(reasons.ReplacementsPending, pending, b.MaxPending),
	} {
		if c.reason != "" {
			v.closures = append(v.closures, c)
		}
	}
	v.closures = append(v.closures, b.unrest(facts.Unrest, v.now)...)
	ofNamespace := map[string][]Call{}
	for _, call := range calls {
		ofNamespace[call.Namespace] = append(ofNamespace[call.Namespace], call)
	}
	for name, its := range ofNamespace {
		for _, c := range []closure{b.failed(its, v.now, (*trouble).exceeds), b.refused(its, v.now, (*trouble).exceeds)} {
			if c.reason != "" && v.failing[name].reason == "" {
				v.failing[name] = c
			}
		}
	}
}

func outsideWindow(facts *Facts) closure {
	if facts.Closed == "" {
		return closure{}
	}
	return closure{reasons.OutsideWindow, facts.Closed, facts.Opens}
}

func (b *Breaker) notReady(facts *Facts) closure {
	if facts.Nodes <= 0 {
		return closure{}
	}
	percent := 100 * float64(facts.NotReady) / float64(facts.Nodes)
	if !(percent > b.MaxNotReadyPercent) {
		return closure{}
	}
	return closure{reason: reasons.NodesNotReady, detail: fmt.Sprintf("%d of %d nodes are not ready, at most %g%%",
		facts.NotReady, facts.Nodes, b.MaxNotReadyPercent)}
}

// calls returns the calls with a plausible time, oldest first.
func (v *Verdict) calls(calls []Call) []Call {
	all := make([]Call, 0, len(calls))
	for _, call := range calls {
		if known(call.At, v.now) {
			all = append(all, call)
		}
	}
	slices.SortStableFunc(all, func(a, b Call) int { return a.At.Compare(b.At) })
	return all
}

// failed stops evicting after too many consecutive failures.
func (b *Breaker) failed(calls []Call, now time.Time, tooMany func(*trouble, int) bool) closure {
	var failures trouble
	for i := len(calls) - 1; i >= 0 && calls[i].Err; i-- {
		failures.add(calls[i].Whose, calls[i].Pod)
	}
	if b.MaxErrors == 0 || !tooMany(&failures, b.MaxErrors-1) || !within(calls[len(calls)-1].At, now, b.Rest) {
		return closure{}
	}
	return closure{reasons.APIErrors, fmt.Sprintf("%d eviction calls failed in a row, %s", failures.count, failures.whose()), calls[len(calls)-1].At.Add(b.Rest)}
}

// nobodyAsked stops evicting if webhooks could not be called in MaxErrors namespaces
// since the latest eviction. Either these webhooks guard all namespaces, or the API
// server reaches none of them. Failures in the same namespace count once, so that one
// namespace cannot hold up the others.
func (v *Verdict) nobodyAsked() closure {
	b, last, namespaces := &v.config.Breaker, time.Time{}, 0
	for _, failed := range v.unasked {
		if failed.at.After(v.evicted) {
			namespaces++
			last = slices.MaxFunc([]time.Time{last, failed.at}, time.Time.Compare)
		}
	}
	if b.MaxErrors == 0 || namespaces < b.MaxErrors || !within(last, v.now, b.Rest) {
		return closure{}
	}
	return closure{reasons.APIErrors, fmt.Sprintf("evictions failed in %d namespaces in a row, because a webhook could not be called",
		namespaces), last.Add(b.Rest)}
}

// refused stops evicting after too many refusals. It considers a number of latest calls
// rather than those of a recent period, because no calls are made while evicting is
// stopped.
func (b *Breaker) refused(calls []Call, now time.Time, tooMany func(*trouble, int) bool) closure {
	calls = calls[max(0, len(calls)-recentCalls):]
	var refused trouble
	recent, last := 0, time.Time{}
	for _, call := range calls {
		if calls[len(calls)-1].At.Sub(call.At) <= callsWithin {
			recent++
		}
		if call.Refused {
			refused.add(call.Whose, call.Pod)
			last = call.At
		}
	}
	if recent < minCalls || !within(last, now, b.Rest) || !tooMany(&refused, percent(b.MaxRefusedPercent, len(calls))) {
		return closure{}
	}
	return closure{reasons.EvictionsRefused, fmt.Sprintf("%d of the last %d evictions were refused, at most %g%%: %s",
		refused.count, len(calls), b.MaxRefusedPercent, refused.whose()), last.Add(b.Rest)}
}

// unrest returns the reasons to stand back because of changes that others make.
func (b *Breaker) unrest(u *Unrest, now time.Time) (all []closure) {
	if u == nil {
		return nil
	}
	if began := u.memory.Draining.Began; closes(u.memory.Draining, now, b.StandBack) {
		all = append(all, closure{reasons.NodesDraining, fmt.Sprintf("%d of %d nodes were cordoned, drained or deleted within %s, more than %g%%",
			u.draining, u.stir.Nodes, b.StandBack, b.MaxDrainingPercent), began.Add(b.StandBack)})
	}
	if began := u.memory.Waiting.Began; closes(u.memory.Waiting, now, b.StandBack) {
		all = append(all, closure{reasons.PodsUnschedulable, fmt.Sprintf("%d pods of %d that were created within %s wait for a node, more than %g%%: %s, such as %q",
			u.rush.count, u.stir.Pods, b.StandBack, b.MaxUnschedulablePercent, u.rush.whose(), u.rush.example), began.Add(b.StandBack)})
	}
	return all
}

// minShare is a lower bound on the limits of trouble that stops everyone, as a percentage
// of an hour's evictions.
const minShare = 5

// stopsAll returns why the trouble of replacements stops everyone.
func (v *Verdict) stopsAll(reason reasons.Reason, kind troubleKind, limit int) closure {
	t := &v.together[kind]
	if limit = max(limit, percent(minShare, v.busyHour())); !t.everybodys(limit) {
		return closure{}
	}
	return closure{reason: reason, detail: fmt.Sprintf("%d replacements, such as that of %q, at most %d: %s", t.count, t.example, limit, t.whose())}
}

// busyHour counts the evictions in the hour that ends with the latest one.
func (v *Verdict) busyHour() (n int) {
	for _, at := range v.all {
		if within(at, v.evicted, time.Hour) {
			n++
		}
	}
	return n
}

// percent returns a percentage of a number, rounded down. A percentage that is NaN means
// no bound.
func percent(share float64, of int) int {
	if n := share / 100 * float64(of); n < math.MaxInt32 {
		return int(n)
	}
	return math.MaxInt32
}

// namespace returns why no pod of a namespace may be evicted.
func (v *Verdict) namespace(name string) closure {
	b, all := &v.config.Breaker, []closure{v.failing[name]}
	if t := v.namespaces[name]; t != nil {
		if n := &t[unsteered]; n.exceeds(0) {
			all = append(all, closure{reason: v.unsteered[name], detail: fmt.Sprintf("%d replacements were not steered or did not land, such as that of %q", n.count, n.example)})
		}
		all = append(all, tooMany(reasons.ReplacementsUnready, &t[unready], b.MaxUnready), tooMany(reasons.ReplacementsPending, &t[pending], b.MaxPending))
	}
	for _, c := range all {
		if c.reason != "" {
			c.detail = "in its namespace: " + c.detail
			return c
		}
	}
	return closure{}
}

func tooMany(reason reasons.Reason, t *trouble, limit int) closure {
	if !t.exceeds(limit) {
		return closure{}
	}
	return closure{reason: reason, detail: fmt.Sprintf("%d replacements, such as that of %q, at most %d", t.count, t.example, limit)}
}

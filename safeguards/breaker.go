package safeguards

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// recentCalls is how many of the latest calls the share of refusals is
	// computed over.
	recentCalls = 20
	// At least minCalls must lie within callsWithin of the latest for their
	// share to be meaningful.
	minCalls    = 5
	callsWithin = 10 * time.Minute
)

// close collects why nothing may be evicted. The hour's budget is left out,
// because it depends on what is evicted.
func (v *Verdict) close(facts *Facts) {
	b, calls := &v.config.Breaker, v.calls(facts.Calls)
	for _, c := range []closure{
		outsideWindow(facts), b.notReady(facts), b.failed(calls, v.now), v.nobodyAsked(), b.refused(calls, v.now),
		tooMany(reasons.ReplacementsUnready, v.together(unready, b.MaxUnready), b.MaxUnready),
		tooMany(reasons.ReplacementsPending, v.together(pending, b.MaxPending), b.MaxPending),
	} {
		if c.reason != "" {
			v.closures = append(v.closures, c)
		}
	}
	v.closures = append(v.closures, b.unrest(facts.Unrest, v.now)...)
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

// failed closes after consecutive failures.
func (b *Breaker) failed(calls []Call, now time.Time) closure {
	failures := 0
	for i := len(calls) - 1; i >= 0 && calls[i].Err; i-- {
		failures++
	}
	if b.MaxErrors == 0 || failures < b.MaxErrors || !within(calls[len(calls)-1].At, now, b.Rest) {
		return closure{}
	}
	return closure{reasons.APIErrors, fmt.Sprintf("%d eviction calls failed in a row", failures), calls[len(calls)-1].At.Add(b.Rest)}
}

// nobodyAsked closes once webhooks could not be asked in as many namespaces as
// calls may fail in a row, with no eviction since: these webhooks guard all
// namespaces, or the API server reaches none. The failures of one namespace
// count once, so they hold up nobody else.
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

// refused closes after many refusals. Calls are counted back from the latest,
// not from now, because none are made while evicting rests.
func (b *Breaker) refused(calls []Call, now time.Time) closure {
	calls = calls[max(0, len(calls)-recentCalls):]
	recent, refused, last := 0, 0, time.Time{}
	for _, call := range calls {
		if calls[len(calls)-1].At.Sub(call.At) <= callsWithin {
			recent++
		}
		if call.Refused {
			refused++
			last = call.At
		}
	}
	if recent < minCalls || !within(last, now, b.Rest) {
		return closure{}
	}
	if percent := 100 * float64(refused) / float64(len(calls)); !(percent > b.MaxRefusedPercent) {
		return closure{}
	}
	return closure{reasons.EvictionsRefused, fmt.Sprintf("%d of the last %d evictions were refused, at most %g%%",
		refused, len(calls), b.MaxRefusedPercent), last.Add(b.Rest)}
}

// unrest is why to stand back from what others do.
func (b *Breaker) unrest(u *Unrest, now time.Time) (all []closure) {
	if u == nil {
		return nil
	}
	if u.draining.closes(now, b.StandBack) {
		all = append(all, closure{reasons.NodesDraining, fmt.Sprintf("%d of %d nodes are cordoned, drained or being deleted, more than %g%%",
			u.stir.Draining, u.stir.Nodes, b.MaxDrainingPercent), u.draining.began.Add(b.StandBack)})
	}
	if u.waiting.closes(now, b.StandBack) {
		all = append(all, closure{reasons.PodsUnschedulable, fmt.Sprintf("%d pods wait for a node, of %d; in the hour before it were fewer by more than %g%%",
			u.stir.Waiting, u.stir.Pods, b.MaxUnschedulablePercent), u.waiting.began.Add(b.StandBack)})
	}
	return all
}

// together sums up the trouble of all namespaces. One counts for no more than
// just over half of what may be, so that two may stop everybody, but not one.
func (v *Verdict) together(kind troubleKind, limit int) (all trouble) {
	for _, name := range slices.Sorted(maps.Keys(v.namespaces)) {
		t := &v.namespaces[name][kind]
		all.count += min(t.count, limit/2+1)
		all.example = cmp.Or(all.example, t.example)
	}
	return all
}

// namespace returns why no pod of a namespace may be evicted.
func (v *Verdict) namespace(name string) closure {
	t, b := v.namespaces[name], &v.config.Breaker
	if t == nil {
		return closure{}
	}
	for _, c := range []closure{tooMany(reasons.ReplacementsUnready, t[unready], b.MaxUnready), tooMany(reasons.ReplacementsPending, t[pending], b.MaxPending)} {
		if c.reason != "" {
			c.detail = "in its namespace: " + c.detail
			return c
		}
	}
	return closure{}
}

func tooMany(reason reasons.Reason, t trouble, limit int) closure {
	if t.count <= limit {
		return closure{}
	}
	return closure{reason: reason, detail: fmt.Sprintf("%d replacements, such as that of %q, at most %d", t.count, t.example, limit)}
}

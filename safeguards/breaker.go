package safeguards

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// judgedCalls is over how many of the latest calls the share of refused
	// ones is taken.
	judgedCalls = 20
	// fewestCalls have to lie within callsWithin of the latest for their
	// answers to mean something.
	fewestCalls = 5
	callsWithin = 10 * time.Minute
)

// close finds out why nothing may be evicted, but for the hour's budget, which
// depends on whom it concerns.
func (v *Verdict) close(facts *Facts) {
	b, calls := &v.config.Breaker, v.calls(facts.Calls)
	for _, c := range []closure{
		outsideWindow(facts), b.notReady(facts), b.failed(calls, v.now), b.refused(calls, v.now),
		tooMany(reasons.ReplacementsUnready, &v.unready, b.MaxUnready), tooMany(reasons.ReplacementsPending, &v.pending, b.MaxPending),
	} {
		if c.reason != "" {
			v.closures = append(v.closures, c)
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
	return closure{reason: reasons.NodesNotReady, detail: fmt.Sprintf("%d of %d nodes are not ready, at most %g %%",
		facts.NotReady, facts.Nodes, b.MaxNotReadyPercent)}
}

// calls returns the calls to reckon with, oldest first.
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

// failed closes after failures in a row.
func (b *Breaker) failed(calls []Call, now time.Time) closure {
	row := 0
	for i := len(calls) - 1; i >= 0 && calls[i].Err; i-- {
		row++
	}
	if b.MaxErrors == 0 || row < b.MaxErrors || !within(calls[len(calls)-1].At, now, b.Rest) {
		return closure{}
	}
	return closure{reasons.APIErrors, fmt.Sprintf("%d eviction calls failed in a row", row), calls[len(calls)-1].At.Add(b.Rest)}
}

// refused closes after many refusals. Whether there were calls enough is asked
// as of the latest, not of now: none are made while evicting rests.
func (b *Breaker) refused(calls []Call, now time.Time) closure {
	calls = calls[max(0, len(calls)-judgedCalls):]
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
	if recent < fewestCalls || !within(last, now, b.Rest) {
		return closure{}
	}
	if percent := 100 * float64(refused) / float64(len(calls)); !(percent > b.MaxRefusedPercent) {
		return closure{}
	}
	return closure{reasons.EvictionsRefused, fmt.Sprintf("%d of the last %d evictions were refused, at most %g %%",
		refused, len(calls), b.MaxRefusedPercent), last.Add(b.Rest)}
}

func tooMany(reason reasons.Reason, t *trouble, most int) closure {
	if t.count <= most {
		return closure{}
	}
	return closure{reason: reason, detail: fmt.Sprintf("%d replacements, such as that of %q, at most %d", t.count, t.example, most)}
}

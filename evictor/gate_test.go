package evictor

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/reasons"
)

// Of the checks of a phase the first one that refuses, or has the move wait, gives
// the answer. Those of other phases, and later ones, are not asked.
func TestTheFirstCheckOfThePhaseDecides(t *testing.T) {
	asked := []string(nil)
	says := func(name string, phases phase, a ruling) check {
		return check{name, phases, func(*question, context.Context) ruling {
			asked = append(asked, name)
			return a
		}}
	}
	list := []check{
		says("lets go", planPhase|recheckPhase|callPhase, ruling{}),
		says("refuses plans", planPhase, refusing(reasons.NoController)),
		says("refuses moves", recheckPhase, ruling{reason: reasons.LandingGone, detail: "it is full"}),
		says("has calls wait", callPhase, ruling{wait: true}),
		says("refuses everything", planPhase|recheckPhase|callPhase, refusing(reasons.Paused)),
	}
	for name, tc := range map[string]struct {
		at    phase
		want  ruling
		asked []string
	}{
		"planning":   {planPhase, refusing(reasons.NoController), []string{"lets go", "refuses plans"}},
		"rechecking": {recheckPhase, ruling{reason: reasons.LandingGone, detail: "it is full"}, []string{"lets go", "refuses moves"}},
		"calling":    {callPhase, ruling{wait: true}, []string{"lets go", "has calls wait"}},
		"surging":    {surgePhase, ruling{}, nil},
	} {
		asked = nil
		q := question{at: tc.at}
		if got := q.ask(t.Context(), list); got != tc.want || !slices.Equal(asked, tc.asked) {
			t.Errorf("%s: answered %+v by %q, want %+v by %q", name, got, asked, tc.want, tc.asked)
		}
	}
}

// What is asked in each phase, in this order.
func TestChecksOfEachPhase(t *testing.T) {
	for name, tc := range map[string]struct {
		at   phase
		want []string
	}{
		"planning": {planPhase, []string{
			"the pod is not leaving already", "nothing protects the pod", "its budget has room", "its owner is at rest", "its owner will replace it",
			"enough pods of its owner are available", "scaling for a surge is permitted", "quotas admit its replacement", "earlier moves have settled",
		}},
		"rechecking": {recheckPhase, []string{
			"the framework's limits are not reached", "replacements in the namespace are steered", "the pod still exists", "the move is not cancelled",
			"the usage of both nodes is known", "the source still has to be relieved", "a pod moved ahead of time is quiet", "the destination stays below its line",
			"the safeguards allow the eviction", "the pod is not leaving already", "nothing protects the pod", "its budget has room", "its owner is at rest",
			"its owner will replace it", "enough pods of its owner are available", "its owner was not scaled down", "quotas admit its replacement",
			"a surge can begin", "the API server may be asked again", "the destination accepts the pod",
		}},
		"surging": {surgePhase, []string{
			"the framework's limits are not reached", "replacements in the namespace are steered", "the pod still exists", "the move is not cancelled",
			"the usage of both nodes is known", "the source still has to be relieved", "a pod moved ahead of time is quiet", "the destination stays below its line",
			"the safeguards allow the eviction",
		}},
		"calling": {callPhase, []string{
			"the safeguards allow the eviction", "nothing protects the pod", "its owner will replace it", "enough pods of its owner are available",
		}},
		"hosted": {hostedPhase, []string{"the safeguards allow the eviction"}},
	} {
		var got []string
		for _, c := range checks {
			if c.phases&tc.at != 0 {
				got = append(got, c.name)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// recheck asks the checks of a move's usage and of the safeguards.
func (e *Evictor) recheck(move *Move) reasons.Reason {
	first := slices.IndexFunc(checks, func(c check) bool { return c.name == "the usage of both nodes is known" })
	last := slices.IndexFunc(checks, func(c check) bool { return c.name == "the safeguards allow the eviction" })
	q := question{e: e, at: recheckPhase, move: move}
	return q.ask(context.Background(), checks[first:last+1]).reason
}

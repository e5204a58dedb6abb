package evictor

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
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
	} {
		asked = nil
		q := question{at: tc.at}
		if got := q.ask(t.Context(), list); got != tc.want || !slices.Equal(asked, tc.asked) {
			t.Errorf("%s: answered %+v by %q, want %+v by %q", name, got, asked, tc.want, tc.asked)
		}
	}
}

// What keeps a pod in which phases, and which reason is given where there are two.
func TestWhatRefusesInEachPhase(t *testing.T) {
	protect := func(p *play) { p.pods["a"].Annotations = map[string]string{"evenkeel.io/evict": "false"} }
	full := func(p *play) { p.budget("web", 0, "1") }
	cool := func(p *play) { p.config.cooled = func() bool { return true } }
	limit := func(p *play) { p.config.limits.Total = new(uint(0)) }
	type kept map[phase]reasons.Reason
	for name, tc := range map[string]struct {
		change []func(*play)
		want   kept
	}{
		"nothing": {nil, kept{}},
		"the pod is protected": {[]func(*play){protect}, kept{
			planPhase: reasons.EvictionDeclined, recheckPhase: reasons.EvictionDeclined, callPhase: reasons.EvictionDeclined,
		}},
		"its budget has no room": {[]func(*play){full}, kept{planPhase: reasons.PodDisruptionBudgetExhausted, recheckPhase: reasons.PodDisruptionBudgetExhausted}},
		"its node is not hot":    {[]func(*play){cool}, kept{recheckPhase: reasons.SourceNoLongerHot}},
		"no more may be evicted": {[]func(*play){limit}, kept{
			recheckPhase: reasons.EvictionLimit, callPhase: reasons.EvictionLimit, hostedPhase: reasons.EvictionLimit,
		}},
		"evicting is paused": {[]func(*play){func(p *play) {
			p.config.paused = func(context.Context) error { return &reasons.Refusal{Reason: reasons.Paused} }
		}}, kept{callPhase: reasons.Paused, hostedPhase: reasons.Paused}},
		"it is protected, and the budget has no room": {[]func(*play){protect, full}, kept{
			planPhase: reasons.EvictionDeclined, recheckPhase: reasons.EvictionDeclined, callPhase: reasons.EvictionDeclined,
		}},
		"it is protected, and its node is not hot": {[]func(*play){protect, cool}, kept{
			planPhase: reasons.EvictionDeclined, recheckPhase: reasons.SourceNoLongerHot, callPhase: reasons.EvictionDeclined,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				p.pods["a"] = aPod("a")
				for _, change := range tc.change {
					change(p)
				}
				e, got := p.evictor(), kept{}
				cycle := e.begin(t.Context(), []Move{moveOf("a")}, nil)
				for _, at := range []phase{planPhase, recheckPhase, callPhase, hostedPhase} {
					move := cycle.left[0]
					q := question{e: e, at: at, pod: p.pods["a"], move: &move, cycle: cycle, eviction: evictionOf("a")}
					if reason := q.ask(t.Context(), checks).reason; reason != "" {
						got[at] = reason
					}
				}
				cycle.closeSession()
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("refused (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// recheck asks the checks of a move's usage and of the safeguards.
func (e *Evictor) recheck(move *Move) reasons.Reason {
	q := question{e: e, at: recheckPhase, move: move}
	return q.ask(context.Background(), between("the usage of both nodes is known", "the safeguards allow the eviction")).reason
}

// Allow asks what is asked before a call, except what needs the API server.
func (e *Evictor) Allow(intent *ledger.Intent) (reasons.Reason, string) {
	q := question{e: e, at: callPhase, cycle: &Cycle{}, move: &Move{Intent: *intent}, pod: e.config.Cluster.Pod(intent.Namespace, intent.Pod)}
	if intent.To == "" || q.pod == nil {
		q.at = hostedPhase
	}
	a := q.ask(context.Background(), between("the safeguards allow the eviction", checks[len(checks)-1].name))
	return a.reason, a.detail
}

func between(first, last string) []check {
	at := func(name string) int { return slices.IndexFunc(checks, func(c check) bool { return c.name == name }) }
	return checks[at(first) : at(last)+1]
}

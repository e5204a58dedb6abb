package evictor

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Of a phase's checks, the first one that refuses, or makes the move wait, decides. Later checks
// and those of other phases are not run.
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

// The cases show what keeps a pod in which phases, and which of two reasons is returned.
func TestWhatRefusesInEachPhase(t *testing.T) {
	protect := func(p *play) { p.pods["a"].Annotations = map[string]string{"evenkeel.io/evict": "false"} }
	decline := func(p *play) { p.namespace.Annotations = map[string]string{"evenkeel.io/evict": "false"} }
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
		"its Namespace is protected": {[]func(*play){decline}, kept{
			planPhase: reasons.EvictionDeclined, recheckPhase: reasons.EvictionDeclined, callPhase: reasons.EvictionDeclined,
		}},
		"its budget has no room": {[]func(*play){full}, kept{planPhase: reasons.PodDisruptionBudgetExhausted, recheckPhase: reasons.PodDisruptionBudgetExhausted}},
		"its node is not hot":    {[]func(*play){cool}, kept{recheckPhase: reasons.SourceNoLongerHot}},
		"no more evictions are allowed": {[]func(*play){limit}, kept{
			recheckPhase: reasons.EvictionLimit, callPhase: reasons.EvictionLimit, unplannedPhase: reasons.EvictionLimit,
		}},
		"evicting is paused": {[]func(*play){func(p *play) {
			p.config.paused = func(context.Context) error { return &reasons.Refusal{Reason: reasons.Paused} }
		}}, kept{callPhase: reasons.Paused, unplannedPhase: reasons.Paused}},
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
				x := e.Begin(t.Context(), []Move{moveOf("a")}, anyProfile)
				for _, at := range []phase{planPhase, recheckPhase, callPhase, unplannedPhase} {
					move := x.left[0]
					q := question{e: e, at: at, evictions: e.config.Evictions, pod: p.pods["a"], candidate: candidateOf(p.pods["a"]), profile: anyProfile, move: &move, execution: x, eviction: evictionOf("a")}
					if reason := q.ask(t.Context(), checks).reason; reason != "" {
						got[at] = reason
					}
				}
				x.closeSession()
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("refused (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Each of these reasons keeps a pod of a hot node out of every plan. If there are two, the more
// informative one is returned.
func TestWhatKeepsPodsOutOfPlans(t *testing.T) {
	type asked struct {
		*strategies.Candidate
		profile strategies.Profile
		*Settings
	}
	ofKind := func(version, kind string) func(*asked) {
		return func(a *asked) {
			ref := &a.Object.OwnerReferences[0]
			ref.APIVersion, ref.Kind = version, kind
			a.Record = informed.Pod(a.Object)
		}
	}
	refuses := func(*v1.Pod) bool { return false }
	mirror := func(a *asked) { a.Object.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"} }
	filter := func(a *asked) { a.profile.Filter = refuses }
	late := func(a *asked) { a.profile.PreEvictionFilter = refuses }
	spare := func(a *asked) { a.profile.Spares = func(namespace string) bool { return namespace == "ns" } }
	protect := func(a *asked) { a.Object.Annotations = map[string]string{"evenkeel.io/evict": "false"} }
	job := ofKind("batch/v1", "Job")
	noJobs := func(a *asked) { a.EvictJobs = false }
	for name, tc := range map[string]struct {
		change []func(*asked)
		want   reasons.Reason
	}{
		"nothing":                          {nil, ""},
		"others empty its node":            {[]func(*asked){func(a *asked) { a.Leaving = "ToBeDeletedByClusterAutoscaler" }, mirror}, reasons.NodeLeaving},
		"a mirror pod":                     {[]func(*asked){mirror, filter}, reasons.MirrorPod},
		"a pod from a file":                {[]func(*asked){func(a *asked) { a.Object.Annotations = map[string]string{configSource: "file"} }}, reasons.MirrorPod},
		"a pod from the API server":        {[]func(*asked){func(a *asked) { a.Object.Annotations = map[string]string{configSource: "api"} }}, ""},
		"a pod of a DaemonSet":             {[]func(*asked){ofKind("apps/v1", "DaemonSet"), filter}, reasons.DaemonSetPod},
		"a pod without a controller":       {[]func(*asked){func(a *asked) { a.Object.OwnerReferences, a.Record = nil, &cluster.Pod{} }, filter}, reasons.NoController},
		"a pod of a Job":                   {[]func(*asked){job, noJobs, spare}, reasons.JobPod},
		"a pod of a Job that may be moved": {[]func(*asked){job}, ""},
		"a pod of a Job of another group":  {[]func(*asked){ofKind("batch.volcano.sh/v1alpha1", "Job"), noJobs}, reasons.ControllerUnknown},
		"one that the policy names": {[]func(*asked){ofKind("batch.volcano.sh/v1alpha1", "Job"), noJobs, func(a *asked) {
			a.Recreating = []schema.GroupKind{{Group: "batch.volcano.sh", Kind: "Job"}}
		}}, ""},
		"another scheduler's pod":        {[]func(*asked){func(a *asked) { a.Object.Spec.SchedulerName = "volcano" }, spare}, reasons.SchedulerNotSteered},
		"a namespace that is spared":     {[]func(*asked){spare, protect}, reasons.NamespaceExcluded},
		"a pod that starts":              {[]func(*asked){func(a *asked) { a.Read.Starting = true }, protect}, reasons.PodStarting},
		"a pod without usage":            {[]func(*asked){func(a *asked) { a.Read.Measured = false }, protect}, reasons.PodUsageUnknown},
		"a pod that is protected":        {[]func(*asked){protect, filter}, reasons.EvictionDeclined},
		"a pod that a filter keeps":      {[]func(*asked){filter, late}, reasons.ProtectedByDefaultEvictor},
		"a pod that a late filter keeps": {[]func(*asked){late}, reasons.PreEvictionFilter},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				pod := aPod("a")
				p.pods["a"] = pod
				e := p.evictor()
				a := &asked{candidateOf(pod), *anyProfile, &e.config.Settings}
				for _, change := range tc.change {
					change(a)
				}
				if got := e.Refuse(t.Context(), a.Candidate, &a.profile); got != tc.want {
					t.Errorf("refused for %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// recheck runs the checks of a move's usage and the safeguards.
func (e *Evictor) recheck(move *Move) reasons.Reason {
	q := question{e: e, at: recheckPhase, evictions: e.config.Evictions, move: move}
	return q.ask(context.Background(), between("the usage of both nodes is known", "the safeguards allow the eviction")).reason
}

// Allow runs the checks before a call, except those that need the API server.
func (e *Evictor) Allow(intent *ledger.Intent) (reasons.Reason, string) {
	q := question{e: e, at: callPhase, evictions: e.config.Evictions, execution: &Execution{}, profile: anyProfile, move: &Move{Intent: *intent}, pod: e.config.Cluster.Pod(intent.Namespace, intent.Pod)}
	if intent.To == "" || q.pod == nil {
		q.at = unplannedPhase
	}
	a := q.ask(context.Background(), between("the safeguards allow the eviction", checks[len(checks)-1].name))
	return a.reason, a.detail
}

func between(first, last string) []check {
	at := func(name string) int { return slices.IndexFunc(checks, func(c check) bool { return c.name == name }) }
	return checks[at(first) : at(last)+1]
}

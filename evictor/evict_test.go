package evictor

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"

	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// The limits of the DeschedulerPolicy hold for planned moves and the evictions of
// upstream's plugins together. The plugins get the framework's errors, by which they
// go on with other nodes or namespaces, or end.
func TestLimitsHoldForEverybodyTogether(t *testing.T) {
	one := new(uint(1))
	for name, tc := range map[string]struct {
		limits Limits
		is     func(error) bool
	}{
		"in total": {Limits{Total: one}, func(err error) bool {
			_, ok := errors.AsType[*evictions.EvictionTotalLimitError](err)
			return ok
		}},
		"per node": {Limits{PerNode: one}, func(err error) bool {
			_, ok := errors.AsType[*evictions.EvictionNodeLimitError](err)
			return ok
		}},
		"per namespace": {Limits{PerNamespace: one}, func(err error) bool {
			_, ok := errors.AsType[*evictions.EvictionNamespaceLimitError](err)
			return ok
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, aPod("web-1"), aPod("web-2"), aPod("web-3"))
			gate := newGate(t, a)
			gate.evictor.config.Settings.Limits = tc.limits
			gate.evictor.config.Cluster.(*play).config.pod = func(_, name string) *v1.Pod { return aPod(name) }
			if err := planned(t, gate, moveOf("web-1")); err != nil {
				t.Fatal(err)
			}
			upstream := gate.clientset().PolicyV1().Evictions("ns")
			if err := upstream.Evict(t.Context(), evictionOf("web-2")); !tc.is(err) {
				t.Errorf("an upstream plugin's eviction after it: %v", err)
			}
			if err := planned(t, gate, moveOf("web-3")); !tc.is(err) || len(a.evicted) != 1 {
				t.Errorf("a planned move after it: %v; %d pods are evicted", err, len(a.evicted))
			}
			gate.ResetCycle()
			if err := upstream.Evict(t.Context(), evictionOf("web-2")); err != nil || len(a.evicted) != 2 {
				t.Errorf("in the next cycle: %v", err)
			}
		})
	}
}

// Just before the call the profile's filters are asked: what protects a pod may have
// come since the plan was made.
func TestFiltersAreAskedBeforeTheCall(t *testing.T) {
	type filters struct{ passes, passesLate bool }
	for name, tc := range map[string]struct {
		filters filters
		want    reasons.Reason
	}{
		"both let it go":       {filters{true, true}, ""},
		"protected by now":     {filters{false, true}, reasons.ProtectedByDefaultEvictor},
		"refused before going": {filters{true, false}, reasons.PreEvictionFilter},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, aPod("web-1"))
			gate := newGate(t, a)
			move := moveOf("web-1")
			gate.config.Ledger.Record(time.Now(), move.Intent)
			profile := &strategies.Profile{
				Filter: func(*v1.Pod) bool { return tc.filters.passes }, PreEvictionFilter: func(*v1.Pod) bool { return tc.filters.passesLate },
			}
			err := made(t.Context(), gate, move, profile)
			if got := reasonOf(err); got != tc.want || (len(a.evicted) == 1) != (tc.want == "") {
				t.Errorf("refused for %q, want %q; %d calls", got, tc.want, len(a.evicted))
			}
		})
	}
}

// The pod of a surge is shown to them with its owner twice, which exempts it from
// minReplicas alone. The watch's pod stays as it is.
func TestFiltersSeeThePodOfASurge(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		pod, seen := aPod("a"), 0
		pod.Annotations = map[string]string{surgeAnnotation: "true"}
		p.config.owner = func(o *owners.Owner) { o.Deployment = "web-a" }
		move := surgeOf("a")
		q := question{e: p.evictor(), at: callPhase, move: &move, pod: pod, cycle: &Cycle{profile: &strategies.Profile{Filter: func(shown *v1.Pod) bool {
			seen = len(shown.OwnerReferences)
			return true
		}}}}
		if q.filtered(t.Context()).refuses() || seen != 2*len(pod.OwnerReferences) || len(pod.OwnerReferences) != 1 {
			t.Errorf("shown with %d owners, now has %d", seen, len(pod.OwnerReferences))
		}
	})
}

// A planned move asks the API server in the framework's words, under the name of its
// profile and with the policy's grace period.
func TestAPlannedMoveIsRequestedInTheFrameworksWords(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	gate := newGate(t, a)
	gate.evictor.config.Settings.GracePeriodSeconds = new(int64(7))
	move := moveOf("web-1")
	move.Reason = reasons.NodeHot
	gate.config.Ledger.Record(time.Now(), move.Intent)
	passes := func(*v1.Pod) bool { return true }
	profile := &strategies.Profile{Name: "default", Strategy: "RealUsageLowNodeUtilization", Filter: passes, PreEvictionFilter: passes}
	if err := made(t.Context(), gate, move, profile); err != nil {
		t.Fatal(err)
	}
	got := a.evicted[0]
	want := map[string]string{"reason": "triggered by default/RealUsageLowNodeUtilization: NodeHot", "requested-by": "sigs.k8s.io/descheduler"}
	if diff := cmp.Diff(want, got.Annotations); diff != "" || *got.DeleteOptions.GracePeriodSeconds != 7 {
		t.Errorf("requested with a grace period of %d and (-want +got):\n%s", *got.DeleteOptions.GracePeriodSeconds, diff)
	}
}

// With evictionFailureEventNotification there is an Event on each pod of a planned
// move whose eviction failed, otherwise none.
func TestFailuresAreNotified(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		recorder := events.NewFakeRecorder(2)
		a := newAPI(t, aPod("web-1"))
		a.answer = failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		gate := newGate(t, a, func(c *ClientConfig) { c.Events = recorder })
		gate.evictor.config.Settings.NotifyFailures = wanted
		if err := planned(t, gate, moveOf("web-1")); err == nil {
			t.Fatal("evicted")
		}
		told := ""
		if len(recorder.Events) > 0 {
			told = <-recorder.Events
		}
		if got := strings.HasPrefix(told, "Warning EvictionFailed pod eviction from hot node"); got != wanted || !wanted && told != "" {
			t.Errorf("Event %q, wanted %v", told, wanted)
		}
	}
}

// Each eviction has one Event. Of a planned move the client says why; of an upstream
// plugin's the framework does.
func TestOneEventPerEviction(t *testing.T) {
	recorder := events.NewFakeRecorder(3)
	gate := newGate(t, newAPI(t, aPod("web-1"), aPod("web-2")), func(c *ClientConfig) { c.Events = recorder })
	if err := planned(t, gate, moveOf("web-1")); err != nil {
		t.Fatal(err)
	}
	if err := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-2")); err != nil {
		t.Fatal(err)
	}
	if told := <-recorder.Events; !strings.HasPrefix(told, "Normal "+EventReason) || len(recorder.Events) > 0 {
		t.Errorf("Event %q, and %d more", told, len(recorder.Events))
	}
}

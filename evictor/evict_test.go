package evictor

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/features"

	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// The limits of the DeschedulerPolicy apply to planned moves and to evictions by upstream's plugins
// together. The plugins get the framework's errors, and then continue with other nodes or
// namespaces, or stop.
func TestLimitsHoldForEverybodyTogether(t *testing.T) {
	one := new(uint(1))
	for name, tc := range map[string]struct {
		limits Limits
		want   error
	}{
		"in total":      {Limits{Total: one}, evictions.NewEvictionTotalLimitError()},
		"per node":      {Limits{PerNode: one}, evictions.NewEvictionNodeLimitError("hot")},
		"per namespace": {Limits{PerNamespace: one}, evictions.NewEvictionNamespaceLimitError("ns")},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, aPod("web-1"), aPod("web-2"), aPod("web-3"))
			gate := newGate(t, a)
			gate.evictor.config.Settings.Limits = tc.limits
			gate.evictor.config.Cluster.(*play).config.pod = func(_, name string) *v1.Pod { return aPod(name) }
			if err := planned(t, gate, moveOf("web-1")); err != nil {
				t.Fatal(err)
			}
			upstream := upstreamOf(t, gate)
			err := upstream("web-2") // plugins compare its type without unwrapping
			if reflect.TypeOf(err) != reflect.TypeOf(tc.want) || err.Error() != tc.want.Error() || reasonOf(err) != reasons.EvictionLimit {
				t.Errorf("an upstream plugin's eviction after it: %T %v, want %v", err, err, tc.want)
			}
			if err := planned(t, gate, moveOf("web-3")); reasonOf(err) != reasons.EvictionLimit || len(a.evicted) != 1 {
				t.Errorf("a planned move after it: %v; %d pods are evicted", err, len(a.evicted))
			}
			gate.ResetCycle()
			if err := upstream("web-2"); err != nil || len(a.evicted) != 2 {
				t.Errorf("in the next cycle: %v", err)
			}
			if err := planned(t, gate, moveOf("web-3")); reasonOf(err) != reasons.EvictionLimit || len(a.evicted) != 2 {
				t.Errorf("a planned move after the plugin's: %v; %d pods are evicted", err, len(a.evicted))
			}
		})
	}
}

// upstreamOf returns a function that evicts pods as upstream's plugins do, through the framework.
func upstreamOf(t *testing.T, gate *gate) (evict func(name string) error) {
	t.Helper()
	pods := informers.NewSharedInformerFactory(gate.config.Kube, 0).Core().V1().Pods().Informer()
	framework, err := evictions.NewPodEvictor(t.Context(), gate.clientset(), events.NewFakeRecorder(10), pods, features.DefaultMutableFeatureGate,
		evictions.NewOptions().WithPolicyGroupVersion("policy/v1"))
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) error {
		return framework.EvictPod(t.Context(), aPod(name), evictions.EvictOptions{ProfileName: "default", StrategyName: "PodLifeTime"})
	}
}

// A dry run respects the limits as well, although it evicts nothing.
func TestLimitsHoldInADryRun(t *testing.T) {
	a := newAPI(t, aPod("web-1"), aPod("web-2"))
	gate := newGate(t, a, dryRun)
	gate.evictor.config.Settings.Limits = Limits{Total: new(uint(1))}
	if err := through(t.Context(), gate, moveOf("web-1")); err != nil {
		t.Fatal(err)
	}
	err := upstreamOf(t, gate)("web-2")
	if got := reasonOf(err); got != reasons.EvictionLimit || a.requests(http.MethodPost) > 0 {
		t.Errorf("the second one: reason %q, want %q; requests %v", got, reasons.EvictionLimit, a.asked)
	}
}

// An eviction that a limit or a filter refuses was not attempted. It is therefore neither counted
// nor reported as a failure, whoever asked for it.
func TestWhatIsNotAttemptedIsNotCounted(t *testing.T) {
	passes, refuses := func(*v1.Pod) bool { return true }, func(*v1.Pod) bool { return false }
	for name, tc := range map[string]struct {
		limits  Limits
		profile strategies.Profile
	}{
		"total":                {Limits{Total: new(uint(0))}, strategies.Profile{Filter: passes, PreEvictionFilter: passes}},
		"node":                 {Limits{PerNode: new(uint(0))}, strategies.Profile{Filter: passes, PreEvictionFilter: passes}},
		"namespace":            {Limits{PerNamespace: new(uint(0))}, strategies.Profile{Filter: passes, PreEvictionFilter: passes}},
		"filters":              {Limits{}, strategies.Profile{Filter: refuses, PreEvictionFilter: passes}},
		"pre-eviction filters": {Limits{}, strategies.Profile{Filter: passes, PreEvictionFilter: refuses}},
	} {
		t.Run(name, func(t *testing.T) {
			recorder, registry := events.NewFakeRecorder(2), prometheus.NewPedanticRegistry()
			gate := newGate(t, newAPI(t, aPod("web-1")), func(c *ClientConfig) { c.Events = recorder })
			gate.evictor.config.Cluster.(*play).config.pod = func(_, name string) *v1.Pod { return aPod(name) }
			gate.evictor.config.Settings.Limits, gate.evictor.config.Settings.NotifyFailures = tc.limits, true
			gate.evictor.config.Metrics = metrics.New(registry)
			if err := made(t.Context(), gate, moveOf("web-1"), &tc.profile); err == nil {
				t.Error("the planned move was made")
			}
			if tc.limits != (Limits{}) { // the framework asks the filters for upstream's plugins
				if err := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-1")); err == nil {
					t.Error("the upstream plugin's eviction was made")
				}
			}
			if err := testutil.GatherAndCompare(registry, strings.NewReader(""), "evenkeel_pod_evictions_total"); err != nil {
				t.Error(err)
			}
			if len(recorder.Events) > 0 {
				t.Errorf("Event %q", <-recorder.Events)
			}
		})
	}
}

// The profile's filters are asked again just before the call, because a pod may have become
// protected since the plan was made.
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

// A pod is protected as soon as the API server has the protection, even if the watch does not show
// it yet.
func TestThePodIsJudgedByItsLatestState(t *testing.T) {
	protected := aPod("web-1", func(p *v1.Pod) { p.Annotations = map[string]string{"evenkeel.io/evict": "false"} })
	a := newAPI(t, protected)
	gate := newGate(t, a)
	var seen *v1.Pod
	if got := reasonOf(planned(t, gate, moveOf("web-1"))); got != reasons.EvictionDeclined || len(a.evicted) > 0 {
		t.Errorf("refused for %q, want %q; %d calls", got, reasons.EvictionDeclined, len(a.evicted))
	}
	a.pods["ns/web-1"] = aPod("web-1", func(p *v1.Pod) { p.Labels = map[string]string{"keep": "true"} })
	profile := &strategies.Profile{Filter: func(p *v1.Pod) bool {
		seen = p
		return p.Labels["keep"] == ""
	}}
	if got := reasonOf(made(t.Context(), gate, moveOf("web-1"), profile)); got != reasons.ProtectedByDefaultEvictor || seen == nil {
		t.Errorf("refused for %q, want %q; the filter saw %v", got, reasons.ProtectedByDefaultEvictor, seen)
	}
}

// For a planned move, the API server receives the framework's request, with the name of its profile
// and the policy's grace period.
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

// With evictionFailureEventNotification, each pod of a planned move whose eviction failed gets an
// Event. Without it, none does.
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

// Each eviction has one Event. The client states the reason for a planned move, and the framework
// that for an upstream plugin's eviction.
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

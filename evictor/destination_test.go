package evictor

import (
	"context"
	"net/http"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// asksFor makes a plugin ask for the eviction of aPod("web-1").
func asksFor(t *testing.T, gate *gate) error {
	t.Helper()
	eviction := evictionOf("web-1")
	eviction.Annotations = map[string]string{"reason": "triggered by p/PodLifeTime: "}
	return gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), eviction)
}

// The eviction that a plugin makes by itself becomes a move to the node that kube-scheduler prefers.
// Its replacement is steered there, but nothing waits for that.
func TestEvictionsByPluginsHaveADestination(t *testing.T) {
	for name, tc := range map[string]struct {
		ready func(*ledger.Leaving) (reasons.Reason, bool)
	}{
		"steered":              {func(*ledger.Leaving) (reasons.Reason, bool) { return "", false }},
		"another one is on":    {func(*ledger.Leaving) (reasons.Reason, bool) { return "", true }},
		"steering was refused": {func(*ledger.Leaving) (reasons.Reason, bool) { return reasons.SteeringRefused, false }},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(1)
			gate := newGate(t, newAPI(t, aPod("web-1")), func(c *ClientConfig) { c.Events = recorder })
			p := gate.evictor.config.Cluster.(*play)
			gate.evictor.config.Steering = p
			gate.to = strategies.Destination{Node: "cool", Usage: cluster.Amounts{100, 1 << 20}}
			prepared := ""
			p.config.ready = func(leaving *ledger.Leaving) (reasons.Reason, bool) {
				if prepared = leaving.To; !gate.config.Ledger.Moving(leaving.PodUID) {
					t.Error("steered before its move is recorded")
				}
				return tc.ready(leaving)
			}
			if err := asksFor(t, gate); err != nil {
				t.Fatal(err)
			}
			move, _ := gate.config.Ledger.Get("uid-web-1")
			if move.State != ledger.Evicted || move.To != "cool" || move.Plugin != "PodLifeTime" || move.Usage != gate.to.Usage || prepared != "cool" {
				t.Errorf("%+v, prepared for %q", move, prepared)
			}
			if want := "triggered by p/PodLifeTime. Planned destination: cool."; move.Decision.Message != want {
				t.Errorf("message %q, want %q", move.Decision.Message, want)
			}
			if len(recorder.Events) > 0 {
				t.Errorf("Event %q, but the framework records it", <-recorder.Events)
			}
		})
	}
}

// Without a destination, or if finding one fails, the pod is evicted all the same.
func TestEvictionsByPluginsNeedNoDestination(t *testing.T) {
	gate := newGate(t, newAPI(t, aPod("web-1")))
	p := gate.evictor.config.Cluster.(*play)
	p.config.ready = func(*ledger.Leaving) (reasons.Reason, bool) { t.Error("steered to nowhere"); return "", false }
	gate.evictor.config.Steering = p
	if err := asksFor(t, gate); err != nil {
		t.Fatal(err)
	}
	if move, _ := gate.config.Ledger.Get("uid-web-1"); move.State != ledger.Evicted || move.To != "" || move.Decision.Message != "triggered by p/PodLifeTime. No destination: no node fits." {
		t.Errorf("%+v, decision %+v", move, move.Decision)
	}
}

// An eviction that is not made leaves nothing behind, and none is looked for if the gate refuses.
func TestEvictionsByPluginsThatAreRefused(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	gate := newGate(t, a)
	p := gate.evictor.config.Cluster.(*play)
	gate.evictor.config.Steering, gate.to = p, strategies.Destination{Node: "cool"}
	a.answer = failing(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	if err := asksFor(t, gate); err == nil {
		t.Fatal("it was evicted")
	}
	if move, _ := gate.config.Ledger.Get("uid-web-1"); move.State != ledger.Cancelled || !slices.Equal(p.undone, []string{"web-1"}) {
		t.Errorf("%+v, undone %q", move, p.undone)
	}
	gate.evictor.config.Settings.Limits = Limits{Total: new(uint(0))}
	err := gate.Clientset(gate.evictor, false, func(context.Context, *v1.Pod) (strategies.Destination, error) {
		t.Error("a destination is looked for")
		return strategies.Destination{}, nil
	}).PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-1"))
	if reasonOf(err) != reasons.EvictionLimit {
		t.Error(err)
	}
}

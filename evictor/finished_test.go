package evictor

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Plugins of the descheduler remove pods that have failed or succeeded. No replacement is expected
// for them, so none counts as missing, in any namespace, at any time, and for any kind of owner.
func TestFinishedPodsNeedNoReplacement(t *testing.T) {
	for name, tc := range map[string]struct {
		phase v1.PodPhase
		kind  string
	}{
		"a failed pod of a ReplicaSet": {v1.PodFailed, "ReplicaSet"},
		"a failed pod of a Job":        {v1.PodFailed, "Job"},
		"a completed pod of a Job":     {v1.PodSucceeded, "Job"},
		"failed, of nobody":            {v1.PodFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*v1.Pod
			for i := range 12 {
				pods = append(pods, aPod(fmt.Sprint("web-", i), func(p *v1.Pod) {
					p.Status.Phase, p.OwnerReferences[0].Kind = tc.phase, tc.kind
					if tc.kind == "" {
						p.OwnerReferences = nil
					}
				}))
			}
			a := newAPI(t, pods...)
			gate := newGate(t, a)
			rules := safeguards.New(safeguards.Config{
				MaxPerHour: 3, MoveTTL: time.Minute, NodeSettle: time.Hour, Cooldown: safeguards.Cooldown{Always: time.Hour, Base: time.Hour, Max: 6 * time.Hour},
				Breaker: safeguards.Breaker{MaxPending: 3, PendingAfter: time.Second, MaxUnready: 3, Rest: time.Hour, MaxRefusedPercent: 50, MaxNotReadyPercent: 100},
			})
			gate.evictor.config.Settings.Safeguards = rules
			for _, pod := range pods {
				if err := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf(pod.Name)); err != nil {
					t.Fatal(err)
				}
			}
			if len(a.evicted) != len(pods) || !gate.Evicted("uid-web-0") {
				t.Errorf("%d of %d are evicted", len(a.evicted), len(pods))
			}
			for _, after := range []time.Duration{0, time.Minute, 10 * time.Minute, 50 * time.Minute} {
				now := time.Now().Add(after)
				gate.config.Ledger.Expire(now)
				inFlight, ended := gate.config.Ledger.Moves()
				if len(inFlight) != 0 || len(ended) != len(pods) || ended[0].State != ledger.Cancelled || !ended[0].Finished || ended[0].Evicted.IsZero() {
					t.Fatalf("in flight %+v, ended %+v", inFlight, ended)
				}
				v := rules.At(safeguards.Facts{InFlight: inFlight, Ended: ended}, now)
				if why, detail := v.Closed(); why != "" || v.Left() != 3 {
					t.Errorf("after %v: closed by %q (%s), %d moves left", after, why, detail, v.Left())
				}
				next := moveOf("web-99")
				if why, detail := v.Refuse(&next.Intent); why != "" {
					t.Errorf("after %v: another pod of the owner is refused for %q (%s)", after, why, detail)
				}
			}
		})
	}
}

// A planned move is not made if its pod has ended in the meantime.
func TestAPodThatHasEndedIsNotMoved(t *testing.T) {
	a := newAPI(t, aPod("web-1", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }))
	gate := newGate(t, a)
	if err := planned(t, gate, moveOf("web-1")); reasonOf(err) != reasons.PodChanged || len(a.evicted) != 0 {
		t.Errorf("error %v, %d evicted", err, len(a.evicted))
	}
}

// After admission control has denied the eviction of an ended pod, the eviction is not retried at
// once.
func TestADenialOfAFinishedPodIsRemembered(t *testing.T) {
	a := newAPI(t, aPod("web-1", func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }))
	gate := newGate(t, a)
	gate.config.Ledger.Finished(moveOf("web-1").Intent, `admission webhook "guard" denied the request: no`, time.Now())
	err := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-1"))
	if reasonOf(err) != reasons.EvictionDenied || len(a.evicted) != 0 {
		t.Errorf("error %v, %d evicted", err, len(a.evicted))
	}
}

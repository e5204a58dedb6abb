package evictor

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// It is known until when new and scaled owners, and safeguards, refuse a pod. For a rollout it is
// not. OwnerSettle is three minutes here.
func TestUntil(t *testing.T) {
	created := func(ago time.Duration) func(*appsv1.ReplicaSet) {
		return func(rs *appsv1.ReplicaSet) { rs.CreationTimestamp.Time = noon.Add(-ago) }
	}
	denied := func(e *estate) {
		e.ledger.Record(noon, ledger.Intent{Namespace: "ns", PodUID: "b", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet"}, TTL: time.Hour})
		e.ledger.Deny("b", "no", noon)
	}
	cases := map[string]struct {
		set    *appsv1.ReplicaSet
		change func(*estate)
		want   reasons.Reason
		left   time.Duration // 0 if not known
	}{
		"created a minute ago": {set: replicaSet(5, created(time.Minute)), want: reasons.OwnerRollingOut, left: 2 * time.Minute},
		"rolling out":          {set: replicaSet(5, func(rs *appsv1.ReplicaSet) { rs.Generation = 2 }), want: reasons.OwnerRollingOut},
		"just scaled":          {set: replicaSet(5), change: func(e *estate) { e.watched.updated(replicaSet(4), replicaSet(5)) }, want: reasons.OwnerJustScaled, left: 3 * time.Minute},
		"denied":               {set: replicaSet(5), change: denied, want: reasons.EvictionDenied, left: 10 * time.Minute},
		"its others are down":  {set: replicaSet(9), want: reasons.OwnerPodsUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, replicas(4)...)
			e.add(t, tc.set)
			if tc.change != nil {
				tc.change(e)
			}
			pod := ownedBy("ReplicaSet", "rs-1")
			reason := e.Refuse(pod)
			want := time.Time{}
			if tc.left > 0 {
				want = noon.Add(tc.left)
			}
			if got := e.Until(pod, reason); reason != tc.want || !got.Equal(want) {
				t.Errorf("%q until %v, want %q until %v", reason, got, tc.want, want)
			}
		})
	}
}

// A dry run reports what it would evict, never that it has evicted something.
func TestDryRunSaysWouldEvict(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.config.dryRun = true
		p.pods["a"] = aPod("a")
		move, plan := moveOf("a"), strategies.Plan{}
		plan.Moves = []strategies.Move{{
			Pod:  strategies.Pod{Pod: &cluster.Pod{UID: move.PodUID, Namespace: move.Namespace, Name: move.Pod}, Usage: move.Usage},
			From: move.From, To: move.To,
		}}
		ctx, log := logging(t)
		p.evictor().Make(ctx, &plan, anyProfile)
		if said := log.String(); !strings.Contains(said, "wouldEvict=1") || strings.Contains(said, "evicted=") {
			t.Errorf("the log of a dry run:\n%s", said)
		}
	})
}

package evictor

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// The estimate assumes that as many pods of an owner are missing at a time as a cycle allows, and
// predicts how long such a cycle takes.
func TestPaceIsWhatACycleMakes(t *testing.T) {
	cases := map[string]struct {
		play func(*play)
		want strategies.Relief
	}{
		"a tenth of the owner's replicas": {
			play: func(p *play) { p.config.replicas = func(*v1.Pod) int { return 29 } },
			want: strategies.Relief{Takes: 40*time.Second + 200*time.Millisecond, Bound: reasons.OwnerPodsUnavailable, Limit: 2},
		},
		"a budget": {
			play: func(p *play) { p.budget("web", 3, "1") },
			want: strategies.Relief{Takes: 20*time.Second + 400*time.Millisecond, Bound: reasons.PodDisruptionBudgetExhausted, Limit: 3},
		},
		"a Job, whose pods are replaced once they have ended": {
			play: func(p *play) {
				p.config.replicas = func(*v1.Pod) int { return 29 }
				p.config.owner = func(o *owners.Owner) { o.Waits = true }
			},
			want: strategies.Relief{Takes: time.Minute + 200*time.Millisecond, Bound: reasons.OwnerPodsUnavailable, Limit: 2},
		},
		"no limit but the interval": {
			play: func(*play) {},
			want: strategies.Relief{Takes: time.Second},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				p.config.deadline = 10 * time.Minute
				tc.play(p)
				var moves []strategies.Move
				for i := range 6 {
					name := fmt.Sprintf("pod-%d", i)
					p.pods[name] = aPod(name)
					pod := &cluster.Pod{Namespace: "ns", Name: name, UID: string(p.pods[name].UID), Owner: cluster.Owner{UID: "rs-1"}}
					moves = append(moves, strategies.Move{Pod: strategies.Pod{Pod: pod}, From: "hot", To: "cool"})
				}
				tc.want.Moves, tc.want.ThisCycle, tc.want.Between = 6, 6, betweenCycles
				got := p.evictor().pace(moves, 100, 0)
				if diff := cmp.Diff(map[string]strategies.Relief{"hot": tc.want}, got); diff != "" {
					t.Errorf("relief (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// An owner that creates its pods in order has only one missing at a time.
func TestPaceOfOrderedOwners(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.config.replicas = func(*v1.Pod) int { return 30 }
		p.config.owner = func(o *owners.Owner) { o.Ordered = true }
		pod := replica(types.UID("web-29")) // the others are 0 to 28
		owner := p.Owner(pod)
		e := p.evictor()
		if got := e.atOnce(pod, &owner, nil); got.AtOnce != 1 || got.Reason != reasons.OwnerCreatesInOrder {
			t.Errorf("%d at once for %q, want 1 for %q", got.AtOnce, got.Reason, reasons.OwnerCreatesInOrder)
		}
	})
}

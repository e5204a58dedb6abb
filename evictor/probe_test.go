package evictor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// The cycle, not a tenant, decides how long to wait for a probe. A probe whose pod is still
// terminating holds back only its own namespace, and a pod of the next namespace becomes the next
// probe.
func TestProbesOfPodsThatTerminateForLong(t *testing.T) {
	const day, minute, moment = 86400, 60, 5
	for name, tc := range map[string]struct {
		grace   map[string]int64 // by namespace
		backoff time.Duration    // of all owners
		kind    string           // of the owner in a
		created bool             // the replacement in a is created at once, but not bound
		moves   []string
		want    []string
		evicted []string
		held    bool
	}{
		"a short one comes first": {
			grace: map[string]int64{"a": day, "b": moment}, moves: []string{"a1", "b1"},
			want: []string{"a1", "b1"}, evicted: []string{"b1@0.0", "a1@2.0"},
		},
		"of an owner that also creates another one at once": {
			grace: map[string]int64{"a": day, "b": day}, moves: []string{"b1", "a1"}, kind: "ReplicaSet",
			want: []string{"a1", "b1"}, evicted: []string{"a1@0.0", "b1@20.2"},
		},
		"none is short": {
			grace: map[string]int64{"a": day, "b": minute, "c": day}, moves: []string{"a1", "a2", "b1", "c1"},
			want: []string{"a1", "a2: ProbeNotLanded", "b1", "c1"}, evicted: []string{"a1@0.0", "b1@20.2", "c1@40.4"},
		},
		"four tenants do not stop everyone": {
			grace: map[string]int64{"a": day, "b": day, "c": day, "d": day, "e": day}, moves: []string{"a1", "b1", "c1", "d1", "e1"},
			want: []string{"a1", "b1", "c1", "d1", "e1"}, evicted: []string{"a1@0.0", "b1@20.2", "c1@40.4", "d1@60.6", "e1@80.8"},
		},
		"a Job that waits before its next pod delays no other moves": {
			grace: map[string]int64{"a": moment, "b": moment}, backoff: 10 * time.Minute, moves: []string{"a1", "b1"},
			want: []string{"a1", "b1"}, evicted: []string{"a1@0.0", "b1@20.2"},
		},
		"an existing replacement that gets no node fails": {
			grace: map[string]int64{"a": day, "b": day}, moves: []string{"a1", "b1"}, created: true,
			want: []string{"a1", "b1"}, evicted: []string{"a1@0.0", "b1@40.4"}, held: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				p.config.asked = func() int64 { return 0 }
				p.config.steered = func(*ledger.Move) ledger.Proof { return ledger.Steered }
				p.config.pod = func(_, name string) *v1.Pod { return p.pods[name] }
				p.config.deadline = 10 * time.Minute
				p.config.owner = func(o *owners.Owner) { o.Backoff = tc.backoff }
				p.landsIn, p.landsOf = 3*time.Hour, "CloneSet"
				if name == "a short one comes first" {
					p.landsIn = 1900 * time.Millisecond
				}
				p.landsAs = func(name string) (namespace, owner string, bound bool) { return name[:1], "rs-" + name[:1], false }
				moves := p.tenants(tc.moves...)
				for i := range moves {
					grace := tc.grace[moves[i].Namespace]
					p.pods[moves[i].Pod].Spec.TerminationGracePeriodSeconds = &grace
					moves[i].TTL = 48 * time.Hour
					if moves[i].Owner.Kind = "CloneSet"; moves[i].Namespace == "a" && tc.kind != "" {
						moves[i].Owner.Kind = tc.kind
					}
				}
				if tc.created {
					kind := moves[0].Owner.Kind
					p.after(time.Second, func() {
						p.ledger.Created(ledger.Pod{UID: "made", Namespace: "a", Name: "made", OwnerUID: "rs-a", OwnerKind: kind, TemplateHash: "h1"})
					})
				}
				var got []string
				for _, o := range carryOut(t.Context(), p.evictor(), moves) {
					got = append(got, strings.TrimSuffix(o.Move.Pod+": "+string(o.Reason), ": "))
				}
				if diff := cmp.Diff(tc.want, ordered(got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.evicted, p.evicted); diff != "" {
					t.Errorf("evictions (-want +got):\n%s", diff)
				}
				if hold := p.ledger.Hold(); (hold.Reason == string(reasons.ProbeNotLanded)) != tc.held || hold.Reason != "" && !hold.Partial {
					t.Errorf("hold %+v, want one of the namespace: %t", hold, tc.held)
				}
				time.Sleep(4 * time.Hour)
			})
		})
	}
}

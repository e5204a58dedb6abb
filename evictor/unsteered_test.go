package evictor

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// tenants returns moves of one owner in each namespace. The first letter of a pod's name is its
// namespace.
func (p *play) tenants(names ...string) []Move {
	moves := make([]Move, len(names))
	for i, name := range names {
		p.pods[name] = aPod(name)
		moves[i] = moveOf(name)
		namespace := name[:1]
		p.pods[name].Namespace, moves[i].Namespace, moves[i].Owner.UID = namespace, namespace, "rs-"+namespace
		p.pods[name].OwnerReferences[0].UID = types.UID("rs-" + namespace)
	}
	return moves
}

func ordered(words []string) []string {
	slices.Sort(words)
	return words
}

// Replacements that were not steered stop evictions in their own namespaces, and all evictions only
// if this happens in several namespaces.
func TestOnlySeveralNamespacesAreTheCluster(t *testing.T) {
	absent := func(names ...string) []string {
		for i := range names {
			names[i] += ": SteeringAbsent"
		}
		return names
	}
	for name, tc := range map[string]struct {
		moves   []string
		proofs  map[string]ledger.Proof // by namespace
		bound   map[string]bool
		want    []string
		partial bool
		again   []string // pods of the same owners, five minutes later
	}{
		"one namespace": {
			moves: []string{"a1", "a2", "b1", "b2"}, proofs: map[string]ledger.Proof{"a": ledger.NotSteered, "b": ledger.Steered},
			want: append([]string{"a1"}, append(absent("a2"), "b1", "b2")...), partial: true,
			again: append(absent("a3"), "b3"),
		},
		"two namespaces": {
			moves: []string{"a1", "b1", "c1", "c2"}, proofs: map[string]ledger.Proof{"a": ledger.NotSteered, "b": ledger.NotSteered, "c": ledger.Steered},
			want: []string{"a1", "b1", "c1", "c2"}, partial: true, again: append(absent("a3", "b3"), "c3"),
		},
		"three namespaces": {
			moves: []string{"a1", "b1", "c1", "d1"}, proofs: map[string]ledger.Proof{"a": ledger.NotSteered, "b": ledger.NotSteered, "c": ledger.NotSteered, "d": ledger.Steered},
			want: append([]string{"a1", "b1", "c1"}, absent("d1")...), again: absent("a3", "b3", "c3", "d3"),
		},
		"replacements that come with a node prove nothing": {
			moves: []string{"a1", "b1", "c1", "d1", "d2"}, bound: map[string]bool{"a": true, "b": true, "c": true},
			proofs: map[string]ledger.Proof{"a": ledger.NotSteered, "b": ledger.NotSteered, "c": ledger.NotSteered, "d": ledger.Steered},
			want:   []string{"a1", "b1", "c1", "d1", "d2"}, again: []string{"a3: Unsteerable", "b3: Unsteerable", "c3: Unsteerable", "d3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				p.config.asked = func() int64 { return 0 }
				p.config.steered = func(m *ledger.Move) ledger.Proof { return tc.proofs[m.Namespace] }
				p.config.pod = func(_, name string) *v1.Pod { return p.pods[name] }
				p.landsAs = func(name string) (namespace, owner string, bound bool) {
					return name[:1], "rs-" + name[:1], tc.bound[name[:1]]
				}
				play := func(names ...string) (all []string) {
					for _, o := range carryOut(t.Context(), p.evictor(), p.tenants(names...)) {
						words := o.Move.Pod
						if o.Reason != "" {
							words += ": " + string(o.Reason)
						}
						all = append(all, words)
					}
					return all
				}
				if diff := cmp.Diff(ordered(tc.want), ordered(play(tc.moves...))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if hold := p.ledger.Hold(); hold.Partial != tc.partial {
					t.Errorf("hold %+v, want a partial one: %t", hold, tc.partial)
				}
				time.Sleep(5 * time.Minute)
				var again []string
				for _, words := range tc.again {
					again = append(again, words[:2])
				}
				if diff := cmp.Diff(ordered(tc.again), ordered(play(again...))); diff != "" { // by a new process
					t.Errorf("later (-want +got):\n%s", diff)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// Once kube-scheduler asks again, the hold of a namespace ends before the plan is made, because the
// plan omits the pods of a namespace on hold.
func TestAHoldOfANamespaceEndsBeforeThePlan(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		asked := int64(0)
		p.config.asked = func() int64 { return asked }
		p.config.steered = func(*ledger.Move) ledger.Proof { return ledger.NotSteered }
		p.config.pod = func(_, name string) *v1.Pod { return p.pods[name] }
		p.landsAs = func(name string) (namespace, owner string, bound bool) { return name[:1], "rs-" + name[:1], false }
		e := p.evictor()
		carryOut(t.Context(), e, p.tenants("a1"))
		refuses := func() reasons.Reason {
			e.BeginCycle(t.Context())
			reason, _ := e.allowance().Refuse(&ledger.Intent{Namespace: "a", Pod: "a2", PodUID: "uid-a2", From: "hot", Owner: cluster.Owner{UID: "rs-a"}})
			return reason
		}
		if got := refuses(); got != reasons.SteeringAbsent {
			t.Errorf("while kube-scheduler does not ask: %q, want %q", got, reasons.SteeringAbsent)
		}
		asked++
		if got := refuses(); got == reasons.SteeringAbsent {
			t.Errorf("after kube-scheduler has asked: %q still", got)
		}
		time.Sleep(time.Hour)
	})
}

// An owner whose template names a node is left alone after its first pod, whether that pod was the
// probe, came after it, or no probe was needed.
func TestOwnersWhoseReplacementsComeWithANode(t *testing.T) {
	for name, proven := range map[string]bool{"after a probe": false, "without one": true} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				p.config.asked = func() int64 { return 0 }
				p.config.steered = func(*ledger.Move) ledger.Proof { return ledger.Steered }
				p.config.proven = func() (bool, error) { return proven, nil }
				p.config.pod = func(_, name string) *v1.Pod { return p.pods[name] }
				p.config.interval = 3 * time.Second // each replacement lands before the next eviction
				p.landsAs = func(name string) (namespace, owner string, bound bool) {
					return name[:1], "rs-" + name[:1], name[:1] == "a"
				}
				for _, names := range [][]string{{"b1", "a1", "a2", "b2", "a3"}, {"a4", "b3", "a5"}} { // two processes, one after the other
					carryOut(t.Context(), p.evictor(), p.tenants(names...))
					time.Sleep(2 * time.Minute)
				}
				var evicted []string
				for _, note := range p.evicted {
					evicted = append(evicted, note[:2])
				}
				if diff := cmp.Diff([]string{"b1", "a1", "b2", "b3"}, evicted); diff != "" {
					t.Errorf("evicted (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A replacement that was created with a node proves nothing, even if it is where it was planned.
func TestAReplacementThatCameWithItsNodeIsNoProof(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.config.asked = func() int64 { return 0 }
		p.config.steered = func(m *ledger.Move) ledger.Proof {
			if m.CameBound {
				return ledger.Steered // judged by its node
			}
			return ledger.NotSteered
		}
		p.config.pod = func(_, name string) *v1.Pod { return p.pods[name] }
		p.landsAs = func(name string) (namespace, owner string, bound bool) {
			return name[:1], "rs-" + name[:1], name[:1] == "a"
		}
		carryOut(t.Context(), p.evictor(), p.tenants("a1", "b1", "b2", "b3"))
		if diff := cmp.Diff([]string{"a1@0.0", "b1@2.0"}, p.evicted); diff != "" {
			t.Errorf("evicted (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
	})
}

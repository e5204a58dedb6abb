package evictor

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Each run of a CronJob is a new process. Whatever holds back evictions must also do so in the next
// run, and end in time, based only on objects and the stored ledger.
func TestHoldsOutliveAProcess(t *testing.T) {
	const minute = time.Minute
	// moved returns a move of ns/rs-1, or of another owner, that landed a while ago.
	moved := func(n int, namespace string, ago time.Duration, change ...func(*ledger.Move)) ledger.Move {
		m := ledger.Move{
			Intent: ledger.Intent{
				Namespace: namespace, Pod: fmt.Sprint("p-", n), PodUID: fmt.Sprint("uid-", n), From: "hot", To: "cool", Pool: "general",
				Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, TTL: 5 * minute,
			},
			State: ledger.Landed, Node: "cool", Replacement: fmt.Sprint("new-", n), Recorded: noon.Add(-ago), Evicted: noon.Add(-ago), Ended: noon.Add(-ago),
		}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	expired := func(m *ledger.Move) { m.State, m.Node, m.Replacement = ledger.Expired, "", "" }
	useless := func(m *ledger.Move) { m.Outcome = &ledger.Outcome{Judged: m.Ended} }
	denied := func(m *ledger.Move) {
		m.State, m.Evicted, m.Node, m.Replacement, m.Denied = ledger.Cancelled, time.Time{}, "", "", "no"
	}
	unsteered := func(m *ledger.Move) { m.Unsteered = string(reasons.SteeringAbsent) }
	bound := func(m *ledger.Move) { m.Unsteered = string(reasons.Unsteerable) }
	breaker := safeguards.Breaker{
		MaxPending: 3, PendingAfter: minute, MaxUnready: 3, UnreadyAfter: minute, Rest: 5 * minute, MaxNotReadyPercent: 100, MaxRefusedPercent: 50, MaxErrors: 5,
		MaxDrainingPercent: 10, MaxUnschedulablePercent: 2, StandBack: 30 * minute,
	}
	// calls returns eviction calls with the same result, one per namespace, each about another
	// owner.
	calls := func(result ledger.Call, namespaces ...string) func(ago time.Duration) []ledger.Call {
		return func(ago time.Duration) (all []ledger.Call) {
			for i, namespace := range namespaces {
				call := result
				call.Namespace, call.OwnerUID, call.Pod, call.At = namespace, "rs-"+namespace, fmt.Sprint("p-", i), noon.Add(-ago)
				all = append(all, call)
			}
			return all
		}
	}
	for name, tc := range map[string]struct {
		config safeguards.Config
		moves  func(ago time.Duration) []ledger.Move
		hold   bool
		lasts  time.Duration
		want   reasons.Reason
		calls  func(ago time.Duration) []ledger.Call
	}{
		"calls of its namespace failed": {
			lasts: 5 * minute, want: reasons.APIErrors, calls: calls(ledger.Call{Failed: true}, "ns", "ns", "ns", "ns", "ns"),
		},
		"everyone's calls failed": {
			lasts: 5 * minute, want: reasons.APIErrors, calls: calls(ledger.Call{Failed: true}, "a", "b", "c", "d", "e", "f"),
		},
		"evictions of its namespace were refused": {
			lasts: 5 * minute, want: reasons.EvictionsRefused, calls: calls(ledger.Call{Refused: true}, "ns", "ns", "ns", "ns", "ns"),
		},
		"everyone's evictions were refused": {
			lasts: 5 * minute, want: reasons.EvictionsRefused, calls: calls(ledger.Call{Refused: true}, "a", "b", "c", "d", "e", "f"),
		},
		"a node settles": {safeguards.Config{NodeSettle: 10 * minute}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "other", ago)}
		}, false, 10 * minute, reasons.NodeSettling, nil},
		"an owner rests after each move": {safeguards.Config{Cooldown: safeguards.Cooldown{Always: 20 * minute}}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago)}
		}, false, 20 * minute, reasons.OwnerCoolingDown, nil},
		"an owner cools down after a move that did not help": {safeguards.Config{Cooldown: safeguards.Cooldown{Base: 20 * minute}}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago, useless)}
		}, false, 20 * minute, reasons.OwnerCoolingDown, nil},
		"the hour is used up": {safeguards.Config{MaxPerHour: 1}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "other", ago)}
		}, false, 60 * minute, reasons.MovesPerHour, nil},
		"the owner's hour is used up": {safeguards.Config{MaxPerHourOfOwner: 1}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago)}
		}, false, 60 * minute, reasons.OwnerMovesPerHour, nil},
		"the namespace's hour is used up": {safeguards.Config{MaxPerHourOfNamespace: 1}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago)}
		}, false, 60 * minute, reasons.NamespaceMovesPerHour, nil},
		"the owner's hourly share is used up, and its pods are not counted": {safeguards.Config{MaxPercentPerHourOfOwner: 50}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago), moved(2, "ns", ago)}
		}, false, 60 * minute, reasons.OwnerMovesPerHour, nil},
		"the cluster's hourly share is used up": {safeguards.Config{MaxPercentPerHour: 5}, func(ago time.Duration) []ledger.Move {
			return several(50, func(n int) ledger.Move { return moved(n, fmt.Sprint("other-", n), ago) })
		}, false, 60 * minute, reasons.MovesPerHour, nil},
		"the namespace's half of the hourly limit is used up": {safeguards.Config{MaxPercentPerHour: 5}, func(ago time.Duration) []ledger.Move {
			return several(25, func(n int) ledger.Move { return moved(n, "ns", ago) })
		}, false, 60 * minute, reasons.NamespaceMovesPerHour, nil},
		"the pool's hour is used up": {safeguards.Config{MaxPerHourOfPool: 1}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "other", ago)}
		}, false, 60 * minute, reasons.NodePoolMovesPerHour, nil},
		"a replacement never came": {safeguards.Config{}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago, expired)}
		}, false, 5 * minute, reasons.OwnerReplacementPending, nil},
		"replacements of several owners never came": {safeguards.Config{}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "a", ago, expired), moved(2, "b", ago, expired), moved(3, "c", ago, expired), moved(4, "d", ago, expired)}
		}, false, 5 * minute, reasons.ReplacementsPending, nil},
		"an eviction was denied": {safeguards.Config{}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago, denied)}
		}, false, 10 * minute, reasons.EvictionDenied, nil},
		"a replacement was created with a node": {safeguards.Config{}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago, bound)}
		}, false, 30 * minute, reasons.Unsteerable, nil},
		"a replacement was not steered": {safeguards.Config{}, func(ago time.Duration) []ledger.Move {
			return []ledger.Move{moved(1, "ns", ago, unsteered)}
		}, true, 30 * minute, reasons.SteeringAbsent, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.config.MoveTTL, tc.config.Breaker = 5*minute, breaker
			for ago, want := range map[time.Duration]reasons.Reason{minute: tc.want, tc.lasts - time.Second: tc.want, tc.lasts + time.Second: ""} {
				before := ledger.New(ledger.Config{})
				if tc.moves != nil {
					before.Adopt(ledger.Document{Moves: tc.moves(ago)}, noon)
				}
				if tc.calls != nil {
					for _, call := range tc.calls(ago) {
						before.Called(call)
					}
				}
				document := before.Export()
				if tc.hold {
					document.Hold = ledger.Hold{Reason: string(reasons.SteeringAbsent), Since: noon.Add(-ago), Until: noon.Add(30*minute - ago), Partial: true}
				}
				packed, err := document.Encode()
				if err != nil {
					t.Fatal(err)
				}
				if document, err = ledger.Decode(packed); err != nil {
					t.Fatal(err)
				}
				e := newEstate(t) // the next run
				e.ledger.Adopt(document, noon)
				e.config.Settings.Safeguards = safeguards.New(tc.config)
				next := moved(9, "ns", 0).Intent
				if got, detail := e.allowance().Refuse(&next); got != want {
					t.Errorf("%v later: refused for %q (%s), want %q", ago, got, detail, want)
				}
			}
		})
	}
}

func several(n int, move func(n int) ledger.Move) []ledger.Move {
	moves := make([]ledger.Move, n)
	for i := range moves {
		moves[i] = move(i)
	}
	return moves
}

// An owner's objects show the next run when its specification was last changed, by scaling or by an
// undo that wants more pods of an old ReplicaSet.
func TestScalingOutlivesAProcess(t *testing.T) {
	changed := func(object metav1.Object, ago time.Duration) {
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: noon.Add(-ago)}}})
	}
	for kind, uid := range map[string]types.UID{"ReplicaSet": "rs-1", "StatefulSet": "sts-1"} {
		for ago, want := range map[time.Duration]reasons.Reason{15 * time.Second: reasons.OwnerJustScaled, 3 * time.Minute: "", time.Hour: ""} {
			pod := ownedBy(kind, uid)
			pod.Name = "web-1"
			e := newEstate(t, pod)
			e.add(t, replicaSet(5, func(rs *appsv1.ReplicaSet) { changed(rs, ago) }))
			e.add(t, statefulSet(func(s *appsv1.StatefulSet) { changed(s, ago) }))
			o := e.watched.Owner(pod)
			if got, _ := o.Refuses(noon, 3*time.Minute); got != want {
				t.Errorf("%s, changed %v ago: %q, want %q", kind, ago, got, want)
			}
		}
	}
}

// The Deployment controller writes to a ReplicaSet whenever somebody annotates its Deployment. That
// must not count as scaling. A long-running process can tell the difference, because it watches the
// scale.
func TestAnnotationsAreNoScaling(t *testing.T) {
	pod := ownedBy("ReplicaSet", "rs-1")
	e := newEstate(t, pod)
	annotated := noon.Add(10 * time.Minute)
	e.add(t, replicaSet(5, func(rs *appsv1.ReplicaSet) {
		rs.SetManagedFields([]metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: annotated}}})
	}))
	o := e.watched.Owner(pod)
	if got, _ := o.Refuses(annotated.Add(time.Minute), 3*time.Minute); got != "" {
		t.Errorf("refused for %q", got)
	}
	e.watched.updated(replicaSet(4), replicaSet(5))
	o = e.watched.Owner(pod)
	if got, _ := o.Refuses(noon.Add(time.Minute), 3*time.Minute); got != reasons.OwnerJustScaled {
		t.Errorf("after a scaling refused for %q", got)
	}
}

package answer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// attacked returns a cluster with one move in flight, from "from" to "to". An attacker forges
// requests to get pods onto "trap".
func attacked(t *testing.T) (b *bridge, moved string) {
	b = newBridge(t)
	for name, used := range map[string]int64{"from": 7000, "to": 2000, "trap": 2500, "other": 3000} {
		b.node(name, used)
	}
	b.observe()
	return b, b.record(1, "from", "to")
}

var attackedNodes = []string{"from", "to", "trap", "other"}

// Requests about pods that the watch does not know change nothing, however many arrive and whatever
// they claim. They cause no reservation, no charge, no attempt and no count.
func TestForgedRequestsChangeNothing(t *testing.T) {
	forgeries := map[string]func(n int) *extender.Pod{
		"replacements that do not exist": func(n int) *extender.Pod { return webPod(fmt.Sprint("forged-", n)) },
		"a vast pod":                     func(n int) *extender.Pod { return strange(fmt.Sprint("vast-", n), 8000) },
		"a vast pod with claims": func(n int) *extender.Pod {
			pod := strange(fmt.Sprint("claims-", n), 8000)
			pod.HasClaims = true
			return pod
		},
		"the moved pod itself": func(int) *extender.Pod { return webPod("uid-1") },
		"no UID":               func(int) *extender.Pod { return strange("", 8000) },
	}
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			b, moved := attacked(t)
			before, predicted := b.move(moved), b.predicted(attackedNodes...)
			for n := range 4 {
				for _, nodes := range [][]string{{"trap"}, {"trap", "other"}, attackedNodes} {
					b.filterUnseen(forge(n), nodes...)
					b.prioritizeUnseen(forge(n), nodes...)
				}
				b.now = b.now.Add(time.Second)
			}
			if diff := cmp.Diff(before, b.move(moved), cmp.AllowUnexported(ledger.Move{})); diff != "" {
				t.Errorf("the move (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(predicted, b.predicted(attackedNodes...)); diff != "" {
				t.Errorf("predicted (-before +after):\n%s", diff)
			}
			if b.Asked() != 0 || !b.LastAsked().IsZero() {
				t.Errorf("%d requests count as asked, the last at %v", b.Asked(), b.LastAsked())
			}
			want := map[string]extender.Reject{"from": notThere, "to": keep, "trap": notThere, "other": notThere}
			if diff := cmp.Diff(want, b.filter(webPod("new"), attackedNodes...)); diff != "" {
				t.Errorf("the real replacement (-want +got):\n%s", diff)
			}
		})
	}
}

func (b *bridge) move(podUID string) ledger.Move {
	move, _ := b.observer.Ledger().Get(podUID)
	return move
}

// An attacker who knows the UID of the replacement can change neither its description nor its
// destination. Everything else comes from the watch, and the plan stays.
func TestForgedFactsOfAKnownPod(t *testing.T) {
	b, moved := attacked(t)
	b.watch(webPod("new"))
	forged := strange("new", 8000)
	forged.Namespace = "other"
	for range 10 {
		b.filterUnseen(forged, "trap", "other")
	}
	if move := b.move(moved); move.Node != "to" || move.Replacement != "new" || move.Attempts != 1 {
		t.Errorf("the move is now %+v", move)
	}
	want := map[string]extender.Reject{"from": notThere, "to": keep, "trap": notThere, "other": notThere}
	if diff := cmp.Diff(want, b.filter(webPod("new"), attackedNodes...)); diff != "" {
		t.Errorf("the real replacement (-want +got):\n%s", diff)
	}
	b.bind("new", "to")
	if got := b.predicted("trap")["trap"]; got != 2500 {
		t.Errorf("trap is predicted at %d once the replacement is bound elsewhere, want 2500", got)
	}
}

// What a request claims about a pod that the watch knows is ignored: its size,
// its owner, and whether it waits for volumes.
func TestForgedSizeOfAKnownPod(t *testing.T) {
	forgeries := map[string]func(*extender.Pod){
		"vast":            func(p *extender.Pod) { p.CPUMilli = 8000 },
		"somewhat larger": func(p *extender.Pod) { p.CPUMilli = 1000 },
		"limited":         func(p *extender.Pod) { p.LimitCPUMilli = 100 },
		"with claims":     func(p *extender.Pod) { p.HasClaims = true },
		"of a DaemonSet":  func(p *extender.Pod) { p.OwnerKind, p.OwnerUID, p.CPUMilli = "DaemonSet", "ds-1", 8000 },
		"a replacement":   func(p *extender.Pod) { p.OwnerKind, p.OwnerUID, p.TemplateHash = "ReplicaSet", "rs-1", "h1" },
	}
	answered := func(t *testing.T, forge func(*extender.Pod)) (said map[string]extender.Reject, at, later map[string]int64) {
		t.Helper()
		b, _ := attacked(t)
		b.watch(strange("known", 500))
		asked := strange("known", 500)
		forge(asked)
		said = b.filterUnseen(asked, "trap")
		at = b.predicted(attackedNodes...)
		b.observer.Ledger().Expire(b.now.Add(time.Minute))
		return said, at, b.predicted(attackedNodes...)
	}
	said, at, later := answered(t, func(*extender.Pod) {})
	if at["trap"] <= 2500 || later["trap"] != 2500 {
		t.Fatalf("trap is predicted at %d, later at %d, want the pod charged for a while", at["trap"], later["trap"])
	}
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			gotSaid, gotAt, gotLater := answered(t, forge)
			if diff := cmp.Diff([]any{said, at, later}, []any{gotSaid, gotAt, gotLater}); diff != "" {
				t.Errorf("answer, predicted then and later (-honest +forged):\n%s", diff)
			}
		})
	}
}

// A request may overtake the watch. If the watch catches up soon, the answer is based on it and
// counts.
func TestOvertakingRequestsWaitForTheWatch(t *testing.T) {
	b, moved := attacked(t)
	told := time.AfterFunc(10*time.Millisecond, func() { show(b.observer, webPod("new")) })
	defer told.Stop()
	want := map[string]extender.Reject{"from": notThere, "to": keep, "trap": notThere, "other": notThere}
	if diff := cmp.Diff(want, b.filterUnseen(webPod("new"), attackedNodes...)); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	if move := b.move(moved); move.Replacement != "new" || !move.Asked || move.State != ledger.Booked || b.Asked() != 1 {
		t.Errorf("the move is %+v after %d requests", move, b.Asked())
	}
}

// A kube-scheduler in the same process is trusted: what it reserves counts even if the watch is
// late, but it takes over no move.
func TestCycleCountsBeforeTheWatch(t *testing.T) {
	b, moved := attacked(t)
	before := b.move(moved)
	b.Consider(webPod("new")).Reserve("other")
	if got := b.predicted("other")["other"]; got <= 3000 {
		t.Errorf("other is predicted at %d, want the reserved pod counted", got)
	}
	if diff := cmp.Diff(before, b.move(moved), cmp.AllowUnexported(ledger.Move{})); diff != "" {
		t.Errorf("the move (-before +after):\n%s", diff)
	}
	b.watch(webPod("new"))
	b.Consider(webPod("new")).Reserve("other")
	if move := b.move(moved); move.Node != "other" || !move.Asked || move.State != ledger.Booked {
		t.Errorf("the move is %+v, want it booked on other", move)
	}
	if diff := cmp.Diff(map[string]int64{"to": 2000, "other": 4000}, b.predicted("to", "other")); diff != "" {
		t.Errorf("predicted (-want +got):\n%s", diff)
	}
}

// The charge for an alternative node ends when the pod is bound, whichever node it is bound to.
func TestAlternativesEndWithTheBinding(t *testing.T) {
	b, _ := attacked(t)
	b.observer.Latest().Board.Adjust("to", cluster.Charge{Usage: cluster.Amounts{4000, 0}})
	b.filter(webPod("new"), attackedNodes...)
	b.bind("new", "other")
	if diff := cmp.Diff(map[string]int64{"to": 6000, "trap": 2500, "other": 4000}, b.predicted("to", "trap", "other")); diff != "" {
		t.Errorf("predicted (-want +got):\n%s", diff)
	}
}

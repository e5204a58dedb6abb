package ledger

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// play performs one random action in a second.
func play(b *books, rng *rand.Rand, second int) {
	now, uid := at(second), fmt.Sprintf("uid-%d", rng.IntN(9))
	node := func() string { return []string{"", "n1", "n2", "n3"}[rng.IntN(4)] }
	pod := webPod(fmt.Sprintf("new-%d", rng.IntN(60)))
	if rng.IntN(4) == 0 {
		pod = Pod{UID: fmt.Sprintf("db-%d", rng.IntN(60)), Namespace: "ns", Name: fmt.Sprintf("web-%d", rng.IntN(9)), OwnerUID: "sts-1", OwnerKind: "StatefulSet", TemplateHash: "h1"}
	}
	switch rng.IntN(13) {
	case 0, 1, 2:
		intent := web(rng.IntN(9), to(node()))
		intent.Usage = cluster.Amounts{rng.Int64N(3) * 100, rng.Int64N(3) << 20}
		intent.Wait, intent.TTL = 0, time.Duration(rng.IntN(200))*time.Second
		if rng.IntN(3) == 0 {
			statefulSet(&intent)
		}
		b.Record(now, intent)
	case 3, 4:
		b.Leaves(uid, now)
	case 5:
		b.Cancel(uid, now)
	case 6:
		if move, ok := b.Match(pod, now); ok {
			b.book(second, move.PodUID, node(), cluster.Amounts{50, 50})
		}
	case 7:
		b.Bound(pod, "n1", now)
	case 8:
		b.CancelOwner("ns", "rs-1", rng.IntN(3), now)
	case 9:
		b.Expire(now)
	case 10:
		b.Created(pod)
	case 11:
		b.Gone(pod.UID, now)
	case 12:
		if move, ok := b.Match(pod, now); ok {
			b.Answered(move.PodUID, cluster.Amounts{50, 50}, now)
		}
	}
}

// Whatever happens in whatever order, the ledger's reports add up to what it claims to reserve, and
// to nothing once every move has ended. The ledger remembers a bounded number of moves, and no pod
// takes up two of them.
func TestReservationsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for range 300 {
		b, second := newBooks(Config{SourceAvoidance: time.Minute, KeepEnded: 10}), 0
		for range 150 {
			second += rng.IntN(20)
			play(b, rng, second)
			checkReservations(t, b)
			checkReplacements(t, b)
		}
		b.Expire(at(second + 3600))
		inFlight, ended := b.Moves()
		if len(b.sums) > 0 || len(inFlight) > 0 {
			t.Fatalf("an hour later %v is reserved by %d moves", b.sums, len(inFlight))
		}
		if len(ended) > 10 || len(b.Expected()) > 0 || len(b.passed) > 0 || !b.Quiet() {
			t.Fatalf("an hour later %d moves and %d pods are remembered, %d expectations, quiet: %v",
				len(ended), len(b.passed), len(b.Expected()), b.Quiet())
		}
	}
}

// checkReservations compares the ledger's reports with the reservations that the ledger claims, and
// these with its moves.
func checkReservations(t *testing.T, b *books) {
	t.Helper()
	reserved := b.reserved()
	if !maps.Equal(reserved, b.sums) {
		t.Fatalf("reservations (-asked +reported):\n%s", cmp.Diff(reserved, b.sums))
	}
	moves := map[string]cluster.Amounts{}
	inFlight, _ := b.Moves()
	for i := range inFlight {
		if move := &inFlight[i]; move.Node != "" && move.measured() {
			moves[move.Node] = moves[move.Node].Plus(move.Usage)
		}
	}
	if !maps.Equal(moves, reserved) {
		t.Fatalf("reservations (-moves in flight +asked):\n%s", cmp.Diff(moves, reserved))
	}
	for node, sum := range reserved {
		for r, amount := range sum {
			if amount < 0 {
				t.Fatalf("%d of %v is reserved on %q", amount, cluster.Resource(r), node)
			}
		}
	}
}

// checkReplacements checks that no pod takes up more than one move.
func checkReplacements(t *testing.T, b *books) {
	t.Helper()
	taken := map[string]string{}
	inFlight, ended := b.Moves()
	for _, move := range append(inFlight, ended...) {
		if move.Replacement == "" || move.State == Cancelled || move.State == Expired {
			continue
		}
		if other, ok := taken[move.Replacement]; ok {
			t.Fatalf("pod %q takes up the moves of %q and %q", move.Replacement, other, move.PodUID)
		}
		taken[move.Replacement] = move.PodUID
	}
}

// The evictor, the extender and the pod watch use the ledger concurrently.
func TestLedgerIsSafeForConcurrentUse(t *testing.T) {
	b := newBooks(Config{SourceAvoidance: time.Minute, KeepEnded: 10})
	var wait sync.WaitGroup
	for seed := range uint64(8) {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			for second := range 500 {
				play(b, rng, second)
				b.Quiet()
				b.Avoid("ns", "rs-1", at(second), func(string) {})
				b.Expects("new-1")
				b.MovesOf("ns", "rs-1")
				b.Moving("uid-1")
				b.Export()
			}
		})
	}
	wait.Wait()
	b.Expire(at(10_000))
	if len(b.sums) > 0 {
		t.Errorf("in the end %v is reserved", b.sums)
	}
}

package ledger

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// check verifies that no ledger is in an invalid state.
func (w *world) check() {
	w.t.Helper()
	for _, l := range w.all() {
		checkReservations(w.t, l)
		checkReplacements(w.t, l)
		w.checkLandings(l)
	}
	if w.announcing {
		if first, second := pairs(w.followers[0]), pairs(w.followers[1]); !maps.Equal(first, second) {
			w.t.Fatalf("the followers pair differently (-first +second):\n%s", cmp.Diff(first, second))
		}
	}
}

// checkLandings verifies that only pods that have left were replaced, and only by pods that arrived
// after the move was recorded.
func (w *world) checkLandings(b *books) {
	w.t.Helper()
	landed := map[string]map[string]bool{} // moved pods, by family
	inFlight, ended := b.Moves()
	for _, move := range append(inFlight, ended...) {
		if move.State == Landed {
			family := move.Namespace + "/" + move.Owner.UID
			if landed[family] == nil {
				landed[family] = map[string]bool{}
			}
			landed[family][move.PodUID] = true
		}
		if i := slices.IndexFunc(w.pods, func(p *inhabitant) bool { return p.UID == move.Replacement }); i >= 0 && w.pods[i].Namespace != move.Namespace {
			w.t.Fatalf("pod %q of namespace %q replaces %q of %q", move.Replacement, w.pods[i].Namespace, move.PodUID, move.Namespace)
		}
		if move.State == Cancelled || move.State == Expired {
			continue
		}
		if (move.Replacement != "" || move.State == Landed) && move.Evicted.IsZero() {
			w.t.Fatalf("pod %q replaces %q, which never left", move.Replacement, move.PodUID)
		}
		if i := slices.IndexFunc(w.pods, func(p *inhabitant) bool { return p.UID == move.Replacement }); i >= 0 {
			if created := w.pods[i].Created; created.Before(move.Recorded.Add(-clockSlack)) {
				w.t.Fatalf("pod %q of %v replaces %q, recorded at %v", move.Replacement, created, move.PodUID, move.Recorded)
			}
		}
	}
	for family, pods := range landed {
		if len(pods) > w.left[family] {
			w.t.Fatalf("%d moved pods of %q were replaced, %d left", len(pods), family, w.left[family])
		}
	}
}

// attempt identifies a move. A pod may be moved again after a cancelled move.
type attempt struct {
	pod      string
	recorded int64
}

// pairs returns, for each move, the pod that replaces the moved one and whether the move has ended.
func pairs(b *books) map[attempt]string {
	all := map[attempt]string{}
	inFlight, ended := b.Moves()
	for _, move := range append(inFlight, ended...) {
		state := move.State
		if state == Booked {
			state = Evicted
		}
		all[attempt{move.PodUID, move.Recorded.Unix()}] = string(state) + " " + move.Replacement
	}
	return all
}

// play runs the whole script with a check after each line, and then lets every move expire.
func (w *world) play() {
	w.t.Helper()
	defer func() {
		if w.t.Failed() {
			w.t.Logf("announcing: %v\n%s", w.announcing, strings.Join(w.log, "\n"))
		}
	}()
	for len(w.script) > 0 {
		w.step()
		w.check()
	}
	w.second += 3600
	for _, l := range w.all() {
		l.Expire(w.now())
		if inFlight, _ := l.Moves(); len(inFlight) > 0 || len(l.sums) > 0 || len(l.passed) > 0 || len(l.Expected()) > 0 || !l.Quiet() {
			w.t.Fatalf("an hour later %d moves are in flight, %v is reserved, %v passed, %v expected, quiet: %v",
				len(inFlight), l.sums, l.passed, l.Expected(), l.Quiet())
		}
	}
}

// Whatever happens to pods and moves, and in whichever order processes learn of
// it, no pod replaces two others or a pod of another namespace, a pod that
// never left is not replaced, reservations add up, and processes that see the
// same events form the same pairs.
func FuzzMatching(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 2, 0, 0, 5, 0, 7, 0, 9, 0, 9, 12, 14})
	f.Add([]byte{1, 1, 2, 0, 1, 2, 13, 2, 0, 5, 0, 9, 0, 2, 0, 14, 13})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) <= 600 {
			newWorld(t, script).play()
		}
	})
}

func TestMatchingAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range 300 {
		script := make([]byte, 20+rng.IntN(200))
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		newWorld(t, script).play()
	}
}

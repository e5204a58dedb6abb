package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// A move from intent to landing, and what it reserves and expects at each step.
func TestMoveLands(t *testing.T) {
	b := newBooks(Config{})
	id := b.Record(web(1), at(0))
	steps := []struct {
		name     string
		do       func()
		state    State
		reserved map[string]cluster.Amounts
	}{
		{"recorded", func() {}, Intended, map[string]cluster.Amounts{"cool": used}},
		{"evicted", func() { b.Confirm(id) }, Evicted, map[string]cluster.Amounts{"cool": used}},
		{"confirmed again", func() { b.Confirm(id) }, Evicted, map[string]cluster.Amounts{"cool": used}},
		{"asked for", func() { mustMatch(t, b.Ledger, webPod("new"), 1) }, Evicted, map[string]cluster.Amounts{"cool": used}},
		{"booked elsewhere", func() { b.Book(id, "other", used) }, Booked, map[string]cluster.Amounts{"other": used}},
		{"confirmed late", func() { b.Confirm(id) }, Booked, map[string]cluster.Amounts{"other": used}},
		{"bound", func() { b.Bound(webPod("new"), "other", at(3)) }, Landed, map[string]cluster.Amounts{}},
		{"cancelled too late", func() { b.Cancel(id, at(4)) }, Landed, map[string]cluster.Amounts{}},
	}
	for _, step := range steps {
		step.do()
		if got := state(t, b.Ledger, id); got != step.state {
			t.Errorf("%s: state %q, want %q", step.name, got, step.state)
		}
		if diff := cmp.Diff(step.reserved, b.sums); diff != "" {
			t.Errorf("%s: reservations (-want +got):\n%s", step.name, diff)
		}
	}
	move, _ := b.Get(id)
	if move.Node != "other" || move.Replacement != "new" || move.ReplacementName != "web-new" || !move.Asked || move.InFlight() {
		t.Errorf("landed as %+v", move)
	}
	if got, ok := b.Expects("new"); !ok || got != used {
		t.Errorf("expected of the replacement: %v, want what its predecessor used", got)
	}
}

// Which pods take up a move.
func TestMatch(t *testing.T) {
	cases := map[string]struct {
		intent Intent
		pod    Pod
		second int
		want   bool
	}{
		"a new pod of the same ReplicaSet": {intent: web(1), pod: webPod("new"), want: true},
		"a pod of another owner":           {intent: web(1), pod: webPod("new", func(p *Pod) { p.OwnerUID = "rs-2" })},
		"a pod of another template":        {intent: web(1), pod: webPod("new", func(p *Pod) { p.TemplateHash = "h2" })},
		"a pod without an owner":           {intent: web(1), pod: webPod("new", func(p *Pod) { p.OwnerUID = "" })},
		"a pod without a UID":              {intent: web(1), pod: webPod("")},
		"the moved pod itself":             {intent: web(1), pod: webPod("uid-1")},
		"in the last second":               {intent: web(1), pod: webPod("new"), second: 300, want: true},
		"after the last second":            {intent: web(1), pod: webPod("new"), second: 301},
		"a StatefulSet's pod of the same name": {
			intent: web(1, statefulSet), want: true,
			pod: Pod{UID: "new", Name: "web-1", OwnerUID: "sts-1", OwnerKind: "StatefulSet", TemplateHash: "h1"},
		},
		"a StatefulSet's pod of another name": {
			intent: web(1, statefulSet),
			pod:    Pod{UID: "new", Name: "web-2", OwnerUID: "sts-1", OwnerKind: "StatefulSet", TemplateHash: "h1"},
		},
		"an owner that nobody has": {intent: web(1, func(i *Intent) { i.Owner = cluster.Owner{} }), pod: webPod("new", func(p *Pod) { p.OwnerUID = "" })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.Record(tc.intent, at(0))
			if _, got := b.Match(tc.pod, at(tc.second)); got != tc.want {
				t.Errorf("Match: %v, want %v", got, tc.want)
			}
		})
	}
}

// As many pods of an owner take up moves as moves are in flight, each its own, however often they ask; further ones, of a
// scale-up, are pods like any other.
func TestMatchByCount(t *testing.T) {
	b := newBooks(Config{})
	b.Record(web(1), at(0))
	b.Record(web(2), at(1))
	first, second := mustMatch(t, b.Ledger, webPod("a"), 2), mustMatch(t, b.Ledger, webPod("b"), 2)
	if first.Pod != "web-1" || second.Pod != "web-2" {
		t.Errorf("took up %s and %s, want the oldest first", first.Pod, second.Pod)
	}
	if again := mustMatch(t, b.Ledger, webPod("a"), 3); again.ID != first.ID {
		t.Errorf("asked again, pod a takes up move %d, want %d", again.ID, first.ID)
	}
	if _, ok := b.Match(webPod("c"), at(3)); ok {
		t.Error("a third pod takes up one of two moves")
	}
	b.Bound(webPod("a"), "cool", at(4))
	if _, ok := b.Match(webPod("c"), at(5)); ok {
		t.Error("a move that has landed is taken up again")
	}
}

// After two bookings a replacement is scheduled like any other pod, but still known when it lands.
func TestMaxAttempts(t *testing.T) {
	b := newBooks(Config{})
	id := b.Record(web(1), at(0))
	for attempt := range MaxAttempts {
		mustMatch(t, b.Ledger, webPod("new"), 1)
		b.Book(id, "cool", used)
		if move, _ := b.Get(id); move.Attempts != attempt+1 {
			t.Errorf("%d attempts counted, want %d", move.Attempts, attempt+1)
		}
	}
	if _, ok := b.Match(webPod("new"), at(2)); ok {
		t.Error("a third attempt")
	}
	if move, ok := b.Bound(webPod("new"), "elsewhere", at(3)); !ok || move.ID != id || move.Node != "elsewhere" {
		t.Errorf("bound as %+v, want the move landed elsewhere", move)
	}
}

// A replacement that nobody asked about lands as well: that is how absent steering is found out.
func TestBoundWithoutBeingAsked(t *testing.T) {
	b := newBooks(Config{})
	id := b.Record(web(1), at(0))
	move, ok := b.Bound(webPod("new"), "hot", at(2))
	if !ok || move.ID != id || move.Asked || move.State != Landed || move.Node != "hot" {
		t.Errorf("landed as %+v, want on the hot node, not asked", move)
	}
	if _, ok := b.Bound(webPod("other"), "hot", at(2)); ok {
		t.Error("one move landed twice")
	}
}

// What ends a move gives its reservation back.
func TestEndsRelease(t *testing.T) {
	cases := map[string]struct {
		end  func(*books, uint64)
		want State
	}{
		"cancelled":          {func(b *books, id uint64) { b.Cancel(id, at(1)) }, Cancelled},
		"the owner shrank":   {func(b *books, _ uint64) { b.CancelOwner("rs-1", 5, at(1)) }, Cancelled},
		"expired":            {func(b *books, _ uint64) { b.Expire(at(301)) }, Expired},
		"landed on its node": {func(b *books, _ uint64) { b.Bound(webPod("new"), "cool", at(1)) }, Landed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			id := b.Record(web(1), at(0))
			b.Record(web(2, func(i *Intent) { i.Owner.UID = "rs-2"; i.TTL = time.Hour }), at(0))
			tc.end(b, id)
			if got := state(t, b.Ledger, id); got != tc.want {
				t.Errorf("state %q, want %q", got, tc.want)
			}
			if diff := cmp.Diff(map[string]cluster.Amounts{"cool": used}, b.sums); diff != "" {
				t.Errorf("reservations (-want +got): the other move's alone\n%s", diff)
			}
		})
	}
}

// A move is in flight up to its last second.
func TestExpireIsExact(t *testing.T) {
	b := newBooks(Config{})
	id := b.Record(web(1), at(0))
	b.Expire(at(300))
	if got := state(t, b.Ledger, id); got != Intended {
		t.Errorf("after 300 s: %q, want it in flight", got)
	}
	b.Expire(at(301))
	if got := state(t, b.Ledger, id); got != Expired {
		t.Errorf("after 301 s: %q, want %q", got, Expired)
	}
}

// A scale-down cancels as many moves as pods fewer are wanted, the oldest first and none that has its replacement.
func TestCancelOwner(t *testing.T) {
	b := newBooks(Config{})
	taken, first, second := b.Record(web(1), at(0)), b.Record(web(2), at(1)), b.Record(web(3), at(2))
	mustMatch(t, b.Ledger, webPod("new"), 3)
	b.CancelOwner("rs-1", 1, at(4))
	b.CancelOwner("rs-2", 9, at(4))
	b.CancelOwner("rs-1", 0, at(4))
	got := []State{state(t, b.Ledger, taken), state(t, b.Ledger, first), state(t, b.Ledger, second)}
	if diff := cmp.Diff([]State{Intended, Cancelled, Intended}, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// A pod evicted by a plugin that measures nothing reserves what it is estimated at once it is booked, and nobody ever
// expects a replacement to use nothing.
func TestUnmeasuredMove(t *testing.T) {
	b := newBooks(Config{})
	first, second := b.Record(web(1, unmeasured, to("")), at(0)), b.Record(web(2, unmeasured, to("")), at(0))
	if len(b.sums) > 0 {
		t.Fatalf("reserved %v without a destination", b.sums)
	}
	estimate := cluster.Amounts{300, 1 << 20}
	mustMatch(t, b.Ledger, webPod("new"), 1)
	b.Book(first, "cool", estimate)
	if diff := cmp.Diff(map[string]cluster.Amounts{"cool": estimate}, b.sums); diff != "" {
		t.Errorf("reservations (-want +got):\n%s", diff)
	}
	b.Bound(webPod("new"), "cool", at(2))
	if got, _ := b.Expects("new"); got != estimate {
		t.Errorf("expected %v, want the estimate %v", got, estimate)
	}
	b.Bound(webPod("unasked"), "cool", at(2))
	if got := state(t, b.Ledger, second); got != Landed {
		t.Errorf("state %q, want %q", got, Landed)
	}
	b.Expire(at(3))
	if got, ok := b.Expects("unasked"); ok {
		t.Errorf("expected %v of a pod that nobody knows anything of", got)
	}
}

// An owner's pods are kept away from where one was moved from, for as long as the policy says and whatever became of the
// move, unless it was never made.
func TestAvoid(t *testing.T) {
	cases := map[string]struct {
		play   func(*books, uint64)
		owner  string
		second int
		want   []string
	}{
		"in flight":          {play: func(*books, uint64) {}, owner: "rs-1", second: 1, want: []string{"hot"}},
		"landed":             {play: func(b *books, _ uint64) { b.Bound(webPod("new"), "cool", at(1)) }, owner: "rs-1", second: 60, want: []string{"hot"}},
		"expired":            {play: func(b *books, _ uint64) { b.Expire(at(301)) }, owner: "rs-1", second: 599, want: []string{"hot"}},
		"cancelled":          {play: func(b *books, id uint64) { b.Cancel(id, at(1)) }, owner: "rs-1", second: 2},
		"after ten minutes":  {play: func(b *books, _ uint64) { b.Bound(webPod("new"), "cool", at(1)) }, owner: "rs-1", second: 600},
		"another owner":      {play: func(*books, uint64) {}, owner: "rs-2", second: 1},
		"nobody's pods":      {play: func(*books, uint64) {}, owner: "", second: 1},
		"forgotten with age": {play: func(b *books, _ uint64) { forget(b) }, owner: "rs-1", second: 500},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{SourceAvoidance: 10 * time.Minute, KeepEnded: 2})
			tc.play(b, b.Record(web(1), at(0)))
			var got []string
			b.Avoid(tc.owner, at(tc.second), func(node string) { got = append(got, node) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("avoided (-want +got):\n%s", diff)
			}
		})
	}
}

// forget ends the first move and as many others as a ledger of two remembers.
func forget(b *books) {
	b.Expire(at(301))
	for n := range 2 {
		b.Cancel(b.Record(web(5+n), at(302)), at(302))
	}
	b.Expire(at(303))
}

// Quiet is never true while a request could concern a move, and becomes true again.
func TestQuiet(t *testing.T) {
	b := newBooks(Config{SourceAvoidance: 10 * time.Minute})
	if !b.Quiet() {
		t.Error("an empty ledger is not quiet")
	}
	b.Record(web(1), at(0))
	if b.Quiet() {
		t.Error("quiet with a move in flight")
	}
	b.Bound(webPod("new"), "cool", at(5))
	b.Expire(at(5))
	if b.Quiet() {
		t.Error("quiet while a source is to be avoided")
	}
	b.Expire(at(600))
	if !b.Quiet() {
		t.Error("not quiet ten minutes later")
	}
}

// What a replacement is expected to use is forgotten after two windows, by when it is measured itself.
func TestExpectationsEnd(t *testing.T) {
	b := newBooks(Config{})
	b.Record(web(1), at(0))
	b.Bound(webPod("new"), "cool", at(10))
	b.Expire(at(609))
	if _, ok := b.Expects("new"); !ok {
		t.Error("forgotten after 599 s")
	}
	expected := b.Expected()
	b.Expire(at(610))
	if _, ok := b.Expects("new"); ok {
		t.Error("still expected after 600 s")
	}
	if len(expected) != 1 {
		t.Errorf("an earlier answer has changed: %v", expected)
	}
}

// What others ask of the moves in flight.
func TestQuestions(t *testing.T) {
	b := newBooks(Config{})
	id := b.Record(web(1), at(0))
	b.Record(web(2), at(0))
	b.Record(web(3, statefulSet), at(0))
	if got := b.MovesOf("rs-1"); len(got) != 2 || got[0].ID != id {
		t.Errorf("moves of the owner: %v, want 2", got)
	}
	if !b.Moving("uid-1") || b.Moving("uid-9") {
		t.Error("Moving knows the wrong pods")
	}
	b.Cancel(id, at(1))
	if of := b.MovesOf("rs-1"); b.Moving("uid-1") || of[0].State != Intended || of[1].State != Cancelled {
		t.Errorf("after a cancelled move: %v", of)
	}
	inFlight, ended := b.Moves()
	if len(inFlight) != 2 || len(ended) != 1 || ended[0].ID != id {
		t.Errorf("moves %v and %v", inFlight, ended)
	}
	inFlight[0].State = Expired
	if got := state(t, b.Ledger, inFlight[0].ID); got != Intended {
		t.Error("Moves hands out the ledger's own")
	}
	if _, ok := b.Get(99); ok {
		t.Error("a move that never was is known")
	}
}

package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// The test follows a move from intent to landing, with its reservations and expectations at each
// step.
func TestMoveLands(t *testing.T) {
	b := newBooks(Config{})
	b.Record(at(0), web(1))
	cool, other := map[string]cluster.Amounts{"cool": used}, map[string]cluster.Amounts{"other": used}
	steps := []struct {
		name     string
		do       func()
		state    State
		reserved map[string]cluster.Amounts
	}{
		{"recorded", func() {}, Intended, cool},
		{"recorded again", func() { b.Record(at(1), web(1, to("other"))) }, Intended, cool},
		{"evicted", func() { b.Leaves("uid-1", at(1)) }, Evicted, cool},
		{"seen to leave", func() { b.Leaves("uid-1", at(2)) }, Evicted, cool},
		{"refused by an answer that was lost", func() { b.Cancel("uid-1", at(2)) }, Evicted, cool},
		{"its replacement came", func() { b.Created(webPod("new")) }, Evicted, cool},
		{"asked for", func() { mustMatch(t, b.Ledger, webPod("new"), 2) }, Evicted, cool},
		{"booked elsewhere", func() { b.book(2, "uid-1", "other", used) }, Booked, other},
		{"gone", func() { b.Leaves("uid-1", at(3)) }, Booked, other},
		{"the cycle is over", func() { b.CancelIntended(at(3)) }, Booked, other},
		{"bound", func() { b.Bound(webPod("new"), "other", at(3)) }, Landed, map[string]cluster.Amounts{}},
		{"cancelled too late", func() { b.Cancel("uid-1", at(4)) }, Landed, map[string]cluster.Amounts{}},
		{"gone too late", func() { b.Leaves("uid-1", at(4)) }, Landed, map[string]cluster.Amounts{}},
	}
	for _, step := range steps {
		step.do()
		if got := state(t, b.Ledger, "uid-1"); got != step.state {
			t.Errorf("%s: state %q, want %q", step.name, got, step.state)
		}
		if diff := cmp.Diff(step.reserved, b.sums); diff != "" {
			t.Errorf("%s: reservations (-want +got):\n%s", step.name, diff)
		}
	}
	move, _ := b.Get("uid-1")
	if move.Node != "other" || move.Replacement != "new" || move.ReplacementName != "web-new" || !move.Asked || move.InFlight() {
		t.Errorf("landed as %+v", move)
	}
	if move.Recorded != at(0) || move.Evicted != at(1) || move.Ended != at(3) {
		t.Errorf("recorded %v, evicted %v, ended %v", move.Recorded, move.Evicted, move.Ended)
	}
	if got, ok := b.Expects("new"); !ok || got != used {
		t.Errorf("expected of the replacement: %v, want what its predecessor used", got)
	}
}

// As many pods of an owner take up moves as there are moves in flight, one each, however often they
// ask. Further pods, from a scale-up, are ordinary pods.
func TestMatchByCount(t *testing.T) {
	b := newBooks(Config{})
	b.move(0, web(1))
	b.move(1, web(2))
	first, second := mustMatch(t, b.Ledger, webPod("a"), 2), mustMatch(t, b.Ledger, webPod("b"), 2)
	if first.Pod != "web-1" || second.Pod != "web-2" {
		t.Errorf("took up %s and %s, want the oldest first", first.Pod, second.Pod)
	}
	if again := mustMatch(t, b.Ledger, webPod("a"), 3); again.PodUID != first.PodUID {
		t.Errorf("asked again, pod a takes up the move of %s, want %s", again.Pod, first.Pod)
	}
	if _, ok := b.Match(webPod("c"), at(3)); ok {
		t.Error("a third pod takes up one of two moves")
	}
	b.Bound(webPod("a"), "cool", at(4))
	if _, ok := b.Match(webPod("c"), at(5)); ok {
		t.Error("a move that has landed is taken up again")
	}
}

// After two attempts, a replacement is scheduled like any other pod, but is still recognized when
// it lands.
func TestMaxAttempts(t *testing.T) {
	b := newBooks(Config{})
	b.move(0, web(1))
	for attempt := range MaxAttempts {
		mustMatch(t, b.Ledger, webPod("new"), 1+attempt)
		b.Answered("uid-1", used, at(1+attempt))
		b.Answered("uid-1", used, at(1+attempt)) // prioritize follows filter
		if move, _ := b.Get("uid-1"); move.Attempts != attempt+1 {
			t.Errorf("%d attempts counted, want %d", move.Attempts, attempt+1)
		}
	}
	if _, ok := b.Match(webPod("new"), at(2)); ok {
		t.Error("a third attempt")
	}
	if move, ok := b.Bound(webPod("new"), "elsewhere", at(3)); !ok || move.PodUID != "uid-1" || move.Node != "elsewhere" {
		t.Errorf("bound as %+v, want the move landed elsewhere", move)
	}
}

// A replacement about which nobody was asked lands as well. This is how missing steering is
// detected.
func TestBoundWithoutBeingAsked(t *testing.T) {
	b := newBooks(Config{})
	b.move(0, web(1))
	move, ok := b.Bound(webPod("new"), "hot", at(2))
	if !ok || move.PodUID != "uid-1" || move.Asked || move.State != Landed || move.Node != "hot" {
		t.Errorf("landed as %+v, want on the hot node, not asked", move)
	}
	if _, ok := b.Bound(webPod("other"), "hot", at(2)); ok {
		t.Error("one move landed twice")
	}
}

// However a move ends, its reservation is released.
func TestEndsRelease(t *testing.T) {
	cases := map[string]struct {
		end  func(*books)
		want State
	}{
		"cancelled":          {func(b *books) { b.Cancel("uid-1", at(1)) }, Cancelled},
		"never made":         {func(b *books) { b.CancelIntended(at(1)) }, Cancelled},
		"the owner shrank":   {func(b *books) { b.CancelOwner("ns", "rs-1", 5, at(1)) }, Cancelled},
		"expired":            {func(b *books) { b.Expire(at(361)) }, Expired},
		"landed on its node": {func(b *books) { b.Leaves("uid-1", at(1)); b.Bound(webPod("new"), "cool", at(1)) }, Landed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.Record(at(0), web(1))
			b.move(0, web(2, func(i *Intent) { i.Owner.UID = "rs-2"; i.TTL = time.Hour }))
			tc.end(b)
			if got := state(t, b.Ledger, "uid-1"); got != tc.want {
				t.Errorf("state %q, want %q", got, tc.want)
			}
			if diff := cmp.Diff(map[string]cluster.Amounts{"cool": used}, b.sums); diff != "" {
				t.Errorf("reservations (-want +got): the other move's alone\n%s", diff)
			}
		})
	}
}

// A move is in flight up to its last second. If its pod has not left, that is for its wait plus its
// TTL, otherwise for its TTL from when the pod left.
func TestExpireIsExact(t *testing.T) {
	cases := map[string]struct {
		leaves int // in seconds; 0 if never
		last   int
	}{
		"its pod never leaves":   {0, 360},
		"its pod leaves at once": {1, 301},
		"its pod leaves late":    {350, 650},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.Record(at(0), web(1))
			if tc.leaves > 0 {
				b.Leaves("uid-1", at(tc.leaves))
			}
			b.Expire(at(tc.last))
			if got := state(t, b.Ledger, "uid-1"); !got.InFlight() {
				t.Errorf("after %d s: %q, want it in flight", tc.last, got)
			}
			b.Expire(at(tc.last + 1))
			if got := state(t, b.Ledger, "uid-1"); got != Expired {
				t.Errorf("after %d s: %q, want %q", tc.last+1, got, Expired)
			}
		})
	}
}

// Moves of pods in another namespace that name an owner do not keep that owner's pods off any node.
func TestForgedOwnersAvoidNothing(t *testing.T) {
	b := newBooks(Config{SourceAvoidance: 10 * time.Minute})
	b.move(0, web(1, func(i *Intent) { i.Namespace = "evil" }))
	b.Avoid("ns", "rs-1", at(1), func(node string) { t.Errorf("kept away from %q", node) })
	if moves := b.MovesOf("ns", "rs-1"); len(moves) > 0 {
		t.Errorf("counted as the owner's: %v", moves)
	}
}

// A scale-down cancels as many moves as fewer pods are wanted, the oldest first. It cancels no move
// that has its replacement, and none of a pod in another namespace.
func TestCancelOwner(t *testing.T) {
	b := newBooks(Config{})
	forged := web(0)
	forged.Namespace = "other"
	b.move(0, forged)
	b.move(0, web(1))
	b.move(1, web(2))
	b.move(2, web(3))
	mustMatch(t, b.Ledger, webPod("new"), 3)
	b.CancelOwner("ns", "rs-1", 1, at(4))
	b.CancelOwner("ns", "rs-2", 9, at(4))
	b.CancelOwner("ns", "rs-1", 0, at(4))
	got := []State{state(t, b.Ledger, "uid-1"), state(t, b.Ledger, "uid-2"), state(t, b.Ledger, "uid-3"), state(t, b.Ledger, "uid-0")}
	if diff := cmp.Diff([]State{Evicted, Cancelled, Evicted, Evicted}, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// A pod whose eviction was refused may be moved again.
func TestRecordedAgain(t *testing.T) {
	b := newBooks(Config{})
	b.Record(at(0), web(1))
	b.Cancel("uid-1", at(1))
	b.Record(at(60), web(1, to("other")))
	if diff := cmp.Diff(map[string]cluster.Amounts{"other": used}, b.sums); diff != "" {
		t.Errorf("reservations (-want +got):\n%s", diff)
	}
	inFlight, ended := b.Moves()
	if len(inFlight) != 1 || len(ended) != 1 || inFlight[0].Recorded != at(60) || ended[0].Recorded != at(0) {
		t.Errorf("moves %v and %v", inFlight, ended)
	}
	if got := state(t, b.Ledger, "uid-1"); got != Intended {
		t.Errorf("state %q, want the newest, %q", got, Intended)
	}
}

// A pod that a plugin without measurements has evicted reserves its estimate once its replacement
// is booked. The replacement is never expected to use nothing.
func TestUnmeasuredMove(t *testing.T) {
	b := newBooks(Config{})
	b.move(0, web(1, unmeasured, to("")), web(2, unmeasured, to("")))
	if len(b.sums) > 0 {
		t.Fatalf("reserved %v without a destination", b.sums)
	}
	estimate := cluster.Amounts{300, 1 << 20}
	mustMatch(t, b.Ledger, webPod("new"), 1)
	b.book(1, "uid-1", "cool", estimate)
	if diff := cmp.Diff(map[string]cluster.Amounts{"cool": estimate}, b.sums); diff != "" {
		t.Errorf("reservations (-want +got):\n%s", diff)
	}
	b.Bound(webPod("new"), "cool", at(2))
	if got, _ := b.Expects("new"); got != estimate {
		t.Errorf("expected %v, want the estimate %v", got, estimate)
	}
	b.Bound(webPod("unasked"), "cool", at(2))
	if got := state(t, b.Ledger, "uid-2"); got != Landed {
		t.Errorf("state %q, want %q", got, Landed)
	}
	b.Expire(at(3))
	if got, ok := b.Expects("unasked"); ok {
		t.Errorf("expected %v of a pod about which nothing is known", got)
	}
}

// After a move, the owner's pods are kept off its source for as long as the policy sets, whatever
// became of the move, unless it was never made.
func TestAvoid(t *testing.T) {
	leaves := func(b *books) { b.Leaves("uid-1", at(0)) }
	after := func(end func(*books)) func(*books) { return func(b *books) { leaves(b); end(b) } }
	lands := after(func(b *books) { b.Bound(webPod("new"), "cool", at(1)) })
	cases := map[string]struct {
		play   func(*books)
		owner  string
		second int
		want   []string
	}{
		"intended":           {play: func(*books) {}, owner: "rs-1", second: 1},
		"in flight":          {play: leaves, owner: "rs-1", second: 1, want: []string{"hot"}},
		"landed":             {play: lands, owner: "rs-1", second: 60, want: []string{"hot"}},
		"expired":            {play: after(func(b *books) { b.Expire(at(301)) }), owner: "rs-1", second: 599, want: []string{"hot"}},
		"cancelled":          {play: func(b *books) { b.Cancel("uid-1", at(1)) }, owner: "rs-1", second: 2},
		"the owner shrank":   {play: after(func(b *books) { b.CancelOwner("ns", "rs-1", 1, at(1)) }), owner: "rs-1", second: 2},
		"after ten minutes":  {play: lands, owner: "rs-1", second: 600},
		"another owner":      {play: leaves, owner: "rs-2", second: 1},
		"nobody's pods":      {play: leaves, owner: "", second: 1},
		"forgotten with age": {play: after(forget), owner: "rs-1", second: 500},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{SourceAvoidance: 10 * time.Minute, KeepEnded: 2})
			b.Record(at(0), web(1))
			tc.play(b)
			var got []string
			b.Avoid("ns", tc.owner, at(tc.second), func(node string) { got = append(got, node) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("avoided (-want +got):\n%s", diff)
			}
		})
	}
}

// forget ends the first move, and as many others as a ledger with KeepEnded 2 remembers.
func forget(b *books) {
	b.Expire(at(301))
	for n := range 2 {
		b.move(302, web(5+n, statefulSet))
		b.CancelOwner("ns", "sts-1", 1, at(302))
	}
	b.Expire(at(303))
}

// Quiet is never true while a request could concern a move, and becomes true again afterwards.
func TestQuiet(t *testing.T) {
	b := newBooks(Config{SourceAvoidance: 10 * time.Minute})
	if !b.Quiet() {
		t.Error("an empty ledger is not quiet")
	}
	b.move(0, web(1))
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

// The expected usage of a replacement is forgotten after two windows. By then the replacement
// itself has been measured.
func TestExpectationsEnd(t *testing.T) {
	b := newBooks(Config{})
	b.move(0, web(1))
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

// Moves that were never made do not displace moves that were, because a tenant can cause any number
// of them.
func TestMovesThatWereNotMadeDisplaceNoOthers(t *testing.T) {
	b := newBooks(Config{KeepEnded: 3})
	b.move(0, web(1))
	b.Bound(webPod("new"), "cool", at(1))
	b.Record(at(2), web(2))
	b.Deny("uid-2", "not now", at(2))
	for n := 3; n < 9; n++ {
		b.Record(at(n), web(n))
		b.Cancel(web(n).PodUID, at(n))
		b.Expire(at(n))
	}
	_, ended := b.Moves()
	var pods []string
	for i := range ended {
		pods = append(pods, ended[i].PodUID)
	}
	if diff := cmp.Diff([]string{"uid-1", "uid-2", "uid-8"}, pods); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
}

// These are the queries about moves in flight.
func TestQueries(t *testing.T) {
	b := newBooks(Config{})
	b.Record(at(0), web(1), web(2), web(3, statefulSet))
	if got := b.MovesOf("ns", "rs-1"); len(got) != 2 || got[0].PodUID != "uid-1" {
		t.Errorf("moves of the owner: %v, want 2", got)
	}
	if !b.Moving("uid-1") || b.Moving("uid-9") {
		t.Error("Moving returns the wrong pods")
	}
	b.Cancel("uid-1", at(1))
	if of := b.MovesOf("ns", "rs-1"); b.Moving("uid-1") || of[0].State != Intended || of[1].State != Cancelled {
		t.Errorf("after a cancelled move: %v", of)
	}
	inFlight, ended := b.Moves()
	if len(inFlight) != 2 || len(ended) != 1 || ended[0].PodUID != "uid-1" {
		t.Errorf("moves %v and %v", inFlight, ended)
	}
	inFlight[0].State = Expired
	if got := state(t, b.Ledger, inFlight[0].PodUID); got != Intended {
		t.Error("Moves hands out the ledger's own")
	}
	if _, ok := b.Get("uid-99"); ok {
		t.Error("a move that never was is known")
	}
}

// A change that others must know about increases the revision, and a repetition does not. The
// Listener is called once for each end.
func TestRevisionsAndEnds(t *testing.T) {
	b := newBooks(Config{})
	hold := Hold{Reason: "TooManyPending", Since: at(1), Until: at(600)}
	steps := []struct {
		name    string
		do      func()
		changes bool
	}{
		{"nothing expires", func() { b.Expire(at(0)) }, false},
		{"recorded", func() { b.Record(at(0), web(1), web(2), web(3)) }, true},
		{"recorded again", func() { b.Record(at(0), web(1)) }, false},
		{"leaves", func() { b.Leaves("uid-1", at(1)) }, true},
		{"leaves again", func() { b.Leaves("uid-1", at(1)) }, false},
		{"somebody leaves", func() { b.Leaves("uid-9", at(1)) }, false},
		{"lands", func() { b.Bound(webPod("new"), "cool", at(2)) }, true},
		{"judged", func() { b.SetOutcome("uid-1", &Outcome{Judged: at(300), Healthy: true}, nil) }, true},
		{"judged who never landed", func() { b.SetOutcome("uid-2", &Outcome{}, nil) }, false},
		{"held", func() { b.SetHold(hold) }, true},
		{"held for the same", func() { b.SetHold(hold) }, false},
		{"cancelled", func() { b.Cancel("uid-2", at(3)) }, true},
		{"cancelled again", func() { b.Cancel("uid-2", at(3)) }, false},
		{"expired", func() { b.Expire(at(900)) }, true},
	}
	for _, step := range steps {
		before := b.Revision()
		step.do()
		if got := b.Revision() > before; got != step.changes {
			t.Errorf("%s: revision %d after %d, want a change: %v", step.name, b.Revision(), before, step.changes)
		}
	}
	if diff := cmp.Diff([]State{Landed, Cancelled, Expired}, b.ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if move, _ := b.Get("uid-1"); move.Outcome == nil || !move.Outcome.Healthy || b.Hold() != hold {
		t.Errorf("kept %+v and %+v", move.Outcome, b.Hold())
	}
}

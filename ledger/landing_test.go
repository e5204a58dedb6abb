package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// The cases show which pods take up a move whose pod left in the second in which the move was
// recorded.
func TestMatch(t *testing.T) {
	created := func(second int) func(*Pod) { return func(p *Pod) { p.Created = at(second) } }
	db := func(name string) Pod {
		return Pod{UID: "new", Namespace: "ns", Name: name, OwnerUID: "sts-1", OwnerKind: "StatefulSet", TemplateHash: "h1"}
	}
	nobodys := func(i *Intent) { i.Owner = cluster.Owner{} }
	inAnother := db("web-1")
	elsewhere(&inAnother)
	cases := map[string]struct {
		intent Intent
		pod    Pod
		second int
		want   bool
	}{
		"a new pod of the same ReplicaSet":      {intent: web(1), pod: webPod("new"), want: true},
		"created then":                          {intent: web(1), pod: webPod("new", created(0)), want: true},
		"created by a clock a little behind":    {intent: web(1), pod: webPod("new", created(-3)), want: true},
		"created before":                        {intent: web(1), pod: webPod("new", created(-4))},
		"a pod of another owner":                {intent: web(1), pod: webPod("new", func(p *Pod) { p.OwnerUID = "rs-2" })},
		"a pod in another namespace":            {intent: web(1), pod: webPod("new", elsewhere)},
		"a pod of another template":             {intent: web(1), pod: webPod("new", func(p *Pod) { p.TemplateHash = "h2" })},
		"a pod without an owner":                {intent: web(1), pod: webPod("new", func(p *Pod) { p.OwnerUID = "" })},
		"a pod without a UID":                   {intent: web(1), pod: webPod("")},
		"the moved pod itself":                  {intent: web(1), pod: webPod("uid-1")},
		"in the last second":                    {intent: web(1), pod: webPod("new"), second: 300, want: true},
		"after the last second":                 {intent: web(1), pod: webPod("new"), second: 301},
		"a StatefulSet's pod of the same name":  {intent: web(1, statefulSet), pod: db("web-1"), want: true},
		"a namesake in another namespace":       {intent: web(1, statefulSet), pod: inAnother},
		"a StatefulSet's pod with another name": {intent: web(1, statefulSet), pod: db("web-2")},
		"an unknown owner":                      {intent: web(1, nobodys), pod: webPod("new", func(p *Pod) { p.OwnerUID = "" })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.move(0, tc.intent)
			if _, got := b.Match(tc.pod, at(tc.second)); got != tc.want {
				t.Errorf("Match: %v, want %v", got, tc.want)
			}
		})
	}
}

// elsewhere puts a pod into another namespace but keeps its owner. Anyone who is allowed to create
// pods there can forge such an owner.
func elsewhere(p *Pod) { p.Namespace = "other" }

// A pod of another namespace never takes up a move.
func TestForgedOwnersTakeNothing(t *testing.T) {
	forged := webPod("forged", elsewhere)
	cases := map[string]func(*books){
		"seen by the watch": func(b *books) { b.Created(forged) },
		"asked about":       func(b *books) { b.Match(forged, at(2)) },
		"asked about before the watch reported it": func(b *books) { b.Guess(forged, at(2)) },
		"bound": func(b *books) { b.Bound(forged, "n1", at(2)) },
		"bound before the move was known": func(b *books) {
			follower := newBooks(Config{})
			follower.Adopt(b.Export(), at(2))
			follower.Reconcile(snapshot("n1", forged), at(3))
			b.Ledger = follower.Ledger
		},
		"replacing one that left": func(b *books) {
			b.Created(webPod("new"))
			b.Created(forged)
			b.Gone("new", at(3))
		},
	}
	for name, play := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.move(1, web(1))
			if b.Overtaken(forged) {
				t.Error("its request waits for the watch, as if it could take the move")
			}
			play(b)
			if move, _ := b.Get("uid-1"); move.Replacement != "" || !move.InFlight() || move.Asked {
				t.Errorf("the move is now %+v", move)
			}
			b.Created(webPod("own"))
			if move, _ := b.Get("uid-1"); move.Replacement != "own" {
				t.Errorf("its own replacement does not take it: %+v", move)
			}
		})
	}
}

// Pods arrive in the order of the watch, and the first one that finds an open move replaces its
// pod, whichever pod is asked about or bound first. A pod that arrived before the moved pod left
// never replaces it.
func TestPairsInTheOrderOfTheWatch(t *testing.T) {
	cases := map[string]struct {
		play func(*books)
		want map[string]string // replacements by moved pod
	}{
		"bound in another order": {
			play: func(b *books) {
				b.move(1, web(1), web(2))
				b.Created(webPod("a"))
				b.Created(webPod("b"))
				b.Bound(webPod("b"), "n", at(2))
				b.Bound(webPod("a"), "n", at(2))
			},
			want: map[string]string{"uid-1": "a", "uid-2": "b"},
		},
		"one that came between recording and leaving": {
			play: func(b *books) {
				b.Record(at(1), web(1))
				b.Created(webPod("early"))
				b.Leaves("uid-1", at(1))
				b.Match(webPod("early"), at(2))
				b.Bound(webPod("early"), "n", at(2))
				b.Created(webPod("late"))
			},
			want: map[string]string{"uid-1": "late"},
		},
		"one too many": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Created(webPod("a"))
				b.Created(webPod("b"))
				b.Record(at(2), web(2))
				b.Leaves("uid-2", at(2))
				b.Match(webPod("b"), at(2))
				b.Bound(webPod("b"), "n", at(2))
			},
			want: map[string]string{"uid-1": "a", "uid-2": ""},
		},
		"reported again by a watch that restarted": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Created(webPod("a"))
				b.move(2, web(2))
				b.Created(webPod("a"))
			},
			want: map[string]string{"uid-1": "a", "uid-2": ""},
		},
		"a replacement that went before it was bound": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Created(webPod("a"))
				b.book(2, "uid-1", "n", used)
				b.Gone("a", at(3))
				b.Created(webPod("b"))
			},
			want: map[string]string{"uid-1": "b"},
		},
		"asked about before the watch reported it": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Guess(webPod("a"), at(1))
				b.Created(webPod("a"))
				b.Created(webPod("b"))
			},
			want: map[string]string{"uid-1": "a"},
		},
		"asked about before the watch reported that any left": {
			play: func(b *books) {
				b.Record(at(1), web(1), web(2))
				b.Guess(webPod("a"), at(1))
				b.Leaves("uid-2", at(1))
				b.Bound(webPod("a"), "n", at(1))
			},
			want: map[string]string{"uid-1": "", "uid-2": "a"},
		},
		"asked about first, but reported later than another": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Guess(webPod("b"), at(1))
				b.Created(webPod("a"))
				b.Created(webPod("b"))
				b.Bound(webPod("b"), "n", at(1))
			},
			want: map[string]string{"uid-1": "a"},
		},
		"one of an owner that is scaled up, asked about while another move is only intended": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Created(webPod("a"))
				b.Record(at(1), web(2))
				b.Guess(webPod("b"), at(1))
				b.Bound(webPod("b"), "n", at(1))
				b.Leaves("uid-2", at(2))
				b.Created(webPod("c"))
			},
			want: map[string]string{"uid-1": "a", "uid-2": "c"},
		},
		"two that came for one, of which the first leaves": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Created(webPod("a"))
				b.Created(webPod("b"))
				b.Created(webPod("c"))
				b.Bound(webPod("b"), "n", at(2))
				b.Gone("a", at(3))
			},
			want: map[string]string{"uid-1": "b"},
		},
		"two that came for one, of which both leave": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Created(webPod("a"))
				b.Created(webPod("b"))
				b.Bound(webPod("b"), "n", at(2))
				b.Leaves("b", at(2))
				b.Gone("a", at(3))
			},
			want: map[string]string{"uid-1": ""},
		},
		"one that came before the pod left does not replace it": {
			play: func(b *books) {
				b.Record(at(1), web(1))
				b.Created(webPod("early"))
				b.Leaves("uid-1", at(1))
				b.Created(webPod("a"))
				b.Gone("a", at(3))
			},
			want: map[string]string{"uid-1": ""},
		},
		"another one went": {
			play: func(b *books) {
				b.move(1, web(1))
				b.Created(webPod("a"))
				b.Gone("b", at(3))
				b.Created(webPod("b"))
			},
			want: map[string]string{"uid-1": "a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			tc.play(b)
			got := map[string]string{}
			for uid := range tc.want {
				move, _ := b.Get(uid)
				got[uid] = move.Replacement
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("replacements (-want +got):\n%s", diff)
			}
		})
	}
}

// A guess about a pod that the watch does not know changes nothing, and a pod that is not known to
// be the replacement books nothing.
func TestGuessesTakeNothing(t *testing.T) {
	b := newBooks(Config{})
	b.Record(at(0), web(1), web(2))
	b.Leaves("uid-2", at(0))
	before := b.Export()
	for _, uid := range []string{"a", "b", "c"} {
		if move, ok := b.Guess(webPod(uid), at(1)); !ok || move.PodUID != "uid-2" {
			t.Errorf("guessed %q for %s, want the one that left", move.PodUID, uid)
		}
		if b.Book("uid-2", uid, "n", used, at(1)) {
			t.Errorf("%s is booked", uid)
		}
	}
	if diff := cmp.Diff(before, b.Export(), cmp.AllowUnexported(Move{})); diff != "" {
		t.Errorf("the ledger after guesses (-want +got):\n%s", diff)
	}
	b.Created(webPod("own"))
	if move, ok := b.Guess(webPod("own"), at(2)); !ok || move.PodUID != "uid-2" {
		t.Errorf("guessed %q for the replacement, want its move", move.PodUID)
	}
	b.Created(webPod("other"))
	if move, ok := b.Guess(webPod("other"), at(2)); ok {
		t.Errorf("guessed %q for a pod that is known to replace nothing", move.PodUID)
	}
}

// A booking is forgotten when its pod is deleted, so the next pod has the full number of attempts.
func TestGoneGivesAttemptsBack(t *testing.T) {
	b := newBooks(Config{})
	b.move(0, web(1))
	for attempt := range MaxAttempts {
		mustMatch(t, b.Ledger, webPod("a"), 1+attempt)
		b.book(1+attempt, "uid-1", "n", used)
	}
	b.Gone("a", at(3))
	if move := mustMatch(t, b.Ledger, webPod("b"), 2); move.Attempts != 0 || move.Node != "n" {
		t.Errorf("the next pod finds %+v, want no attempts and the reservation where it was", move)
	}
}

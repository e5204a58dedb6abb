package ledger

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var up = Surge{Deployment: "web", Replicas: 1}

// What becomes of a move whose Deployment is scaled up.
func TestSurge(t *testing.T) {
	pod, third := webPod("new"), webPod("third")
	cases := map[string]struct {
		play   func(*books)
		want   Move // State, Replacement, Node, Evicted, Outcome and Surge
		moving bool
	}{
		"recorded, nobody takes it up before the Deployment is scaled up": {
			play:   func(b *books) { b.Created(pod) },
			want:   Move{State: Intended, Node: "cool"},
			moving: true,
		},
		"begun, the next pod takes it up": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.Created(pod)
			},
			want:   Move{State: Intended, Node: "cool", Replacement: "new", Surge: &up},
			moving: true,
		},
		"booked": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.Match(pod, at(2))
				b.book(2, "uid-1", "mild", used)
			},
			want:   Move{State: Booked, Node: "mild", Replacement: "new", Surge: &up},
			moving: true,
		},
		"landed, it waits for its pod to leave": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.Created(pod)
				b.Bound(pod, "cool", at(2))
				b.Record(at(3), web(1))
				b.Bound(third, "cool", at(4))
			},
			want:   Move{State: Landed, Node: "cool", Replacement: "new", Surge: &up},
			moving: true,
		},
		"landed, evicted": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.Created(pod)
				b.Bound(pod, "cool", at(2))
				b.Accepted("uid-1", at(5))
				b.Leaves("uid-1", at(6))
				b.Bound(third, "cool", at(7))
			},
			want:   Move{State: Landed, Node: "cool", Replacement: "new", Evicted: at(5), Accepted: true, Surge: &up},
			moving: true,
		},
		"done": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.Created(pod)
				b.Bound(pod, "cool", at(2))
				b.Accepted("uid-1", at(5))
				b.EndSurge("uid-1", at(6))
				b.EndSurge("uid-1", at(7))
			},
			want: Move{State: Landed, Node: "cool", Replacement: "new", Evicted: at(5), Accepted: true, Surge: &Surge{"web", 1, true}},
		},
		"given up before a replacement came": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.EndSurge("uid-1", at(2))
				b.Created(pod)
				b.Bound(pod, "cool", at(3))
			},
			want: Move{State: Cancelled, Surge: &Surge{"web", 1, true}},
		},
		"given up when it was booked": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.Match(pod, at(2))
				b.book(2, "uid-1", "mild", used)
				b.EndSurge("uid-1", at(3))
			},
			want: Move{State: Cancelled, Replacement: "new", Surge: &Surge{"web", 1, true}},
		},
		"given up when it had landed: a move that did not help": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.Created(pod)
				b.Bound(pod, "cool", at(2))
				b.EndSurge("uid-1", at(3))
			},
			want: Move{
				State: Landed, Node: "cool", Replacement: "new", Surge: &Surge{"web", 1, true},
				Outcome: &Outcome{Judged: at(3), Planned: true},
			},
		},
		"the pod leaves by itself: a move like any other": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.Leaves("uid-1", at(2))
				b.EndSurge("uid-1", at(3))
				b.Created(pod)
				b.Bound(pod, "cool", at(4))
			},
			want: Move{State: Landed, Node: "cool", Replacement: "new", Evicted: at(2), Surge: &Surge{"web", 1, true}},
		},
		"its process is gone": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.CancelIntended(at(2))
			},
			want:   Move{State: Cancelled, Surge: &up},
			moving: true,
		},
		"its process is gone, and it is settled": {
			play: func(b *books) {
				b.BeginSurge("uid-1", up)
				b.CancelIntended(at(2))
				b.EndSurge("uid-1", at(3))
			},
			want: Move{State: Cancelled, Surge: &Surge{"web", 1, true}},
		},
		"begun too late": {
			play: func(b *books) {
				b.Leaves("uid-1", at(1))
				if b.BeginSurge("uid-1", up) {
					b.Cancel("uid-1", at(1)) // shows in the state
				}
			},
			want:   Move{State: Evicted, Node: "cool", Evicted: at(1)},
			moving: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.Record(at(0), web(1))
			tc.play(b)
			got, _ := b.Get("uid-1")
			only := cmpopts.IgnoreFields(Move{}, "Intent", "ReplacementName", "Asked", "Attempts", "Recorded", "Ended")
			if diff := cmp.Diff(tc.want, got, only, cmpopts.IgnoreUnexported(Move{})); diff != "" {
				t.Errorf("move (-want +got):\n%s", diff)
			}
			if b.Moving("uid-1") != tc.moving || len(b.Surges()) > 0 != got.Surging() {
				t.Errorf("moving %v, want %v; surges %+v", b.Moving("uid-1"), tc.moving, b.Surges())
			}
			if diff := cmp.Diff(b.reserved(), b.sums); diff != "" {
				t.Errorf("reserved (-asked +told):\n%s", diff)
			}
		})
	}
}

// A pod that comes between the landing of a replacement and the end of its
// surge is looked at, as long as that takes.
func TestSurgeIsNotQuiet(t *testing.T) {
	b := newBooks(Config{})
	b.Record(at(0), web(1))
	b.BeginSurge("uid-1", up)
	b.Bound(webPod("new"), "cool", at(2))
	if b.Expire(at(3)); b.Quiet() {
		t.Error("quiet while a surge is open")
	}
	b.EndSurge("uid-1", at(4))
	if b.Expire(at(5)); !b.Quiet() {
		t.Error("busy for ever")
	}
}

// A surge that failed is told from one that did not.
func TestSurgeFailed(t *testing.T) {
	b := newBooks(Config{})
	b.Record(at(0), web(1), web(2), web(3))
	b.BeginSurge("uid-1", up)
	b.BeginSurge("uid-2", up)
	b.Accepted("uid-2", at(1))
	b.EndSurge("uid-1", at(2))
	b.EndSurge("uid-2", at(2))
	for podUID, want := range map[string]bool{"uid-1": true, "uid-2": false, "uid-3": false} {
		if move, _ := b.Get(podUID); move.SurgeFailed() != want {
			t.Errorf("%s: failed %v, want %v", podUID, move.SurgeFailed(), want)
		}
	}
}

// What another process learns of a surge, as a separate extender and as the
// next to evict.
func TestSurgeIsFollowed(t *testing.T) {
	leader, follower := newBooks(Config{}), newBooks(Config{})
	adopt := func(second int) Move {
		packed, err := leader.Export().Encode()
		if err != nil {
			t.Fatal(err)
		}
		document, err := Decode(packed)
		if err != nil {
			t.Fatal(err)
		}
		follower.Adopt(document, at(second))
		move, _ := follower.Get("uid-1")
		return move
	}
	leader.Record(at(0), web(1))
	adopt(0)
	leader.BeginSurge("uid-1", up)
	if move := adopt(1); !move.Surging() || move.State != Intended {
		t.Errorf("begun: %+v", move)
	}
	pod := webPod("new")
	mustMatch(t, follower.Ledger, pod, 2)
	follower.Bound(pod, "cool", at(2))
	leader.Bound(pod, "cool", at(2))
	if move := adopt(3); !move.Surging() || move.State != Landed || len(follower.Surges()) != 1 {
		t.Errorf("landed: %+v", move)
	}
	leader.Accepted("uid-1", at(4))
	leader.EndSurge("uid-1", at(5))
	if move := adopt(5); move.Surging() || !move.Evicted.Equal(at(4)) || len(follower.Surges()) > 0 {
		t.Errorf("done: %+v", move)
	}
}

// The next process to evict finds what the last one left, whatever had become
// of the move.
func TestSurgeIsInherited(t *testing.T) {
	cases := map[string]func(*books){
		"in flight": func(*books) {},
		"landed":    func(b *books) { b.Bound(webPod("new"), "cool", at(2)) },
		"evicted": func(b *books) {
			b.Bound(webPod("new"), "cool", at(2))
			b.Accepted("uid-1", at(3))
		},
		"cancelled": func(b *books) { b.CancelIntended(at(2)) },
		"expired":   func(b *books) { b.Expire(at(3600)) },
	}
	for name, play := range cases {
		t.Run(name, func(t *testing.T) {
			last, next := newBooks(Config{}), newBooks(Config{})
			last.Record(at(0), web(1))
			last.BeginSurge("uid-1", up)
			play(last)
			next.Adopt(last.Export(), at(7200))
			next.CancelIntended(at(7200))
			if open := next.Surges(); len(open) != 1 || *open[0].Surge != up {
				t.Fatalf("surges %+v", open)
			}
			next.EndSurge("uid-1", at(7201))
			next.Adopt(last.Export(), at(7202)) // a late copy
			if open := next.Surges(); len(open) > 0 {
				t.Errorf("begun again: %+v", open)
			}
		})
	}
}

// A surge of which the process that scales says nothing any more is forgotten.
func TestSurgeIsForgotten(t *testing.T) {
	b := newBooks(Config{})
	b.Record(at(0), web(1))
	b.BeginSurge("uid-1", up)
	b.Adopt(Document{Format: Format}, at(1))
	if open := b.Surges(); len(open) > 0 {
		t.Errorf("surges %+v", open)
	}
}

// A stored ledger with a surge that no Ledger could have written is refused.
func TestSurgeOfADamagedDocument(t *testing.T) {
	cases := map[string]struct {
		surge Surge
		want  string
	}{
		"no Deployment":     {Surge{Replicas: 1}, "names no Deployment"},
		"of nothing":        {Surge{Deployment: "web"}, "of 0 replicas"},
		"of less":           {Surge{Deployment: "web", Replicas: -1}, "of -1 replicas"},
		"of a great many":   {Surge{Deployment: "web", Replicas: 1 << 30}, "want 1 to 1000"},
		"as it should be":   {up, ""},
		"and when finished": {Surge{"web", 1, true}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.Record(at(0), web(1))
			b.BeginSurge("uid-1", up)
			document := b.Export()
			document.Moves[0].Surge = &tc.surge
			packed, err := document.Encode()
			if err != nil {
				t.Fatal(err)
			}
			_, err = Decode(packed)
			if got := err != nil; got != (tc.want != "") || got && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

package ledger

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// snapshot returns a cluster of one node with the given pods, which all belong to the ReplicaSet
// rs-1.
func snapshot(node string, pods ...Pod) *cluster.Snapshot {
	on := &cluster.NodePods{Node: cluster.Node{Name: node}}
	for _, p := range pods {
		on.Pods = append(on.Pods, &cluster.Pod{
			UID: p.UID, Namespace: p.Namespace, Name: p.Name, Node: node, Created: p.Created, TemplateHash: p.TemplateHash,
			Owner: cluster.Owner{UID: p.OwnerUID, Kind: p.OwnerKind},
		})
	}
	return &cluster.Snapshot{Nodes: []*cluster.NodePods{on}}
}

// A process that adopts another's documents, and sees the same pods come and go, ends up with the
// same ledger.
func TestFollows(t *testing.T) {
	type pair struct {
		State       State
		Replacement string
	}
	cases := map[string]struct {
		play func(leader, follower *books)
		want map[string]pair
	}{
		"each move its own replacement": {
			play: func(l, f *books) {
				l.Record(at(0), web(1), web(2))
				f.Adopt(l.Export(), at(0))
				x := webPod("x", func(p *Pod) { p.Created = at(1) })
				f.Leaves("uid-1", at(1))
				f.Created(x)
				f.Bound(x, "cool", at(2))
				f.Leaves("uid-2", at(3))
				f.Reconcile(snapshot("cool", x), at(4))
			},
			want: map[string]pair{"uid-1": {Landed, "x"}, "uid-2": {Evicted, ""}},
		},
		"a refused eviction that is tried again": {
			play: func(l, f *books) {
				l.Record(at(0), web(1))
				l.Cancel("uid-1", at(1))
				l.Record(at(60), web(1))
				f.Adopt(l.Export(), at(60))
			},
			want: map[string]pair{"uid-1": {Intended, ""}},
		},
		"a refused eviction that is tried again, and an old document": {
			play: func(l, f *books) {
				l.Record(at(0), web(1))
				l.Cancel("uid-1", at(1))
				old := l.Export()
				l.Record(at(60), web(1))
				f.Adopt(l.Export(), at(60))
				f.Adopt(old, at(61))
			},
			want: map[string]pair{"uid-1": {Intended, ""}},
		},
		"a move that ended and began again between two documents": {
			play: func(l, f *books) {
				l.Record(at(0), web(1))
				f.Adopt(l.Export(), at(0))
				l.Cancel("uid-1", at(1))
				l.Record(at(60), web(1))
				f.Adopt(l.Export(), at(60))
				f.Expire(at(300))
				f.Expire(at(400))
			},
			want: map[string]pair{"uid-1": {Intended, ""}},
		},
		"a replacement that the writer gave to another move": {
			play: func(l, f *books) {
				l.move(0, web(1), web(2))
				f.Adopt(l.Export(), at(0))
				l.CancelOwner("ns", "rs-1", 1, at(1)) // of uid-1, which the follower does not know yet
				l.Created(webPod("x"))
				f.Created(webPod("x"))
				l.Bound(webPod("x"), "cool", at(2))
				f.Adopt(l.Export(), at(3))
			},
			want: map[string]pair{"uid-1": {Cancelled, "x"}, "uid-2": {Landed, "x"}},
		},
		"an outdated document does not restore a cancelled move": {
			play: func(l, f *books) {
				l.Record(at(0), web(1))
				old := l.Export()
				l.Cancel("uid-1", at(1))
				f.Adopt(l.Export(), at(1))
				f.Adopt(old, at(2))
			},
			want: map[string]pair{"uid-1": {Cancelled, ""}},
		},
		"a move whose time is over": {
			play: func(l, f *books) {
				l.Record(at(0), web(1))
				f.Adopt(l.Export(), at(361))
			},
			want: map[string]pair{"uid-1": {Expired, ""}},
		},
		"a replacement that came before the move was known": {
			play: func(l, f *books) {
				x := webPod("x", func(p *Pod) { p.Created = at(1) })
				l.move(0, web(1))
				f.Created(x)
				f.Adopt(l.Export(), at(2))
				f.Reconcile(snapshot("cool", x), at(3))
			},
			want: map[string]pair{"uid-1": {Landed, "x"}},
		},
		"a sibling of old": {
			play: func(l, f *books) {
				x := webPod("x", func(p *Pod) { p.Created = at(-60) })
				l.move(0, web(1))
				f.Adopt(l.Export(), at(2))
				f.Reconcile(snapshot("cool", x), at(3))
			},
			want: map[string]pair{"uid-1": {Evicted, ""}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			leader, follower := newBooks(Config{}), newBooks(Config{})
			tc.play(leader, follower)
			got := map[string]pair{}
			for uid := range tc.want {
				move, _ := follower.Get(uid)
				got[uid] = pair{move.State, move.Replacement}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the follower's moves (-want +got):\n%s", diff)
			}
			checkReservations(t, follower)
			checkReplacements(t, follower)
		})
	}
}

// A follower adopts copies of the hold and the outcomes.
func TestAdoptsHoldAndOutcomes(t *testing.T) {
	leader, follower := newBooks(Config{}), newBooks(Config{})
	leader.SetHold(Hold{Reason: "TooManyPending", Until: at(600)})
	leader.move(0, web(1))
	leader.Bound(webPod("x"), "cool", at(1))
	follower.Adopt(leader.Export(), at(2))
	leader.SetOutcome("uid-1", &Outcome{Judged: at(300), Healthy: true}, nil)
	document := leader.Export()
	follower.Adopt(document, at(301))
	document.Moves[0].Outcome.Healthy = false
	if move, _ := follower.Get("uid-1"); move.Outcome == nil || !move.Outcome.Healthy || follower.Hold() != leader.Hold() {
		t.Errorf("the follower has %+v and %+v", move.Outcome, follower.Hold())
	}
	if got, ok := follower.Expects("x"); !ok || got != used {
		t.Errorf("the replacement is expected to use %v, want %v", got, used)
	}
	follower.Expire(at(1).Add(expectFor + time.Second))
	if _, ok := follower.Expects("x"); ok {
		t.Error("the pod is expected indefinitely")
	}
}

// A follower knows of a denial, because it may lead next.
func TestAdoptsDenials(t *testing.T) {
	leader, follower := newBooks(Config{}), newBooks(Config{})
	leader.Record(at(0), web(1))
	follower.Adopt(leader.Export(), at(1))
	leader.Deny("uid-1", "webhook said no"+strings.Repeat("é", 200), at(2))
	follower.Adopt(leader.Export(), at(3))
	move, _ := follower.Get("uid-1")
	if move.State != Cancelled || !strings.HasPrefix(move.Denied, "webhook said no") || len(move.Denied) > maxDenied || !utf8.ValidString(move.Denied) {
		t.Errorf("the follower has the move as %s, denied %q", move.State, move.Denied)
	}
}

// The next leader knows how a replacement arrived, and why its owner must wait, whatever that
// process has observed itself.
func TestHowAReplacementCameIsAdopted(t *testing.T) {
	for name, sees := range map[string]func(follower *books, recorded Document){
		"nothing":  func(*books, Document) {},
		"the move": func(f *books, recorded Document) { f.Adopt(recorded, at(0)) },
		"the pod leave": func(f *books, recorded Document) {
			f.Adopt(recorded, at(0))
			f.Leaves("uid-1", at(1))
		},
		"the landing, after a gap in its watch": func(f *books, recorded Document) {
			f.Adopt(recorded, at(0))
			f.Leaves("uid-1", at(1))
			f.Bound(webPod("x", func(p *Pod) { p.Scheduled = true }), "cool", at(2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			leader, follower := newBooks(Config{}), newBooks(Config{})
			leader.Record(at(0), web(1))
			sees(follower, leader.Export())
			leader.Leaves("uid-1", at(1))
			leader.Bound(webPod("x"), "cool", at(2))
			leader.Unsteered("uid-1", "Unsteerable")
			follower.Adopt(leader.Export(), at(3))
			if move, _ := follower.Get("uid-1"); move.State != Landed || !move.CameBound || move.Unsteered != "Unsteerable" {
				t.Errorf("%s, came bound %v, held against its owner for %q", move.State, move.CameBound, move.Unsteered)
			}
		})
	}
}

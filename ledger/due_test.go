package ledger

import (
	"testing"
	"time"
)

// A replacement is due from when its pod leaves until the move is given up. That is soon after the
// pod is gone, because the rest of its grace period no longer counts then.
func TestDue(t *testing.T) {
	slow := web(1, func(i *Intent) { i.TTL, i.Margin = time.Hour+5*time.Minute, 5*time.Minute })
	for name, tc := range map[string]struct {
		intent  Intent
		happens func(*books)
		from    int // seconds
		until   int
	}{
		"planned only":                         {slow, func(*books) {}, -1, -1},
		"evicted, and terminating":             {slow, func(b *books) { b.Accepted("uid-1", at(0)) }, 0, 3900},
		"its pod has gone":                     {slow, func(b *books) { b.Accepted("uid-1", at(0)); b.Left("uid-1", at(60)) }, 0, 360},
		"its pod has gone without an eviction": {slow, func(b *books) { b.Left("uid-1", at(60)) }, 0, 360},
		"gone when the grace period was over":  {slow, func(b *books) { b.Accepted("uid-1", at(0)); b.Left("uid-1", at(3800)) }, 0, 3900},
		"reported twice":                       {slow, func(b *books) { b.Left("uid-1", at(60)); b.Left("uid-1", at(600)) }, 0, 360},
		"recorded by an earlier version": {
			web(1, func(i *Intent) { i.TTL = time.Hour }), func(b *books) { b.Accepted("uid-1", at(0)); b.Left("uid-1", at(60)) }, 0, 3600,
		},
		"its replacement has come": {slow, func(b *books) { b.Left("uid-1", at(60)); b.Created(webPod("new")) }, -1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.Record(at(0), tc.intent)
			tc.happens(b)
			move, _ := b.Get("uid-1")
			for _, second := range []int{tc.from, tc.until, tc.until + 1} {
				want := second >= 0 && second <= tc.until && tc.until >= 0
				if got := move.Due(at(second)); got != want {
					t.Errorf("after %d s: due %v, want %v", second, got, want)
				}
			}
		})
	}
}

// Another process learns from the document that a pod is gone.
func TestThatAPodHasGoneIsStored(t *testing.T) {
	b, other := newBooks(Config{}), newBooks(Config{})
	intent := web(1, func(i *Intent) { i.TTL, i.Margin = time.Hour+5*time.Minute, 5*time.Minute })
	b.Record(at(0), intent)
	b.Accepted("uid-1", at(0))
	other.Adopt(b.Export(), at(0))
	b.Left("uid-1", at(60))
	for range 2 {
		other.Adopt(b.Export(), at(61))
		if move, _ := other.Get("uid-1"); !move.Expires().Equal(at(360)) {
			t.Errorf("the move expires at %v", move.Expires())
		}
		other = newBooks(Config{}) // one that has just started
	}
}

// During its rollout, a StatefulSet recreates a pod from another template. The new pod is not a
// replacement, and none will come. A pod of another name has no effect.
func TestRolloutsSupersedeMoves(t *testing.T) {
	set := web(1, statefulSet)
	for name, tc := range map[string]struct {
		intent Intent
		pod    func(*Pod)
		want   State
	}{
		"another template":                   {set, func(p *Pod) { p.TemplateHash = "h2" }, Cancelled},
		"another template, another pod":      {set, func(p *Pod) { p.TemplateHash, p.Name = "h2", "web-2" }, Evicted},
		"another template, there before":     {set, func(p *Pod) { p.TemplateHash, p.Created = "h2", at(-60) }, Evicted},
		"another template, the pod itself":   {set, func(p *Pod) { p.TemplateHash, p.UID = "h2", "uid-1" }, Evicted},
		"another template, another set":      {set, func(p *Pod) { p.TemplateHash, p.OwnerUID = "h2", "sts-2" }, Evicted},
		"another template, a namesake's":     {set, func(p *Pod) { p.TemplateHash, p.Namespace = "h2", "other" }, Evicted},
		"another template of a ReplicaSet":   {web(1), func(p *Pod) { p.TemplateHash, p.OwnerUID, p.OwnerKind = "h2", "rs-1", "ReplicaSet" }, Evicted},
		"the same template: the replacement": {set, func(*Pod) {}, Landed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBooks(Config{})
			b.move(0, tc.intent)
			pod := Pod{UID: "new", Namespace: "ns", Name: "web-1", OwnerUID: "sts-1", OwnerKind: "StatefulSet", TemplateHash: "h1", Created: at(30)}
			tc.pod(&pod)
			b.Bound(pod, "cool", at(30))
			if move, _ := b.Get("uid-1"); move.State != tc.want {
				t.Errorf("the move is %s, want %s", move.State, tc.want)
			}
		})
	}
}

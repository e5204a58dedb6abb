package placement

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// countedLists counts how often all pods of a walk are listed.
type countedLists struct {
	*randomWalk

	lists int
}

func (c *countedLists) Pods() []*v1.Pod {
	c.lists++
	return c.o.pods
}

// Everything is listed for the first session, after too many changes, and if a node has come or
// gone. Otherwise a session reads only what has changed.
func TestOnlyWhatChangedIsRead(t *testing.T) {
	at := &countedLists{randomWalk: &randomWalk{t: t, f: offline(t), o: &oracle{}}}
	at.follower = at.f.Follow(at)
	at.o.nodes = []*v1.Node{aNode("a"), aNode("b")}
	at.o.pods = []*v1.Pod{aPod("p", "a"), aPod("filler", "b", cpu("3500m"))}
	fits := func(what string, lists int, want map[string]bool) {
		t.Helper()
		at.lists = 0
		s := at.follow()
		defer s.Close()
		got := map[string]bool{}
		for node := range want {
			got[node] = s.Fits(at.o.pods[0], node).OK
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: where the pod fits (-want +got):\n%s", what, diff)
		}
		if at.lists != lists {
			t.Errorf("%s: all pods were listed %d times, want %d", what, at.lists, lists)
		}
	}
	at.o.pods[0] = aPod("p", "a", cpu("1"))
	fits("the first session", 1, map[string]bool{"a": true, "b": false})
	fits("nothing has changed", 0, map[string]bool{"a": true, "b": false})

	at.o.pods[1] = aPod("filler", "b", cpu("500m"))
	at.follower.PodChanged(at.o.pods[1])
	fits("a pod has changed", 0, map[string]bool{"a": true, "b": true})

	at.o.nodes[1] = aNode("b", nodeLabel(v1.LabelOSStable, "windows"))
	at.follower.NodeChanged("b")
	fits("a node has another platform", 0, map[string]bool{"a": true, "b": false})

	at.o.nodes = append(at.o.nodes, aNode("c"))
	at.follower.NodeChanged("c")
	fits("a node has come", 1, map[string]bool{"a": true, "b": false, "c": true})

	at.o.nodes = slices.Delete(at.o.nodes, 2, 3)
	at.follower.NodeChanged("c")
	fits("a node has gone", 1, map[string]bool{"a": true, "b": false, "c": false})

	at.follower.NodeChanged("d")
	fits("a node has come and gone in between", 0, map[string]bool{"a": true, "d": false})

	for range maxChanges {
		at.follower.PodChanged(at.o.pods[1])
	}
	fits("as many changes as are recorded", 0, map[string]bool{"a": true})
	for range maxChanges + 1 {
		at.follower.PodChanged(at.o.pods[1])
	}
	if n := len(at.follower.pods); n > 0 {
		t.Errorf("%d changes are recorded although everything will be listed", n)
	}
	fits("one more", 1, map[string]bool{"a": true})
	fits("nothing has changed after that", 0, map[string]bool{"a": true})

	at.o.pods = append(at.o.pods, nil)
	at.follower.forget()
	for range 2 {
		if s, err := at.follower.Begin(); err == nil {
			s.Close()
			t.Error("a session on an unnamed pod")
		}
	}
	at.o.pods = at.o.pods[:2]
	fits("after an error", 1, map[string]bool{"a": true})
}

// Changes may be reported while a session is open, and sessions requested concurrently.
func TestChangesDuringSessions(t *testing.T) {
	w := &randomWalk{t: t, f: offline(t), o: &oracle{}}
	w.follower = w.f.Follow(w)
	w.o.nodes, w.o.pods = []*v1.Node{aNode("a"), aNode("b")}, []*v1.Pod{aPod("p", "a")}
	open := w.follow()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for k := range 100 {
				w.follower.PodChanged(aPod(fmt.Sprint(i, "-", k), "a"))
				w.follower.NodeChanged("a")
			}
		})
	}
	all.Wait()
	open.Close()
	for range 4 {
		all.Go(func() {
			s, err := w.follower.Begin()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if got := s.Fits(w.o.pods[0], "b"); !got.OK {
				t.Errorf("the pod does not fit: %+v", got)
			}
		})
	}
	all.Wait()
}

// A spread constraint counts a zone as soon as a node's label has created it.
func TestZonesOfRelabelledNodesCount(t *testing.T) {
	w := &randomWalk{t: t, f: offline(t), o: &oracle{}}
	w.follower = w.f.Follow(w)
	for i := range 4 {
		w.o.nodes = append(w.o.nodes, aNode(numbered("node", i), nodeLabel(zoneKey, "first")))
	}
	for i := range 2 {
		w.o.pods = append(w.o.pods, aPod(numbered("web", i), numbered("node", i), podLabel("app", "web"), spread(zoneKey, 1, selecting("app", "web"))))
	}
	s := w.follow()
	if got := s.Fits(w.o.pods[0], "node-1"); !got.OK {
		t.Errorf("the only zone: %+v", got)
	}
	s.Close()
	relabelled := 2
	if w.f.snapshot.domainsBy([]string{zoneKey})[0].node.Name == "node-2" {
		relabelled = 3 // not the node that represents its zone
	}
	w.o.nodes[relabelled] = aNode(numbered("node", relabelled), nodeLabel(zoneKey, "second"))
	w.follower.NodeChanged(numbered("node", relabelled))
	s = w.follow()
	defer s.Close()
	if got := s.Fits(w.o.pods[0], "node-1"); got.OK {
		t.Error("two pods in one zone and none in the other, with a skew of at most 1")
	}
}

package extender

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"

	"github.com/google/go-cmp/cmp"
)

// Exactly the nodes that a request names are found, in whatever order it names them and however
// well earlier requests predict that order.
func TestNodesAreFoundInAnyOrder(t *testing.T) {
	known := append(nodeNames(40), "a", "ab", `quo"ted`, "ümlaut", "")
	index := NewIndex(known)
	rnd := rand.New(rand.NewPCG(1, 2))
	var e exchange
	for range 500 {
		names := someOf(rnd, append(known, "unknown", "abc"))
		if err := e.req.decode(namesRequest(t, realisticPod(), names...), index); err != nil {
			t.Fatal(err)
		}
		e.resolve(found{index})
		for i, name := range names {
			if want := index.Find([]byte(name)); e.nodes[i] != want {
				t.Fatalf("%q at %d of %q is node %d, want %d", name, i, names, e.nodes[i], want)
			}
		}
	}
}

// someOf returns some consecutive names in order, as kube-scheduler sends them, and sometimes
// shuffles them.
func someOf(rnd *rand.Rand, all []string) []string {
	start, length := rnd.IntN(len(all)), 1+rnd.IntN(len(all))
	var names []string
	for i := range length {
		names = append(names, all[(start+i)%len(all)])
	}
	if rnd.IntN(3) == 0 {
		rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return names
}

// What was learned with one Index has no effect on the next.
func TestNodesAreFoundAgainInANewIndex(t *testing.T) {
	before, after := NewIndex([]string{"a", "b", "c"}), NewIndex([]string{"c", "b"})
	var e exchange
	for range 2 { // the second round uses what the first has learned
		if err := e.req.decode(namesRequest(t, realisticPod(), "a", "b", "c"), before); err != nil {
			t.Fatal(err)
		}
	}
	if got := e.resolve(found{after}); got != after {
		t.Error("the next request is not guided by the newest index")
	}
	if diff := cmp.Diff([]cluster.NodeIndex{-1, 1, 0}, e.nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// A text that merely starts with the expected name is not mistaken for it, and invalid JSON is
// still rejected.
func TestOnlyWholeNamesAreExpected(t *testing.T) {
	index := NewIndex([]string{"a", "b"})
	var e exchange
	ask := func(list string) error {
		return e.req.decode([]byte(`{"Pod":{"metadata":{"name":"p"}},"NodeNames":[`+list+`]}`), index)
	}
	for range 2 {
		if err := ask(`"a","b","a"`); err != nil {
			t.Fatal(err)
		}
	}
	for list, want := range map[string][]cluster.NodeIndex{
		`"a","bc","a"`: {0, -1, 0},
		`"a","b" ,"a"`: {0, 1, 0},
		`"a","` + strings.Repeat("b", 9) + `","a"`: {0, -1, 0},
		`"a","\u0062","a"`:                         {0, 1, 0},
	} {
		if err := ask(list); err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		e.resolve(found{index})
		if diff := cmp.Diff(want, e.nodes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", list, diff)
		}
	}
	for _, list := range []string{`"a","b"`, `"a","b"x,"a"`, `"a","b","a`, `"a","b`, `"a","`, `"a",`} {
		err := ask(list)
		if wrong := list != `"a","b"`; wrong != (err != nil) {
			t.Errorf("%s: error %v", list, err)
		}
	}
}

// found is a Round that only looks up nodes.
type found struct{ index *Index }

func (f found) Index() *Index                              { return f.index }
func (f found) Node(name []byte) cluster.NodeIndex         { return f.index.Find(name) }
func (found) Filter(*Pod, []cluster.NodeIndex, []Reject)   {}
func (found) Prioritize(*Pod, []cluster.NodeIndex, []int8) {}

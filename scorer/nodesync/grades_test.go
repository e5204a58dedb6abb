package nodesync

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// tainted returns an object with our taints, given by the last parts of their keys.
func tainted(names ...string) Object {
	r := record{Taints: map[string]string{}}
	o := Object{Name: "a", ResourceVersion: "7"}
	for _, name := range names {
		r.Taints["evenkeel.io/"+name] = "true"
		o.Taints = append(o.Taints, v1.Taint{Key: "evenkeel.io/" + name, Value: "true", Effect: v1.TaintEffectPreferNoSchedule})
	}
	if len(names) > 0 {
		o.Annotations = map[string]string{RecordKey: text(r)}
	}
	return o
}

// graded returns the node after a decision, and the last parts of its taints' keys.
func graded(policy Policy, node Node) (Object, string) {
	patch := Decide(policy, node, noon).Patch
	o := node.Object
	if len(patch.taints) > 0 {
		o.Taints = patch.allTaints
	}
	o.Annotations = after(o.Annotations, patch)
	if patch.recordChanged && patch.record == nil {
		delete(o.Annotations, RecordKey)
	}
	var names []string
	for _, taint := range o.Taints {
		names = append(names, strings.TrimPrefix(taint.Key, "evenkeel.io/"))
	}
	return o, strings.Join(names, " ")
}

// A node above its reject line has one taint, and a node above its evict line two.
func TestGrades(t *testing.T) {
	both, hotOnly, rejectOnly := grading(), grading(), grading()
	hotOnly.RejectTaint.Enabled, rejectOnly.Taint.Enabled = false, false
	none, one, two := tainted(), tainted("above-reject"), tainted("above-reject", "hot")
	old := tainted("hot") // as written before there were two taints
	cases := map[string]struct {
		policy Policy
		node   Node
		want   string
	}{
		"below":                              {both, Node{Object: none, Known: true, BelowReject: true}, ""},
		"above reject":                       {both, Node{Object: none, Known: true, AboveReject: true}, "above-reject"},
		"between, from below":                {both, Node{Object: none, Known: true}, ""},
		"between, from above":                {both, Node{Object: one, Known: true}, "above-reject"},
		"below again":                        {both, Node{Object: one, Known: true, BelowReject: true}, ""},
		"hot":                                {both, Node{Object: none, Known: true, Hot: true, AboveReject: true}, "above-reject hot"},
		"hot, from one":                      {both, Node{Object: one, Known: true, Hot: true, AboveReject: true}, "above-reject hot"},
		"hot, though below its reject line":  {both, Node{Object: none, Known: true, Hot: true, BelowReject: true}, "above-reject hot"},
		"no longer hot":                      {both, Node{Object: two, Known: true, AboveReject: true}, "above-reject"},
		"no longer hot, and between":         {both, Node{Object: two, Known: true}, "above-reject"},
		"no longer hot, and below":           {both, Node{Object: two, Known: true, BelowReject: true}, ""},
		"unknown, none":                      {both, Node{Object: none, Hot: true, AboveReject: true}, ""},
		"unknown, one":                       {both, Node{Object: one, Hot: true, BelowReject: true}, "above-reject"},
		"unknown, two":                       {both, Node{Object: two, BelowReject: true}, "above-reject hot"},
		"left out":                           {both, Node{Object: two, Known: true, Hot: true, Out: true}, ""},
		"the second is turned on":            {both, Node{Object: old, Known: true, Hot: true}, "hot above-reject"},
		"the second is turned off":           {hotOnly, Node{Object: two, Known: true, Hot: true, AboveReject: true}, "hot"},
		"both are turned off, unknown":       {off(), Node{Object: two}, ""},
		"hot, by the first alone":            {hotOnly, Node{Object: none, Known: true, Hot: true, AboveReject: true}, "hot"},
		"above reject, by the first alone":   {hotOnly, Node{Object: none, Known: true, AboveReject: true}, ""},
		"hot, by the second alone":           {rejectOnly, Node{Object: none, Known: true, Hot: true, AboveReject: true}, "above-reject"},
		"no longer hot, by the second alone": {rejectOnly, Node{Object: one, Known: true, BelowReject: true}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now, got := graded(tc.policy, tc.node)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			again := tc.node
			again.Object = now
			if patch := Decide(tc.policy, again, noon).Patch; !patch.Empty() {
				t.Errorf("patched twice: %s", bodyOf(t, patch))
			}
		})
	}
}

// In whatever order states follow each other, a hot node has both taints, a node above its reject
// line at least the reject taint, a node clearly below it none, and an unknown node the taints that
// it had. A hot node never has fewer taints than another one. Taints of other writers stay, a
// second decision changes nothing, and a removal leaves none of our taints.
func TestGradesFollowEveryCourse(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 26))
	foreign := v1.Taint{Key: "disk", Value: "full", Effect: v1.TaintEffectPreferNoSchedule}
	namesake := v1.Taint{Key: "evenkeel.io/hot", Value: "true", Effect: v1.TaintEffectNoExecute}
	for range 300 {
		o := Object{Name: "a", ResourceVersion: "7", Taints: []v1.Taint{foreign, namesake}}
		before := 0
		for range 30 {
			n := Node{Object: o, Known: random.IntN(4) > 0, Hot: random.IntN(3) == 0}
			switch random.IntN(3) {
			case 0:
				n.AboveReject = true
			case 1:
				n.BelowReject = true
			}
			o, _ = graded(grading(), n)
			ours := len(o.Taints) - 2
			want := map[bool]int{true: 1}[n.AboveReject]
			switch {
			case !n.Known:
				want = before
			case n.Hot:
				want = 2
			case !n.AboveReject && !n.BelowReject:
				want = min(before, 1)
			}
			if ours != want {
				t.Fatalf("%d taints after %d, want %d: %+v", ours, before, want, n)
			}
			if diff := cmp.Diff([]v1.Taint{foreign, namesake}, o.Taints[:2]); diff != "" {
				t.Fatalf("other taints (-want +got):\n%s", diff)
			}
			n.Object = o
			if again := Decide(grading(), n, noon).Patch; !again.Empty() {
				t.Fatalf("a second look changes %s", bodyOf(t, again))
			}
			before = ours
		}
		if gone, _ := graded(Policy{}, Node{Object: o}); len(gone.Taints) != 2 || len(gone.Annotations) != 0 {
			t.Fatalf("left behind: %+v", gone)
		}
	}
}

// A record of both taints is accepted when it is read back.
func TestBothTaintsAreOnRecord(t *testing.T) {
	o, _ := graded(grading(), Node{Object: tainted(), Known: true, Hot: true})
	var got record
	if err := json.Unmarshal([]byte(o.Annotations[RecordKey]), &got); err != nil {
		t.Fatal(err)
	}
	want := record{Taints: map[string]string{"evenkeel.io/hot": "true", "evenkeel.io/above-reject": "true"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, corrupt := readRecord(o.Annotations, RecordKey); corrupt {
		t.Error("not believed")
	}
}

package cluster

import "testing"

// What taints and a deletion make of a node: whether pods may land there, and
// whether it is relieved.
func TestTaintRule(t *testing.T) {
	rule := TaintRule{Leaving: []string{"drained", "gone.io/*"}, Closing: []string{"soft", "nth/*", "drained", "evenkeel.io/*"}, Own: []string{"evenkeel.io/hot", "gone.io/ours"}}
	cases := map[string]struct {
		taints                    []string
		deleting                  bool
		leaving, closedBy, closed string
	}{
		"none":                      {},
		"somebody else's":           {taints: []string{"dedicated", "nth", "softer", "a/soft"}},
		"closing":                   {taints: []string{"dedicated", "soft"}, closedBy: "soft", closed: "Tainted: soft"},
		"closing by its prefix":     {taints: []string{"nth/spot-itn"}, closedBy: "nth/spot-itn", closed: "Tainted: nth/spot-itn"},
		"leaving by its prefix":     {taints: []string{"gone.io/now"}, leaving: "gone.io/now", closed: "Leaving: gone.io/now"},
		"a key of both lists":       {taints: []string{"drained"}, leaving: "drained", closedBy: "drained", closed: "Leaving: drained"},
		"closing, then leaving":     {taints: []string{"soft", "gone.io/now"}, leaving: "gone.io/now", closedBy: "soft", closed: "Leaving: gone.io/now"},
		"our own, by two prefixes":  {taints: []string{"evenkeel.io/hot", "gone.io/ours"}},
		"our own, and another":      {taints: []string{"evenkeel.io/hot", "evenkeel.io/other"}, closedBy: "evenkeel.io/other", closed: "Tainted: evenkeel.io/other"},
		"being deleted":             {deleting: true, leaving: "deletionTimestamp", closed: "Leaving: deletionTimestamp"},
		"being deleted and tainted": {taints: []string{"drained"}, deleting: true, leaving: "deletionTimestamp", closedBy: "drained", closed: "Leaving: deletionTimestamp"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := Node{Ready: true, Schedulable: true, Taints: tc.taints, Deleting: tc.deleting, Leaving: "before", ClosedBy: "before"}
			rule.Apply(&n)
			if n.Leaving != tc.leaving || n.ClosedBy != tc.closedBy || n.Closed() != tc.closed {
				t.Errorf("leaving %q, closed by %q, closed %q; want %q, %q, %q", n.Leaving, n.ClosedBy, n.Closed(), tc.leaving, tc.closedBy, tc.closed)
			}
		})
	}
}

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// Among pods that cover the need equally well, their usage of the other resource decides: it should
// go to the node on which less of that resource is used.
func TestPlanConsidersOtherResources(t *testing.T) {
	cases := map[string]struct {
		memory cluster.Amounts // used by pods that cannot be moved, on the cool node and on the hot one
		want   string
	}{
		"a node with less memory in use than the destination keeps its memory": {memory: cluster.Amounts{500, 0}, want: "lean: h -> c"},
		"one with more gives some of it":                                       {memory: cluster.Amounts{0, 400}, want: "fat: h -> c"},
		"alike, moving makes them unlike":                                      {memory: cluster.Amounts{300, 190}, want: "lean: h -> c"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Nodes: shipped().on([]Node{
					cool("c", cluster.Amounts{0, tc.memory[0]}),
					hot("h", cluster.Amounts{500, tc.memory[1]}, pod("fat", cluster.Amounts{100, 90}), pod("lean", cluster.Amounts{100, 10})),
				}),
				Placement: &refusing{},
			}
			if diff := cmp.Diff([]string{tc.want}, described(New(in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

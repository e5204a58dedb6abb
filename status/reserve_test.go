package status

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// A node with a reserve states the base of its percentages.
func TestReserve(t *testing.T) {
	reserved := func(amounts cluster.Amounts, byCapacity bool) func(*cluster.Node, *usage.NodeUsage) {
		return func(_ *cluster.Node, u *usage.NodeUsage) {
			u.Reserved, u.ByCapacity = []cluster.Amounts{amounts, amounts, amounts}, byCapacity
		}
	}
	cases := map[string]struct {
		change    func(*cluster.Node, *usage.NodeUsage)
		percentOf string
		want      string
	}{
		"within it":     {reserved(cluster.Amounts{189, 600 << 20}, false), OfAllocatable, "of allocatable, without the 189m cpu, 600Mi memory that the system uses of the node's reserve"},
		"none of it":    {reserved(cluster.Amounts{}, false), OfAllocatable, "of allocatable"},
		"no pods known": {reserved(cluster.Amounts{300, 600 << 20}, true), OfCapacity, "of the whole machine's capacity, because no usage of its pods is known"},
		"no reserve":    {func(*cluster.Node, *usage.NodeUsage) {}, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t)
			h.node("n1", thresholds.Warm, 4800, 4800, 4800, tc.change)
			n, err := OfNode(h.facts(), "n1")
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" {
				if n.Reserve != nil {
					t.Errorf("got %+v", n.Reserve)
				}
				return
			}
			if n.Reserve == nil || n.Reserve.Text != tc.want || n.Reserve.PercentOf != tc.percentOf {
				t.Fatalf("got %+v, want %q of %s", n.Reserve, tc.want, tc.percentOf)
			}
		})
	}
}

package scorer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// Checking all nodes at once gives the same result as checking each, and keeps what is already in
// the list.
func TestAppendRefusedAgreesWithAccepts(t *testing.T) {
	random, refused := rand.New(rand.NewPCG(1, 2)), 0
	for range 200 {
		nodes := make([]at, random.IntN(20))
		for i := range nodes {
			if nodes[i] = (at{random.Int64N(80), random.Int64N(90)}); random.IntN(5) == 0 {
				nodes[i] = unknown
			}
		}
		b := boardOf(t, testConfig(), nodes...)
		asked := cluster.Amounts{random.Int64N(3000), random.Int64N(20) * gib}
		want := []cluster.NodeIndex{-7}
		for _, i := range indices(len(nodes)) {
			if !b.Accepts(i, asked) {
				want = append(want, i)
			}
		}
		if diff := cmp.Diff(want, b.AppendRefused([]cluster.NodeIndex{-7}, asked)); diff != "" {
			t.Fatalf("nodes %v with %v (-each +all):\n%s", nodes, asked, diff)
		}
		asking := append(indices(len(nodes)), -1, cluster.NodeIndex(len(nodes)))
		random.Shuffle(len(asking), func(i, j int) { asking[i], asking[j] = asking[j], asking[i] })
		got := []cluster.NodeIndex{}
		for k := range b.Refused(asking, asked) {
			got = append(got, asking[k])
		}
		slices.Sort(got)
		if diff := cmp.Diff(want[1:], got); diff != "" {
			t.Fatalf("nodes %v with %v (-each +listed):\n%s", nodes, asked, diff)
		}
		refused += len(want) - 1
	}
	if refused == 0 {
		t.Error("no node was ever refused")
	}
}

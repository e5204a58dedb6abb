package realusage

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The plan is the same whether nodes are gathered on several processors or on one, with
// descheduler's own filters. The race detector checks that these can be called concurrently.
func TestProcessorsGatherTheSame(t *testing.T) {
	f := newFleetOf(t, 2*nodesEach+1, 4, mixed)
	planned := func(processors int) (moves []string) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		plugin := f.plugin(t, f.sync)
		made, err := plugin.Plan(t.Context(), &f.observed, f.nodes)
		if err != nil {
			t.Fatal(err)
		}
		for i := range made.Plan.Moves {
			m := &made.Plan.Moves[i]
			moves = append(moves, m.Name+": "+m.From+" -> "+m.To)
		}
		return moves
	}
	one := planned(1)
	if len(one) == 0 {
		t.Fatal("nothing is moved")
	}
	if diff := cmp.Diff(one, planned(3)); diff != "" {
		t.Errorf("(-by one +by three):\n%s", diff)
	}
}

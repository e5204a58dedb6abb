package realusage

import (
	"testing"

	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// This is a test of the whole plugin. Three pods burst to 16.5 of 32 cores at the same hour, and
// the only destination is a node on which nothing recurs. That node is hot above 20.8 cores, so one
// pod fits, but two make it hot.
func TestMovesAheadToAFreshNode(t *testing.T) {
	y := quietYard(t, 16_500)
	study, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, strategies.Asked{})
	if err != nil {
		t.Fatal(err)
	}
	to := map[string]int{}
	for i := range study.Made.Plan.Moves {
		m := &study.Made.Plan.Moves[i]
		to[m.To]++
	}
	if to["node-00002"] > 1 {
		t.Errorf("%v: 3000 and two times 16500 of 32000 at ten, evict line at 20800", to)
	}
}

// Without an evict line of CPU, nothing is moved ahead of time because of CPU.
func TestNoMovesAheadByAPolicyOfMemoryAlone(t *testing.T) {
	y := quietYard(t, 11_500) // 34500 of 32000 at ten
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{
		Metric: usage.Memory, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	y.observed.Lines = set.Resolve(y.observed.View)
	y.observed.Board = scorer.NewBoard(y.observed.View, y.observed.Lines, scorer.Config{})
	study, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, strategies.Asked{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range study.Made.Plan.Moves {
		t.Errorf("%s", study.Made.Plan.Moves[i].Sentence(nil))
	}
}

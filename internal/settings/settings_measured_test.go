package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer"
)

// The windows that measured scoring uses reach the scorer, and the store keeps all of them although
// no line uses them.
func TestMeasuredScoringIsWired(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "policy", "testdata", "examples", "measured.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := policy.Load("measured.yaml", data, kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	max1h, max1d := usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour}, usage.Window{Kind: usage.KindMaxAvg, Over: 24 * time.Hour}
	want := &scorer.Measured{
		Formula: scorer.FormulaCrane,
		Terms: []scorer.Term{
			{Resource: cluster.CPU, Window: usage.Avg5m, Weight: 0.2},
			{Resource: cluster.CPU, Window: max1h, Weight: 0.3},
			{Resource: cluster.CPU, Window: max1d, Weight: 0.5},
		},
		Limits: []scorer.Limit{
			{Resource: cluster.CPU, Window: usage.Avg5m, Percent: 65}, {Resource: cluster.Memory, Window: max1h, Percent: 75},
		},
	}
	if diff := cmp.Diff(want, Scorer(&file.Load).Measured); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
	store, err := usage.NewStore(Usage(&file.Load), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]usage.Window{usage.Last, usage.Avg5m, max1h, max1d}, store.Windows()); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
}

func TestMeasuredScoringOfOtherFormulas(t *testing.T) {
	from := 80.0
	for formula, want := range map[policy.Formula]scorer.Formula{
		policy.FormulaCrane: scorer.FormulaCrane, policy.FormulaMemoryLoad: scorer.FormulaMemoryLoad, policy.FormulaMinMax: scorer.FormulaMinMax,
	} {
		got := Measured(&policy.MeasuredScoring{
			Formula: formula, Limits: []policy.MeasuredLimit{{Metric: usage.Memory, FromPercent: &from}},
		})
		limit := scorer.Limit{Resource: cluster.Memory, Window: usage.Last, Percent: 80, From: true}
		if got.Formula != want || len(got.Limits) != 1 || got.Limits[0] != limit {
			t.Errorf("%s: %+v", formula, got)
		}
	}
	load := policy.Default(kinds.All)
	if Scorer(&load).Measured != nil {
		t.Error("the default policy measures")
	}
}

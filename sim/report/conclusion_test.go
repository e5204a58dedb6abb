package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/sim"
)

func TestJudge(t *testing.T) {
	of := func(variant string, hot, perDay float64) sim.Result {
		return sim.Result{Variant: variant, HotPercent: hot, EvictionsPerPodAndDay: perDay, Evictions: int(perDay * 1000)}
	}
	tests := map[string]struct {
		results []sim.Result
		want    string
		first   string
	}{
		"a little more hot time for far fewer evictions is better": {
			results: []sim.Result{of("none", 12, 0), of("a", 1, 5), of("b", 2, 0.1)},
			want:    "b",
			first:   "Best: b. Nodes are hot 2.0% of the time (12.0% with kube-scheduler alone), with 0.10 evictions per pod per day.",
		},
		// a removes 11 points of 12, and b 8, which is less than four fifths of that
		"much more hot time is not": {
			results: []sim.Result{of("none", 12, 0), of("a", 1, 5), of("b", 4, 0.1)},
			want:    "a",
			first:   "Best: a. Nodes are hot 1.0% of the time (12.0% with kube-scheduler alone), with 5.00 evictions per pod per day.",
		},
		"of two that evict alike the cooler one": {
			results: []sim.Result{of("none", 12, 0), of("a", 2, 1), of("b", 1.5, 1)},
			want:    "b",
			first:   "Best: b. Nodes are hot 1.5% of the time (12.0% with kube-scheduler alone), with 1.00 evictions per pod per day.",
		},
		"the oracle does not compete": {
			results: []sim.Result{of("none", 12, 0), of("oracle", 0, 0), of("a", 5, 1)},
			want:    "a",
			first:   "Best: a. Nodes are hot 5.0% of the time (12.0% with kube-scheduler alone), with 1.00 evictions per pod per day.",
		},
		"where all do harm, nobody": {
			results: []sim.Result{of("none", 2, 0), of("a", 3, 1), of("b", 2.5, 4)},
			want:    "none",
			first: "No variant leaves fewer nodes hot than kube-scheduler alone, which leaves them hot for 2.0% of their time; " +
				"the nearest is b with 2.5%.",
		},
		"where nothing is hot, one without evictions": {
			results: []sim.Result{of("none", 0, 0), of("a", 0, 1), of("b", 0, 0)},
			want:    "b",
			first:   "Best: b. Nodes are hot 0% of the time (0% with kube-scheduler alone), with no eviction at all.",
		},
		"without a baseline the hottest is what is improved on": {
			results: []sim.Result{of("a", 10, 0), of("b", 2, 0.2), of("c", 1.9, 3)},
			want:    "b",
			first:   "Best: b. Nodes are hot 2.0% of the time, with 0.20 evictions per pod per day.",
		},
		"one alone": {
			results: []sim.Result{of("a", 10, 0.5)},
			want:    "a",
			first:   "Best: a. Nodes are hot 10.0% of the time, with 0.50 evictions per pod per day.",
		},
		"the baseline alone": {
			results: []sim.Result{of("none", 10, 0)},
			want:    "none",
			first:   "With kube-scheduler alone nodes are hot for 10.0% of their time.",
		},
		"the oracle alone": {
			results: []sim.Result{of("oracle", 1, 9)},
			first:   "The oracle, which knows the coming hour and moves as it likes, reaches 1.0%.",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Conclude(tc.results)
			if got.Best != tc.want {
				t.Errorf("best is %q, want %q", got.Best, tc.want)
			}
			if diff := cmp.Diff(tc.first, got.Sentences[0]); diff != "" {
				t.Errorf("first sentence (-want +got):\n%s", diff)
			}
		})
	}
	if got := Conclude(nil); got.Best != "" || len(got.Sentences) > 0 {
		t.Errorf("without results the verdict is %+v", got)
	}
}

func TestJudgeReportsWorseMemory(t *testing.T) {
	base := sim.Result{Variant: "none", Memory: true, HotPercent: 10, CPUDeviation: 12, MemoryDeviation: 5, UnservedPercent: 0.5}
	best := sim.Result{Variant: "a", Memory: true, HotPercent: 2, CPUDeviation: 7, MemoryDeviation: 8, UnservedPercent: 0.1}
	got := Conclude([]sim.Result{base, best}).Sentences
	want := "Nodes differ by 7.0 points of CPU instead of 12.0. The CPU demand that its node cannot serve is 0.1% instead of 0.5%. " +
		"Memory is spread worse than before: by 8.0 points instead of 5.0."
	if diff := cmp.Diff(want, got[len(got)-1]); diff != "" {
		t.Errorf("last sentence (-want +got):\n%s", diff)
	}
}

package measure

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMedian(t *testing.T) {
	cases := map[string]struct {
		values []float64
		want   float64
	}{
		"of none":                           {nil, 0},
		"of one":                            {[]float64{3}, 3},
		"of an odd number, in any order":    {[]float64{9, 1, 5}, 5},
		"of an even number, between two":    {[]float64{1, 10, 4, 2}, 3},
		"one that is far off moves nothing": {[]float64{1000, 2, 1, 3, 2}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(tc.values)
			if got := Median(tc.values); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if !slices.Equal(given, tc.values) {
				t.Errorf("the values %v were changed to %v", tc.values, given)
			}
		})
	}
}

// Medians of integers stay integers, whatever their number.
func TestMedianOfIntegers(t *testing.T) {
	const most = int64(1<<63 - 1)
	if got := Median([]int64{most, most - 2}); got != most-1 {
		t.Errorf("got %d, want %d", got, most-1)
	}
}

// A round that only one side has is not compared.
func TestRatios(t *testing.T) {
	if diff := cmp.Diff([]float64{1.2, 1.1}, Ratios([]float64{120, 55}, []float64{100, 50, 80})); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
	if got := Ratios([]float64{120, 55}, nil); len(got) != 0 {
		t.Errorf("ratios to what was not run: %v", got)
	}
}

func TestOrder(t *testing.T) {
	subjects := []string{"a", "b", "c"}
	for round, want := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"a", "b", "c"}} {
		if diff := cmp.Diff(want, Order(round, subjects)); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
}

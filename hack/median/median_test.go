package median

import (
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
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
			if got := Of(tc.values); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if !slices.Equal(given, tc.values) {
				t.Errorf("the values became %v, were %v", tc.values, given)
			}
		})
	}
}

// Numbers of bytes are as whole as they were, however many.
func TestOfWholeNumbers(t *testing.T) {
	const most = int64(1<<63 - 1)
	if got := Of([]int64{most, most - 2}); got != most-1 {
		t.Errorf("got %d, want %d", got, most-1)
	}
}

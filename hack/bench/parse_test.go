package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		text string
		want figures
	}{
		"rounds of two packages, and what is printed between": {
			text: `goos: linux
pkg: github.com/evenkeel/evenkeel/scorer
BenchmarkScore/nodes=100-2    	    1000	      1234 ns/op	       0 B/op
PASS
pkg: github.com/evenkeel/evenkeel/thresholds
BenchmarkScore/nodes=100-2    	    1000	      7 ns/op
pkg: github.com/evenkeel/evenkeel/scorer
BenchmarkScore/nodes=100-2    	    1000	      1300.5 ns/op	       0 B/op
`,
			want: figures{
				{"scorer", "Score/nodes=100", "ns/op"}:     {1234, 1300.5},
				{"scorer", "Score/nodes=100", "B/op"}:      {0, 0},
				{"thresholds", "Score/nodes=100", "ns/op"}: {7},
			},
		},
		"a command names no processors": {
			text: "pkg: github.com/evenkeel/evenkeel/hack/footprint\nBenchmarkFootprint/serve 1 900.5 peak-MiB\n",
			want: figures{{"hack/footprint", "Footprint/serve", "peak-MiB"}: {900.5}},
		},
		"a name without figures, and prose about a benchmark": {
			text: "BenchmarkScore\nBenchmarkScore was slow today\n",
			want: figures{},
		},
		"a package of another module keeps its path": {
			text: "pkg: example.com/a\nBenchmarkA 1 2 ns/op\n",
			want: figures{{"example.com/a", "A", "ns/op"}: {2}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parse(strings.NewReader(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseSaysWhatIsWrongWhere(t *testing.T) {
	for text, want := range map[string]string{
		"PASS\nBenchmarkA 1 2 ns/op 3\n":             `line 2: benchmark "BenchmarkA": "3" is a value without a unit`,
		"BenchmarkA 1 fast ns/op\n":                  `line 1: benchmark "BenchmarkA": "fast" is no number`,
		"PASS\n" + strings.Repeat("x", 2<<20) + "\n": "token too long",
	} {
		if _, err := parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parsing %.40q: %v, want %q", text, err, want)
		}
	}
}

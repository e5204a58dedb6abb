package measure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLines(t *testing.T) {
	cases := map[string]struct {
		text string
		want Figures
	}{
		"rounds of two packages, and what is printed between": {
			text: `goos: linux
pkg: github.com/evenkeel/evenkeel/scorer
BenchmarkScore/nodes=100-2    	    1000	      1234 ns/op	       0 B/op
PASS
pkg: github.com/evenkeel/evenkeel/observe/thresholds
BenchmarkScore/nodes=100-2    	    1000	      7 ns/op
pkg: github.com/evenkeel/evenkeel/scorer
BenchmarkScore/nodes=100-2    	    1000	      1300.5 ns/op	       0 B/op
`,
			want: Figures{
				{"scorer", "Score/nodes=100", "ns/op"}:             {1234, 1300.5},
				{"scorer", "Score/nodes=100", "B/op"}:              {0, 0},
				{"observe/thresholds", "Score/nodes=100", "ns/op"}: {7},
			},
		},
		"a command names no processors": {
			text: "pkg: github.com/evenkeel/evenkeel/hack/footprint\nBenchmarkFootprint/serve 1 900.5 peak-MiB\n",
			want: Figures{{"hack/footprint", "Footprint/serve", "peak-MiB"}: {900.5}},
		},
		"a name without figures, and prose about a benchmark": {
			text: "BenchmarkScore\nBenchmarkScore was slow today\n",
			want: Figures{},
		},
		"a package of another module keeps its path": {
			text: "pkg: example.com/a\nBenchmarkA 1 2 ns/op\n",
			want: Figures{{"example.com/a", "A", "ns/op"}: {2}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseLines(strings.NewReader(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseLinesErrors(t *testing.T) {
	for text, want := range map[string]string{
		"PASS\nBenchmarkA 1 2 ns/op 3\n":             `line 2: benchmark "BenchmarkA": "3" is a value without a unit`,
		"BenchmarkA 1 fast ns/op\n":                  `line 1: benchmark "BenchmarkA": "fast" is not a number`,
		"PASS\n" + strings.Repeat("x", 2<<20) + "\n": "token too long",
	} {
		if _, err := ParseLines(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parsing %.40q: %v, want %q", text, err, want)
		}
	}
}

// ParseLines reads what Line writes.
func TestLine(t *testing.T) {
	line := Line("Throughput/none", Value{"512.3", "pods/s"}, Value{"1.500", "scheduler-cpu-ms/pod"})
	if want := "BenchmarkThroughput/none 1 512.3 pods/s 1.500 scheduler-cpu-ms/pod"; line != want {
		t.Errorf("got %q, want %q", line, want)
	}
	got, err := ParseLines(strings.NewReader(line))
	want := Figures{{"", "Throughput/none", "pods/s"}: {512.3}, {"", "Throughput/none", "scheduler-cpu-ms/pod"}: {1.5}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}

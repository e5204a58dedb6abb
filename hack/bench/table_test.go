package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// TestTable checks the rows of the table: a goal that is reached, missed or not measured, and a
// figure without a rival.
func TestTable(t *testing.T) {
	at := func(name, unit string) measure.Series { return measure.Series{Package: "p", Name: name, Unit: unit} }
	measured := measure.Figures{
		at("Fast", "p50-ns"): {200_000, 100_000, 900_000}, at("Slow", "p50-ns"): {1_200_000, 700_000, 5_400_000},
		at("Big", "ns/op"): {99e6}, at("Small", "ns/op"): {1e6, 1e6},
		at("With", "pods/s"): {90, 110}, at("Without", "pods/s"): {100, 100},
		at("Process", "peak-MiB"): {310.4},
	}
	shown := []row{
		{label: "faster", figure: at("Fast", "p50-ns"), besideLabel: "slow", beside: at("Slow", "p50-ns"), goal: goal{speedup, 6}},
		{label: "not fast enough", figure: at("Fast", "p50-ns"), besideLabel: "slow", beside: at("Slow", "p50-ns"), goal: goal{speedup, 7.5}},
		{label: "growth", figure: at("Big", "ns/op"), besideLabel: "50 small", beside: at("Small", "ns/op"), times: 50, goal: goal{growth, 1.5}},
		{label: "share", figure: at("With", "pods/s"), besideLabel: "without", beside: at("Without", "pods/s"), goal: goal{share, 0.95}},
		{label: "memory", figure: at("Process", "peak-MiB"), goal: goal{value, 300}},
		{label: "told", figure: at("Small", "ns/op")},
		{label: "away", figure: at("Away", "ns/op"), besideLabel: "small", beside: at("Small", "ns/op"), goal: goal{speedup, 2}},
		{label: "no rival", figure: at("Small", "ns/op"), besideLabel: "away", beside: at("Away", "ns/op"), goal: goal{speedup, 2}},
		{label: "no rival needed", figure: at("Small", "ns/op"), besideLabel: "away", beside: at("Away", "ns/op"), goal: goal{value, 2e6}},
	}
	var out bytes.Buffer
	if got, err := printTable(&out, shown, measured); err != nil || got != 3 {
		t.Errorf("%d goals are missed (error %v), want 3", got, err)
	}
	want := `
FIGURE           VALUE       BESIDE             RATIO        GOAL
faster           200 µs      slow     1.20 ms   6.0x faster  6x faster         held
not fast enough  200 µs      slow     1.20 ms   6.0x faster  7.5x faster       missed
growth           99.0 ms     50 small 50.0 ms   1.98x        at most 1.5x      missed
share            100 pods/s  without  100 pods/s 1.00x       at least 0.95x    held
memory           310 MiB              -         -            at most 300 MiB   missed
told             1.00 ms              -         -
away             -           small    1.00 ms   -            2x faster         not run
no rival         1.00 ms     away     -         -            2x faster         nothing beside
no rival needed  1.00 ms     away     -         -            at most 2.00 ms   held
`
	if diff := cmp.Diff(words(want), words("\n"+out.String())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// words splits a table into words, so that the widths of columns do not matter.
func words(table string) (lines []string) {
	for line := range strings.Lines(table) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// TestRowsAskForWhatTheSuiteMeasures checks that the suite contains the package of each figure, and
// that each figure is listed once.
func TestRowsAskForWhatTheSuiteMeasures(t *testing.T) {
	known, labels := map[string]bool{}, map[string]bool{}
	for _, e := range suite {
		known[e.pkg] = true
	}
	for _, r := range rows {
		if !known[r.figure.Package] || r.beside != (measure.Series{}) && !known[r.beside.Package] {
			t.Errorf("%q is of a package that the suite does not measure", r.label)
		}
		if (r.beside == measure.Series{}) != (r.besideLabel == "") {
			t.Errorf("%q does not say what is beside it", r.label)
		}
		if label := r.label + r.besideLabel; labels[label] {
			t.Errorf("%q is listed twice", label)
		} else {
			labels[label] = true
		}
	}
}

func TestCheckFailsOnAMissedGoal(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "bench.txt")
	text := "pkg: " + measure.Module + "/" + planning + "\nBenchmarkPlan/mixed/nodes=5000/evenkeel-2 1 6000000000 ns/op\n"
	if err := os.WriteFile(saved, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want error
	}{
		"checked": {[]string{"--from", saved}, errMissed},
		"shown":   {[]string{"--from", saved, "--check=false"}, nil},
		"no file": {[]string{"--from", saved + "x"}, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), tc.args, io.Discard, io.Discard); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{0: "0 ns", 999: "999 ns", 1234: "1.23 µs", 12_345: "12.3 µs", 208_000: "208 µs", 2.9e9: "2.90 s", 61e9: "61.0 s"} {
		if got := duration(ns); got != want {
			t.Errorf("%g ns are %q, want %q", ns, got, want)
		}
	}
}

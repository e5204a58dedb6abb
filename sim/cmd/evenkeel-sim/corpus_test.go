package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite docs/flags.md and the decisions in testdata/corpus")

// simulations are the replays whose outcome is kept, by the name of their
// golden file. They use every variant but upstream's plugin by usage, which
// takes nodes in the order of a map. mixed.evenkeel.gz is a made-up cluster of
// three sizes of nodes with taints, pools and zones, one cordoned and one not
// ready; its pods have affinity, spread constraints, host ports, priorities and
// several kinds of owners, some come and go, and some of what they use is
// unknown.
var simulations = map[string][]string{
	"generated": {"--generate-series=300", "--pods-per-node=12"},
	"deploys":   {"--generate-series=200", "--pods-per-node=15", "--deploys=3", "--seed=5", "--requested=90"},
	"budgets":   {"--generate-series=200", "--max-unavailable=1", "--replicas-per-owner=30", "--mean-cpu=62", "--seed=3", "--gap=10m"},
	"unmovable": {"--generate-series=100", "--max-unavailable=0", "--steps=96", "--seed=9"},
	"slow":      {"--generate-series=150", "--descheduling-interval=30m", "--lag=4m", "--hot-line=60", "--extender-weight=3", "--seed=4"},
	"policies": {"--generate-series=240", "--mean-cpu=58", "--seed=2", "--compare=none",
		"--policy=testdata/corpus/tight.yaml", "--policy=testdata/corpus/pools.yaml", "--policy=testdata/corpus/measured.yaml"},
	"recording": {"--recording=testdata/corpus/mixed.evenkeel.gz"},
	"recording-deploys": {"--recording=testdata/corpus/mixed.evenkeel.gz", "--deploys=4", "--max-unavailable=5", "--seed=8",
		"--policy=testdata/corpus/tight.yaml", "--policy=testdata/corpus/pools.yaml", "--policy=testdata/corpus/measured.yaml"},
}

// What every variant decides on the same input stays the same: its figures, the
// step of each eviction, and what each node uses in each step, which is where
// its pods are.
func TestSimulateDecidesAsBefore(t *testing.T) {
	for name, args := range simulations {
		t.Run(name, func(t *testing.T) {
			flags := append([]string{"-o=json", "--report=" + filepath.Join(t.TempDir(), "report.html"),
				"--compare=none,upstream-requests,evict-only,extender-only,evenkeel,oracle"}, args...)
			document, err := testkit.Printed(t.Context(), newSimulateCommand(), flags...)
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, *update, filepath.Join("testdata", "corpus", "simulate-"+name+".txt"), outcomes(t, document))
		})
	}
}

// outcomes renders the JSON of simulate: a line for each figure of each
// variant. Evict lines are settings, not figures.
func outcomes(t *testing.T, document []byte) string {
	t.Helper()
	var read struct {
		Heading map[string]any
		Results []map[string]any
	}
	if err := json.Unmarshal(document, &read); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	var text strings.Builder
	for _, result := range read.Results {
		variant := result["variant"]
		fmt.Fprintf(&text, "%s usage: %s\n", variant, marks(rows(t, result["usage"])))
		fmt.Fprintf(&text, "%s evictions:%s\n", variant, counts(t, result["evictionsAt"]))
		delete(result, "usage")
		delete(result, "evictionsAt")
		delete(result, "evictLinePercent")
		delete(result, "memoryEvictLinePercent")
		for _, figure := range sorted(result) {
			fmt.Fprintf(&text, "%s %s: %s\n", variant, figure, rendered(result[figure]))
		}
	}
	return text.String()
}

// rendered writes a value. Fractions keep ten digits: processors that multiply
// and add in one go round the last ones differently.
func rendered(value any) string {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'g', 10, 64)
	}
	return fmt.Sprint(value)
}

// marks are checksums of what came before, one after every two hours, so that a
// difference shows when it began.
func marks(rows []any) string {
	const steps = 24
	sum, all := sha256.New(), make([]string, 0, len(rows)/steps+1)
	for i, row := range rows {
		fmt.Fprintln(sum, row)
		if (i+1)%steps == 0 || i == len(rows)-1 {
			all = append(all, fmt.Sprintf("%x", sum.Sum(nil)[:4]))
		}
	}
	return strings.Join(all, " ")
}

// counts lists the steps in which something was evicted, and how much.
func counts(t *testing.T, evictions any) string {
	t.Helper()
	var text strings.Builder
	for step, n := range rows(t, evictions) {
		if n != 0.0 {
			fmt.Fprintf(&text, " %d×%v", step, n)
		}
	}
	return text.String()
}

func rows(t *testing.T, value any) []any {
	t.Helper()
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		t.Fatalf("%v is no list of steps", value)
	}
	return list
}

func sorted(values map[string]any) []string { return slices.Sorted(maps.Keys(values)) }

package commands

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/sim"
)

// linesOf returns the variants in order, each with its evict lines of CPU and memory.
func linesOf(t *testing.T, change func(*SimulateOptions)) (lines []string) {
	t.Helper()
	o := NewSimulateOptions()
	o.Recipe.Series, o.Output, o.Run.Steps, o.Run.WarmUp = 40, "csv", 2, 0
	change(&o)
	var out bytes.Buffer
	if err := Simulate(t.Context(), o, &out, nil); err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(table[0], name) }
	for _, row := range table[1:] {
		lines = append(lines, row[column("variant")]+" "+row[column("evictLinePercent")]+"/"+row[column("memoryEvictLinePercent")])
	}
	return lines
}

// A rival whose lines differ from the policy's has a row for each of the two, and every row shows
// which line was used.
func TestSimulateRivalLines(t *testing.T) {
	rivals := []string{"none", "upstream-requests", "upstream-metrics", "openshift", "koordinator", "trimaran", "trimaran-risk", "extender-only", "evenkeel"}
	tighter, relative := filepath.Join(t.TempDir(), "tighter.yaml"), filepath.Join(t.TempDir(), "relative.yaml")
	const load = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"
	writeText(t, tighter, load+"lines: {cpu: {low: 20, reject: 30, evict: 40, leave: 35}}\n")
	writeText(t, relative, load+"lines: {cpu: {deviation: true}, memory: {evict: 85}}\n")
	targets, available := filepath.Join(t.TempDir(), "targets.yaml"), filepath.Join(t.TempDir(), "available.yaml")
	writeText(t, targets, withArgs("{thresholds: {cpu: 30}, targetThresholds: {cpu: 50, memory: 70}}"))
	writeText(t, available, load+"lines: {cpu: {low: 20, reject: 30, evict: 40, leave: 35}, memory.available: {low: 30, reject: 20, evict: 10, leave: 15}}\n")
	both := []string{"own", "equal"}
	for name, tc := range map[string]struct {
		lines, compare, policies []string
		cpuOnly                  bool
		want                     []string
	}{
		"their own": {nil, rivals, nil, false, []string{
			"none /", "upstream-requests /", "upstream-metrics 65/65", "openshift /", "koordinator 75/80",
			"trimaran 65/65", "trimaran-risk 65/65", "extender-only /", "evenkeel 65/80",
		}},
		"both": {both, rivals, nil, false, []string{
			"none /", "upstream-requests /", "upstream-metrics 65/65", "upstream-metrics-equal 65/80", "openshift /", "koordinator 75/80",
			"koordinator-equal 65/80", "trimaran 65/65", "trimaran-equal 65/80", "trimaran-risk 65/65", "trimaran-risk-equal 65/80",
			"extender-only /", "evenkeel 65/80",
		}},
		"both without memory": {both, []string{"upstream-metrics", "koordinator"}, nil, true, []string{
			"upstream-metrics 65/65", "koordinator 75/80", "koordinator-equal 65/80",
		}},
		"equal": {[]string{"equal"}, []string{"koordinator", "openshift", "evenkeel"}, nil, false, []string{
			"koordinator-equal 65/80", "openshift /", "evenkeel 65/80",
		}},
		"a policy's": {both, []string{"koordinator", "upstream-metrics", "evenkeel"}, []string{tighter}, false, []string{
			"koordinator 75/80", "koordinator-equal 40/", "upstream-metrics 65/65", "upstream-metrics-equal 40/", "evenkeel 65/80", "tighter.yaml 40/",
		}},
		"a policy's arguments": {both, []string{"koordinator", "upstream-metrics"}, []string{targets}, false, []string{
			"koordinator 75/80", "koordinator-equal 50/70", "upstream-metrics 65/65", "upstream-metrics-equal 50/70", "targets.yaml 50/70",
		}},
		"another measure of memory": {both, []string{"koordinator"}, []string{available}, false, []string{
			"koordinator 75/80", "koordinator-equal 40/80", "available.yaml 40/",
		}},
		"distances from the mean are no lines for others": {both, []string{"koordinator"}, []string{relative}, false, []string{
			"koordinator 75/80", "koordinator-equal 75/85", "relative.yaml /85",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := linesOf(t, func(o *SimulateOptions) {
				o.RivalLines, o.Compare, o.Policies = tc.lines, tc.compare, tc.policies
				if tc.cpuOnly {
					o.Generate = "daily-bursts"
				}
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A node at 72% is too full for Koordinator with the policy's line, but not with its own. Upstream
// stops at the policy's line of memory.
func TestSimulatePlaysTheLines(t *testing.T) {
	results := simulated(t, func(o *SimulateOptions) {
		o.Generate, o.RivalLines, o.Run.Steps = "dense", []string{"own", "equal"}, 24
		o.Dense.Pods, o.Dense.LoadPercent = 30, 72
		o.Compare = []string{"koordinator"}
	})
	own, equal := results["koordinator"], results["koordinator-equal"]
	if own.Evictions != 0 || equal.Evictions == 0 {
		t.Errorf("Koordinator evicts %d pods at its own line and %d at 65%%", own.Evictions, equal.Evictions)
	}
	memory := func(line string) sim.Result {
		file := filepath.Join(t.TempDir(), "p.yaml")
		writeText(t, file, "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nlines: {cpu: {evict: 65}, memory: {low: 10, reject: 20, evict: "+line+", leave: 25}}\n")
		return simulated(t, func(o *SimulateOptions) {
			o.Compare, o.Policies, o.RivalLines = []string{"upstream-metrics"}, []string{file}, []string{"equal"}
		})["upstream-metrics-equal"]
	}
	without := filepath.Join(t.TempDir(), "without.yaml")
	writeText(t, without, "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nlines: {cpu: {evict: 65}}\n")
	for name, result := range simulated(t, func(o *SimulateOptions) {
		o.Compare, o.Policies, o.RivalLines = []string{"upstream-metrics", "koordinator"}, []string{without}, []string{"equal"}
		o.Shape.MeanCPUPercent, o.Shape.MeanMemoryPercent = 15, 85
	}) {
		if result.Evictions > 0 {
			t.Errorf("%s evicts %d pods, although it has no line of memory", name, result.Evictions)
		}
	}
	if tight, loose := memory("50"), memory("95"); tight.Evictions <= loose.Evictions {
		t.Errorf("upstream evicts %d pods at a line of 50%% of memory and %d at one of 95%%", tight.Evictions, loose.Evictions)
	}
}

func TestSimulateRefusesRivalLines(t *testing.T) {
	relative := filepath.Join(t.TempDir(), "relative.yaml")
	writeText(t, relative, "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nlines: {cpu: {deviation: true}}\n")
	for want, change := range map[string]func(*SimulateOptions){
		`--rival-lines: "equla" is not one of own, equal, did you mean "equal"?`:                                  func(o *SimulateOptions) { o.RivalLines = []string{"own", "equla"} },
		`--rival-lines equal: relative.yaml has no evict line of cpu or memory in percent that others could take`: func(o *SimulateOptions) { o.RivalLines, o.Policies = []string{"equal"}, []string{relative} },
	} {
		o := NewSimulateOptions()
		o.Run.Steps = 2
		change(&o)
		err := Simulate(t.Context(), o, &bytes.Buffer{}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || exit.Code(err) != exit.Misuse {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

package commands

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/sim"
	"github.com/evenkeel/evenkeel/sim/report"
	"github.com/evenkeel/evenkeel/sim/trace"
)

// simulated runs the command on a small generated trace and returns the results
// by variant.
func simulated(tb testing.TB, change func(*SimulateOptions)) map[string]sim.Result {
	tb.Helper()
	o := NewSimulateOptions()
	o.Recipe.Series, o.Output = 400, "json"
	if change != nil {
		change(&o)
	}
	var out bytes.Buffer
	if err := Simulate(tb.Context(), o, &out, nil); err != nil {
		tb.Fatal(err)
	}
	var document struct{ Results []sim.Result }
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		tb.Fatalf("%v in\n%s", err, out.Bytes())
	}
	results := map[string]sim.Result{}
	for _, r := range document.Results {
		results[r.Variant] = r
	}
	return results
}

// If a replay is shorter than its warm-up, one step is scored, a note reports that, and no hourly
// deviation is invented.
func TestSimulateLessThanTheWarmUp(t *testing.T) {
	var told bytes.Buffer
	result := simulated(t, func(o *SimulateOptions) { o.Compare, o.Run.Steps, o.Notes = []string{"none"}, 5, &told })["none"]
	if result.Steps != 1 || result.CPUDeviation == 0 {
		t.Errorf("%d steps were scored, with a deviation of %v; want 1 step, with one", result.Steps, result.CPUDeviation)
	}
	if result.CPUDeviationHour != nil || result.MemoryDeviationHour != nil {
		t.Errorf("deviations of hours, %v and %v, from five minutes", *result.CPUDeviationHour, *result.MemoryDeviationHour)
	}
	if want := "--warm-up 12: only the last of 5 steps is scored\n"; told.String() != want {
		t.Errorf("said %q, want %q", told.String(), want)
	}
}

// On generated usage, Evenkeel leaves less node-time hot than upstream, with few evictions, and
// every pod lands where it was planned. A second run has the same results.
func TestSimulate(t *testing.T) {
	once := simulated(t, nil)
	none, upstream, evenkeel := once["none"], once["upstream-metrics"], once["evenkeel"]
	if none.HotPercent < 0.5 || none.Evictions != 0 {
		t.Fatalf("without anybody %.1f %% is hot, with %d evictions: nothing to compare", none.HotPercent, none.Evictions)
	}
	if evenkeel.HotPercent > none.HotPercent/2 || evenkeel.CPUDeviation >= none.CPUDeviation {
		t.Errorf("Evenkeel leaves %.2f %% hot and a deviation of %.1f, nobody %.2f %% and %.1f",
			evenkeel.HotPercent, evenkeel.CPUDeviation, none.HotPercent, none.CPUDeviation)
	}
	if evenkeel.HotPercent > upstream.HotPercent/2 || evenkeel.Evictions == 0 || evenkeel.EvictionsPerPodAndDay > 0.2 {
		t.Errorf("Evenkeel leaves %.2f %% hot with %d evictions, upstream %.2f %% with %d",
			evenkeel.HotPercent, evenkeel.Evictions, upstream.HotPercent, upstream.Evictions)
	}
	if evenkeel.OnPlan != evenkeel.Landed || evenkeel.Landed != evenkeel.Evictions || evenkeel.Boomerangs > 0 {
		t.Errorf("%d evictions, %d landed, %d on plan, %d boomerangs", evenkeel.Evictions, evenkeel.Landed, evenkeel.OnPlan, evenkeel.Boomerangs)
	}
	again := simulated(t, func(o *SimulateOptions) { o.Compare = []string{"none", "evenkeel"} })
	for _, name := range []string{"none", "evenkeel"} {
		if diff := cmp.Diff(once[name], again[name]); diff != "" {
			t.Errorf("%s played twice (-once +again):\n%s", name, diff)
		}
	}
}

func TestSimulateRefuses(t *testing.T) {
	dir := t.TempDir()
	ragged, wrong := filepath.Join(dir, "ragged.csv"), filepath.Join(dir, "policy.yaml")
	writeText(t, ragged, "id,0,1\na,1,2\nb,1\n")
	writeText(t, wrong, "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nhot: {windows: [never]}\n")
	for name, tc := range map[string]struct {
		change func(*SimulateOptions)
		want   string
	}{
		"a trace that is not there": {func(o *SimulateOptions) { o.Trace = filepath.Join(dir, "none.csv") }, "none.csv"},
		"a ragged trace":            {func(o *SimulateOptions) { o.Trace = ragged }, "ragged.csv: line 3"},
		"memory alone":              {func(o *SimulateOptions) { o.MemoryTrace = ragged }, "--memory-trace"},
		"an unknown comparison":     {func(o *SimulateOptions) { o.Compare = []string{"magic"} }, `--compare: "magic" is not one of none, `},
		"an unknown format":         {func(o *SimulateOptions) { o.Output = "xml" }, `"xml"`},
		"a wrong policy":            {func(o *SimulateOptions) { o.Policies = []string{wrong} }, "hot.windows"},
		"no nodes":                  {func(o *SimulateOptions) { o.Shape.Nodes = -1 }, "nodes"},
		"no hot line":               {func(o *SimulateOptions) { o.Run.HotLinePercent = -1 }, "hot line"},
		"deploys without end":       {func(o *SimulateOptions) { o.Run.DeploysPerDay = 1e9 }, "deploys"},
		"a budget of more than all": {func(o *SimulateOptions) { o.Run.MaxUnavailablePercent = 101 }, "maxUnavailable"},
		"more pods hidden than all": {func(o *SimulateOptions) { o.Run.Blind.HiddenPodsPercent = 101 }, "of pods hidden"},
		"a report in no folder":     {func(o *SimulateOptions) { o.Report = filepath.Join(dir, "none", "r.html") }, "--report: stat "},
		"nothing to generate":       {func(o *SimulateOptions) { o.Recipe.Series = 0 }, "series"},
		"two policies of one name": {func(o *SimulateOptions) {
			o.Compare, o.Policies = []string{"none"}, []string{"", ""}
			for i := range o.Policies {
				o.Policies[i] = filepath.Join(t.TempDir(), "p.yaml")
				writeText(t, o.Policies[i], "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n")
			}
		}, "p.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewSimulateOptions()
			o.Run.Steps = 2
			tc.change(&o)
			err := Simulate(t.Context(), o, &bytes.Buffer{}, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != exit.Misuse {
				t.Errorf("got %v with exit code %d, want %q and %d", err, exit.Code(err), tc.want, exit.Misuse)
			}
		})
	}
}

// The default comparison uses the shipped policy.
func TestSimulateUsesTheDefaults(t *testing.T) {
	load := policy.Default(kinds.All)
	p, err := sim.NewPolicy(&load)
	if err != nil {
		t.Fatal(err)
	}
	if p.Observer.Hot.ConsecutiveSamples != load.Hot.ConsecutiveSamples || len(p.Observer.HotWindows) != len(load.Hot.Windows) {
		t.Errorf("played by %+v and %v", p.Observer.Hot, p.Observer.HotWindows)
	}
}

func TestReportIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	simulated(t, func(o *SimulateOptions) { o.Report, o.Run.Steps, o.Recipe = file, 12, trace.DefaultRecipe() })
	page, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(page, []byte("<svg")) {
		t.Errorf("the report has %d bytes: %v", len(page), err)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Flags that would have no effect are rejected, because the result would not be what was requested.
func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	const dense = " cannot be combined with --generate=dense, which has its own nodes and pods"
	for args, want := range map[string]string{
		"--dense-load=80":                            "--dense-load requires --generate=dense",
		"--generate=daily-bursts --dense-sigma=1":    "--dense-sigma requires --generate=dense",
		"--trace=day.csv --dense-pods=old":           "--dense-pods requires --generate=dense",
		"--trace=day.csv --generate=dense":           "--generate cannot be combined with --trace",
		"--trace=day.csv --generate-series=3":        "--generate-series cannot be combined with --trace",
		"--generate=dense --mean-cpu=50":             "--mean-cpu" + dense,
		"--generate=dense --mean-memory=50":          "--mean-memory" + dense,
		"--generate=dense --requested=50":            "--requested" + dense,
		"--generate=dense --pods=50":                 "--pods" + dense,
		"--generate=dense --generate-series=50":      "--generate-series" + dense,
		"--generate=dense --memory-trace=day.csv":    "--memory-trace" + dense,
		"--recording=day.evenkeel --dense-load=80":   "--dense-load cannot be combined with --recording, which has its own nodes and pods",
		"--recording=day.evenkeel --generate=bursts": "--generate cannot be combined with --recording, which has its own nodes and pods",
		"--generate=dense --pods-per-node=NaN":       "--pods-per-node: NaN: must be a whole number from 1 to 500000 with --generate=dense",
		"--generate=dense --pods-per-node=20.5":      "--pods-per-node: 20.5: must be a whole number from 1 to 500000 with --generate=dense",
	} {
		err := simulateBy(t, strings.Fields(args)...)
		if err == nil || err.Error() != want || exit.Code(err) != exit.Misuse {
			t.Errorf("%s: %v, want exit code %d for %q", args, err, exit.Misuse, want)
		}
	}
}

// A report describes what Evenkeel's source missed, because the figures depend on that.
func TestReportDescribesWhatWasNotSeen(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"--hidden-pods=12.5":        "never reports 12.5% of the pods",
		"--lost-samples=33":         "loses 33% of its samples",
		"--pods-measured-every=10m": "measures pods every 10m0s",
		"--compare=none --pods=100": "",
	} {
		file := filepath.Join(dir, "report.html")
		if err := simulateBy(t, append(strings.Fields(args), "--generate-series=100", "--pods-per-node=5", "--steps=20", "--report="+file)...); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := html.UnescapeString(string(page))
		if !strings.Contains(text, want) || strings.Contains(text, "Evenkeel's source") != (want != "") {
			t.Errorf("%s: the report does not say %q", args, want)
		}
	}
}

// simulateBy runs the command with the given flags.
func simulateBy(t *testing.T, args ...string) error {
	t.Helper()
	o := NewSimulateOptions()
	flags := pflag.NewFlagSet("simulate", pflag.ContinueOnError)
	o.AddTo(flags)
	if err := flags.Parse(append(args, "--compare=none")); err != nil {
		t.Fatal(err)
	}
	return Simulate(t.Context(), o, io.Discard, nil)
}

// A warm-up that leaves nothing to score is rejected, because there would be no comparison.
func TestWarmUpLeavesSomethingToScore(t *testing.T) {
	for args, want := range map[string]string{
		"--steps=24 --warm-up=24": "--warm-up: 24 is all of the 24 steps that are played; it must be less",
		"--warm-up=100000":        "--warm-up: 100000 is all of the 288 steps that are played; it must be less",
		"--steps=6":               "", // the default is shortened
		"--steps=-1":              "-1 steps, 12 of them to warm up: both must be 0 or more",
		"--extender-weight=-5":    "an extender weight of -5: must be 1 or more, as in kube-scheduler's configuration",
		"--lag=-1s":               "a lag of -1s, a gap of 30s: the lag must be from 0s to below 5m0s and the gap from 0s to 1h",
	} {
		err := simulateBy(t, append(strings.Fields(args), "--generate-series=20", "--pods-per-node=5")...)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || err != nil && exit.Code(err) != exit.Misuse {
			t.Errorf("%s: exit code %d for %q, want %q", args, exit.Code(err), got, want)
		}
	}
}

// JSON is for people and scripts, so < and & are not escaped in it.
func TestJSONHasNoEscapesForPages(t *testing.T) {
	var out bytes.Buffer
	text := "avg_<time> & more"
	if err := output.Show(&out, "json", "never", map[string]string{"says": text}, nil); err != nil {
		t.Fatal(err)
	}
	if err := report.JSON(&out, report.Heading{Trace: text}, []sim.Result{{Variant: "none"}}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), text); got != 2 {
		t.Errorf("%d of 2 texts are as they were:\n%s", got, out.String())
	}
}

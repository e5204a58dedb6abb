package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/sim"
)

// heading returns the heading of a replay like those in made.
func heading() Heading {
	return Heading{
		Version: "v1.2.3", Trace: "made-up", Pods: 240, Nodes: 12, Steps: 72, WarmUpSteps: 12, Policies: []string{"tight.yaml"},
		Seed: 7, HotLinePercent: 70, LagSeconds: 30, GapSeconds: 45, CycleSeconds: 300,
	}
}

// made returns a result in which the usage of nodes is spread around 50%, highest on the first
// node.
func made(variant string, spread float64, evictions int) sim.Result {
	const nodes, pods, steps, warm = 12, 240, 72, 12
	r := sim.Result{Variant: variant, Nodes: nodes, Pods: pods, Steps: steps - warm, Days: 60. / 288, Evictions: evictions, Landed: evictions}
	r.EvictionsAt = make([]int, steps)
	for i := range evictions {
		r.EvictionsAt[warm+i%(steps-warm)]++
	}
	r.EvictionsPerPodAndDay = float64(evictions) / pods / (steps / 288.)
	hot := 0
	for step := range steps {
		row := make([]float64, nodes)
		for node := range row {
			row[node] = 50 + spread*(1-2*float64(node)/(nodes-1)) + 3*math.Sin(float64(step+node))
			if step >= warm && row[node] > 70 {
				hot++
			}
			r.PeakCPUPercent = max(r.PeakCPUPercent, row[node])
		}
		r.Usage = append(r.Usage, row)
	}
	r.HotPercent = 100 * float64(hot) / nodes / (steps - warm)
	r.CPUDeviation, r.CPUDeviationHour, r.MemoryDeviationHour = spread*0.6, new(spread*0.55), new(0.0)
	return r
}

// An unknown value is not printed as 0.
func TestTableWithoutAnHour(t *testing.T) {
	result := made(Baseline, 10, 0)
	result.Memory, result.CPUDeviationHour, result.MemoryDeviationHour = true, nil, nil
	made, err := rows([]sim.Result{result})
	if err != nil {
		t.Fatal(err)
	}
	if cells := made[0].cells(true); cells[4] != "-" || cells[6] != "-" {
		t.Errorf("deviations of hours are %q and %q in %q", cells[4], cells[6], cells)
	}
}

func replay() []sim.Result {
	planned := made("evenkeel", 10, 6)
	planned.Planned, planned.OnPlan, planned.Helped, planned.LostPercent = 6, 5, 6, 0.02
	stray := made("upstream-metrics", 22, 200)
	stray.Landed, stray.Pending, stray.Boomerangs, stray.Helped = 190, 10, 120, 60
	return []sim.Result{made(Baseline, 40, 0), stray, planned, made(Bound, 5, 900)}
}

// The hot minutes per eviction of evenkeel follow from 27.5% of 12 nodes × 60 steps × 5 minutes =
// 990, divided by 6 evictions.
func TestTable(t *testing.T) {
	var out layout.Page
	if err := Table(&out, replay()); err != nil {
		t.Fatal(err)
	}
	want := `
VARIANT           HOT%  UNSERVED%  DEV 5m  DEV 1h  EVICTIONS  PER POD PER DAY  HOT MIN/EVICTION  ON PLAN%  BOOMERANGS  HELPED%
none              27.5  0          24.0    22.0    0          0                -                 -         0           -
upstream-metrics  8.6   0          13.2    12.1    200        3.33             3.4               -         120         30.0
evenkeel          0     0          6.0     5.5     6          0.10             165.0             83.3      0           100.0
oracle            0     0          3.0     2.8     900        15.0             1.1               -         0           0

Best: evenkeel. Nodes are hot 0% of the time (27.5% with kube-scheduler alone), with 0.10 evictions per pod per day.
With upstream-metrics it is 8.6%, for 3.33 evictions per pod per day, 33 times as many.
Nodes differ by 6.0 points of CPU instead of 24.0.
The oracle, which knows the coming hour and moves as it likes, reaches 0%.
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestTableShowsMemoryWhereItWasReplayed(t *testing.T) {
	results := replay()
	results[0].Memory, results[0].MemoryHotPercent, results[0].MemoryDeviationHour = true, 4.25, new(11.5)
	var out layout.Page
	if err := Table(&out, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MEM HOT%", "MEM DEV 1h", "4.2", "11.5"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

// Every row shows above which line its variant evicts. That includes memory if it was replayed, and
// is a dash if there is no line.
func TestLines(t *testing.T) {
	for _, memory := range []bool{false, true} {
		results := replay()
		results[1].EvictLinePercent, results[1].MemoryEvictLinePercent = new(65.0), new(72.5)
		results[2].MemoryEvictLinePercent = new(80.0)
		for i := range results {
			results[i].Memory = memory
		}
		want := []string{"-", "65", "-", "-"}
		if memory {
			want = []string{"-", "65/72.5", "-/80", "-"}
		}
		var table layout.Page
		var page strings.Builder
		if err := errors.Join(Table(&table, results), HTML(&page, heading(), results)); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(table.String(), "\n")[:5] {
			got := strings.Fields(line)[1]
			if i == 0 && got != "LINE%" || i > 0 && got != want[i-1] {
				t.Errorf("memory %v: line %d of the table is %q", memory, i, line)
			}
		}
		for _, cell := range want {
			if !strings.Contains(page.String(), "<td>"+cell+"</td>") {
				t.Errorf("memory %v: the page lacks %q", memory, cell)
			}
		}
	}
}

// Every column of the CSV has the name and value of the JSON.
func TestCSVAndJSONAgree(t *testing.T) {
	var asJSON, asCSV bytes.Buffer
	if err := JSON(&asJSON, heading(), replay()); err != nil {
		t.Fatal(err)
	}
	if err := CSV(&asCSV, replay()); err != nil {
		t.Fatal(err)
	}
	var document struct {
		Heading    Heading
		Conclusion Conclusion `json:"verdict"`
		Results    []map[string]any
	}
	if err := json.Unmarshal(asJSON.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(heading(), document.Heading); diff != "" {
		t.Errorf("heading (-want +got):\n%s", diff)
	}
	if document.Conclusion.Best != "evenkeel" {
		t.Errorf("the JSON calls %q the best, want evenkeel", document.Conclusion.Best)
	}
	table, err := csv.NewReader(&asCSV).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(table) != 1+len(document.Results) {
		t.Fatalf("%d lines of CSV for %d results", len(table), len(document.Results))
	}
	for i, result := range document.Results {
		for k, name := range table[0] {
			value, ok := result[name]
			if !ok {
				t.Fatalf("the JSON has no %q", name)
			}
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Trim(string(text), `"`)
			if value == nil {
				want = ""
			}
			if table[i+1][k] != want {
				t.Errorf("%s of %v: %q in the CSV, %q in the JSON", name, result["variant"], table[i+1][k], want)
			}
		}
	}
	for name := range document.Results[0] {
		if !slices.Contains(table[0], name) && name != "usage" && name != "evictionsAt" {
			t.Errorf("the CSV has no %q", name)
		}
	}
}

func TestJSONLeavesResultsAlone(t *testing.T) {
	results := replay()
	before := results[0].Usage[3][2]
	var out bytes.Buffer
	if err := JSON(&out, heading(), results); err != nil {
		t.Fatal(err)
	}
	if results[0].Usage[3][2] != before {
		t.Error("rounding for the file changed the results")
	}
	if lines := strings.Count(out.String(), "\n"); lines != 1 {
		t.Errorf("with the usage of nodes it has %d lines, want 1", lines)
	}
	for i := range results {
		results[i].Usage = nil
	}
	out.Reset()
	if err := JSON(&out, heading(), results); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), `"usage"`) || !strings.Contains(out.String(), "\n  \"heading\"") {
		t.Error("without the usage of nodes the JSON is not indented, or names it")
	}
}

package report

import (
	"io"
	"math"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/sim"
)

func TestHostileResultsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*sim.Result)
		want  string
	}{
		"a figure that is none":        {func(r *sim.Result) { r.HotPercent = math.NaN() }, `variant "none": hotPercent is NaN`},
		"a rate without an end":        {func(r *sim.Result) { r.EvictionsPerPodAndDay = math.Inf(1) }, `variant "none": evictionsPerPodAndDay is +Inf`},
		"usage that is no number":      {func(r *sim.Result) { r.Usage[5][2] = math.NaN() }, `variant "none": usage of node 2 in step 5 is NaN`},
		"usage below zero":             {func(r *sim.Result) { r.Usage[5][2] = -1 }, `variant "none": usage of node 2 in step 5 is -1`},
		"usage without an end":         {func(r *sim.Result) { r.Usage[5][2] = math.Inf(1) }, `variant "none": usage of node 2 in step 5 is +Inf`},
		"a row that lacks a node":      {func(r *sim.Result) { r.Usage[3] = r.Usage[3][1:] }, `variant "none": usage of 11 nodes in step 3, of 12 in all`},
		"fewer steps than were scored": {func(r *sim.Result) { r.Usage = r.Usage[:7] }, `variant "none": 60 steps were scored of 7 that were kept`},
		"fewer than no steps":          {func(r *sim.Result) { r.Steps = -1 }, `variant "none": -1 steps were scored of 72 that were kept`},
		"rows for no nodes":            {func(r *sim.Result) { r.Nodes = 0 }, `variant "none": usage of 12 nodes in step 0, of 0 in all`},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, write := range map[string]func([]sim.Result) error{
				"table": func(r []sim.Result) error { return Table(&layout.Page{}, r) },
				"csv":   func(r []sim.Result) error { return CSV(io.Discard, r) },
				"json":  func(r []sim.Result) error { return JSON(io.Discard, heading(), r) },
				"html":  func(r []sim.Result) error { return HTML(io.Discard, heading(), r) },
			} {
				results := replay()
				tc.spoil(&results[0])
				if err := write(results); err == nil || err.Error() != tc.want {
					t.Errorf("%s: the error is %v, want %s", kind, err, tc.want)
				}
			}
		})
	}
	if err := HTML(io.Discard, heading(), nil); err == nil || err.Error() != "there are no results to show" {
		t.Errorf("without results the error is %v", err)
	}
	for _, line := range []float64{0, -1, 101, math.NaN()} {
		h := heading()
		h.HotLinePercent = line
		if err := HTML(io.Discard, h, replay()); err == nil || !strings.HasPrefix(err.Error(), "a hot line of ") {
			t.Errorf("with a line at %v the error is %v", line, err)
		}
	}
}

// Results with a minimum of values make a valid page.
func TestSparseResultsMakeAPage(t *testing.T) {
	for name, spoil := range map[string]func(*sim.Result){
		"no usage was kept":         func(r *sim.Result) { r.Usage = nil },
		"no step was scored":        func(r *sim.Result) { r.Steps = 0 },
		"no steps at all":           func(r *sim.Result) { r.Steps, r.Usage, r.EvictionsAt = 0, nil, nil },
		"no nodes":                  func(r *sim.Result) { r.Nodes, r.Steps, r.Usage = 0, 0, nil },
		"one step":                  func(r *sim.Result) { r.Usage, r.Steps, r.EvictionsAt = r.Usage[:1], 1, r.EvictionsAt[:1] },
		"nobody uses anything":      func(r *sim.Result) { r.Usage, r.Steps, r.Nodes = [][]float64{{0, 0}}, 1, 2 },
		"a demand beyond all":       func(r *sim.Result) { r.Usage[20][0], r.PeakCPUPercent = 1e300, 1e300 },
		"evictions below zero":      func(r *sim.Result) { r.Evictions, r.Planned, r.OnPlan, r.EvictionsAt[2] = -4, -1, -2, -9 },
		"more landings than pods":   func(r *sim.Result) { r.Evictions, r.Landed, r.OnPlan, r.Planned = 1, 50, 60, 40 },
		"evictions, but never told": func(r *sim.Result) { r.Evictions, r.EvictionsAt = 5, nil },
	} {
		t.Run(name, func(t *testing.T) {
			results := replay()
			for i := range results {
				spoil(&results[i])
			}
			page := string(render(t, heading(), results))
			parse(t, []byte(page))
			for _, bad := range []string{"NaN", "Inf", "ZgotmplZ"} {
				if strings.Contains(page, bad) {
					t.Errorf("the page contains %q", bad)
				}
			}
		})
	}
}

// Names come from files and flags. They stay text.
func TestNamesAreNeverMarkup(t *testing.T) {
	const evil = "</title><script>alert('x')</script>\"'><img src=x onerror=alert(1)>\x1b[31m\n{{.}}"
	results, h := replay(), heading()
	results[1].Variant, h.Trace, h.Version, h.Policies = evil, evil, evil, []string{evil}
	page := string(render(t, h, results))
	for _, bad := range []string{"<script>alert", "<img", "onerror=alert(1)>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(page, "<script>"); n != 1 {
		t.Errorf("the page has %d scripts, want its own", n)
	}
	var table layout.Page
	if err := Table(&table, results); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(table.String(), "\x1b") {
		t.Errorf("the terminal is sent an escape:\n%q", table.String())
	}
}

// Many variants make a long page, but it is still valid.
func TestManyVariants(t *testing.T) {
	results := []sim.Result{made(Baseline, 40, 0)}
	for range 30 {
		results = append(results, made("p", 10, 3)) // two files may have the same name
	}
	root := parse(t, render(t, heading(), results))
	if got := len(root.drawings("heatmap")); got != 31 {
		t.Errorf("%d heat maps for 31 variants", got)
	}
}

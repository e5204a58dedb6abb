package report

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/evenkeel/evenkeel/sim"
)

//go:embed page.gohtml
var pageText string

//go:embed page.css
var pageStyle string

// page is the template's input.
type page struct {
	Heading Heading
	// Played describes what was replayed, and Timing how.
	Played, Timing string
	Style          template.CSS
	Conclusion     Conclusion
	Rule           string
	Memory, Lines  bool
	Rows           []tableRow
	HotLine        string
	HeatMaps       []heatMap
	Legend         []swatch
	LegendWidth    px
	Distribution   *distribution
	Timelines      []timeline
	Span           string
	Landings       []landing
}

// tableRow is a variant's row in the table. The lengths of bars are in percent of the
// longest bar.
type tableRow struct {
	style
	*Row

	Best            bool
	Aside           bool // the variant does not compete
	HotBar, RateBar px
}

// formats are the template's number formats.
var formats = template.FuncMap{"share": share, "points": points, "rate": rate, "withUnit": withUnit}

// HTML writes a self-contained page.
func HTML(w io.Writer, heading Heading, results []sim.Result) error {
	p, err := newPage(heading, results)
	if err != nil {
		return err
	}
	text, err := template.New("report").Funcs(formats).Parse(pageText)
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	if err := text.Execute(w, p); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func newPage(heading Heading, results []sim.Result) (*page, error) {
	made, err := rows(results)
	if err != nil {
		return nil, err
	}
	line := heading.HotLinePercent
	if !(line > 0 && line <= 100) {
		return nil, fmt.Errorf("a hot line of %v%%: must be above 0 and at most 100", line)
	}
	conclusion := Conclude(results)
	looks, colours := styles(results, conclusion.Best), newScale(line)
	p := &page{
		Heading: heading, Played: played(&heading), Timing: timing(&heading), Style: template.CSS(pageStyle),
		Conclusion: conclusion, Rule: Rule, Memory: withMemory(results), Lines: withLines(results), HotLine: fmt.Sprintf("%g%%", line), Legend: colours.legend(),
		Landings: landings(results, looks),
	}
	p.LegendWidth = px(22*len(p.Legend) + 60)
	p.Rows = tableRows(made, looks, conclusion.Best)
	if p.HeatMaps, err = heatMaps(results, looks, colours); err != nil {
		return nil, err
	}
	p.Distribution = distributionOf(results, looks, line, conclusion.Best)
	p.Timelines, p.Span = timelines(results, looks)
	return p, nil
}

func played(h *Heading) string {
	text := fmt.Sprintf("%d pods on %d nodes, %d steps of 5 minutes", h.Pods, h.Nodes, h.Steps)
	if h.WarmUpSteps > 0 {
		text += fmt.Sprintf(", the first %d not scored", h.WarmUpSteps)
	}
	if h.MemoryTrace == "" {
		return text + "; CPU only"
	}
	return text + "; CPU and memory"
}

func timing(h *Heading) string {
	text := fmt.Sprintf("A cycle every %s on metrics %s old; an evicted pod is away for %s. Seed %d.",
		seconds(h.CycleSeconds), seconds(h.LagSeconds), seconds(h.GapSeconds), h.Seed)
	if h.MeasureServed {
		text += " Pods of full nodes are measured at the CPU that they get."
	}
	if h.HiddenPodsPercent > 0 {
		text += fmt.Sprintf(" Evenkeel's source never reports %g%% of the pods.", h.HiddenPodsPercent)
	}
	if h.LostSamplesPercent > 0 {
		text += fmt.Sprintf(" Evenkeel's source loses %g%% of its samples.", h.LostSamplesPercent)
	}
	if h.PodsMeasuredSeconds > 0 {
		text += fmt.Sprintf(" Evenkeel's source measures pods every %s.", seconds(h.PodsMeasuredSeconds))
	}
	if len(h.Policies) > 0 {
		text += " Policies: " + strings.Join(h.Policies, ", ") + "."
	}
	return text
}

func tableRows(made []Row, looks []style, best string) []tableRow {
	widestHot, widestRate := 0.0, 0.0
	for i := range made {
		widestHot = max(widestHot, made[i].HotPercent)
		if made[i].Variant != Bound { // its moves cost nothing, so all others would look bad
			widestRate = max(widestRate, made[i].EvictionsPerPodAndDay)
		}
	}
	cells := make([]tableRow, len(made))
	for i := range made {
		r := &made[i]
		cells[i] = tableRow{
			style: looks[i], Row: r, Best: r.Variant == best, Aside: r.Variant == Bound, HotBar: percentOf(r.HotPercent, widestHot),
		}
		if r.Variant != Bound {
			cells[i].RateBar = percentOf(r.EvictionsPerPodAndDay, widestRate)
		}
	}
	return cells
}

// withUnit returns a share with its unit; only a dash if there is none.
func withUnit(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return ratio(part, whole) + "%"
}

func percentOf(v, widest float64) px {
	if widest <= 0 {
		return 0
	}
	return px(100 * v / widest)
}

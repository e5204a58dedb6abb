package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/reasons"
)

// Listed is how many rows of a kind a table has; JSON has all.
const Listed = 20

// leastName is to how many cells names may be shortened.
const leastName = 12

// Table prints a node for people.
func (n *Node) Table(p *layout.Page) {
	summary(p, n.Name, layout.ColorOf(n.State), n.Summary)
	p.Line("", "")
	metricRows(p, n.Metrics)
	rows(p, n.Limits, (*Limit).cells, layout.Column{Title: "MEASURED LIMIT"}, layout.Column{Title: "WINDOW"}, layout.Column{Title: "USES"},
		layout.Column{Title: "KEEPS PODS OFF"}, layout.Column{Title: "NOW", Words: true})
	p.Line("", "")
	need, predicted, percentages, stolen, relief := "", "", "", "", ""
	if n.Relief != nil {
		relief = n.Relief.Text
	}
	if n.StolenMilliCores > 0 {
		stolen = fmt.Sprintf("%dm cpu, which the machine was denied: percentages are of what is left", n.StolenMilliCores)
	}
	if n.Reserve != nil {
		percentages = n.Reserve.Text
	}
	if n.HasToLeave != nil {
		need = n.HasToLeave.String()
	}
	if n.Predicted != nil {
		predicted = fmt.Sprintf("%s (%.1f%% cpu, %.1f%% memory)", n.Predicted, n.PredictedPercent.CPU, n.PredictedPercent.Memory)
	}
	p.Pairs("samples over the evict line", fmt.Sprintf("%d in a row, %d make it hot", n.SamplesOver, n.SamplesNeeded),
		"percentages are", percentages,
		"stolen", stolen,
		"to be moved off", need,
		"predicted", predicted,
		"limit after placement", n.Ceiling.String(),
		"usage", fmt.Sprintf("%s, %ds old, %ds of history", cmp.Or(n.Source, "none"), n.AgeSeconds, n.WindowSeconds),
		"expected", n.Expected.String(),
		"relief", relief,
		"takes no pods", n.Closed,
		"node pool", n.Pool,
		"nothing is evicted now", n.Paused)
	rows(p, n.Leave, (*PlannedMove).cells, plannedColumns("WOULD LEAVE")...)
	rows(p, n.Arrive, (*PlannedMove).cells, plannedColumns("WOULD COME")...)
	rows(p, n.MovesFrom, (*Move).cells, moveColumns("LEAVING")...)
	rows(p, n.MovesTo, (*Move).cells, moveColumns("COMING")...)
	rows(p, n.Declined, (*Declined).cells, layout.Column{Title: "NOT MOVED", Cut: leastName}, layout.Column{Title: "REASON"}, layout.Column{Title: "DETAIL", Wrap: true})
}

// Table prints a pod for people.
func (p *Pod) Table(page *layout.Page) {
	summary(page, p.Namespace+"/"+p.Name, layout.Bold, p.Summary)
	page.Line("", "")
	used, node, uses := "", "", ""
	if p.Node == "" {
		used = fmt.Sprintf("%s when it was moved", p.Usage)
	} else {
		measured := "by estimate"
		if p.Measured {
			measured = fmt.Sprintf("measured over %ds", p.MeasuredSeconds)
		}
		node = fmt.Sprintf("%s (%s)", p.Node, p.NodeState)
		uses = fmt.Sprintf("%s, %s: %.1f%% cpu and %.1f%% memory of its node", p.Usage, measured, p.NodePercent.CPU, p.NodePercent.Memory)
	}
	page.Pairs("owner", cmp.Or(p.Owner, "none"), "used", used, "node", node, "uses", uses, "nothing is evicted now", p.Paused)
	p.landingRows(page)
	rows(page, p.Moves, (*Move).cells, moveColumns("MOVES OF ITS OWNER")...)
}

// summary prints the sentence that matters most, with its subject in a color.
func summary(p *layout.Page, subject string, color layout.Color, text string) {
	if rest, ok := strings.CutPrefix(text, subject+" "); ok {
		p.Text(subject+" ", color, "", rest)
		return
	}
	p.Text("", "", "", text)
}

func metricRows(p *layout.Page, metrics []Metric) {
	all := []layout.Column{
		{Title: "METRIC"}, {Title: "WINDOW"}, {Title: "MEASURED", Drop: 4}, {Title: "CURRENT"}, {Title: "PREDICTED", Drop: 3},
		{Title: "LOW", Drop: 2}, {Title: "REJECT"}, {Title: "EVICT"}, {Title: "LEAVE", Drop: 1}, {Title: "OVER", Words: true},
	}
	for i := range metrics {
		m := &metrics[i]
		name := m.Name
		for k := range m.Windows {
			one := &m.Windows[k]
			mark := map[bool]string{true: "yes", false: "-"}[one.AboveEvict]
			layout.Row(all, name, one.Window, m.cell(one.Measured), m.cell(one.Current), m.cell(one.Predicted),
				m.lineCell(one.Low), m.lineCell(one.Reject), m.lineCell(one.Evict), m.lineCell(one.Leave), mark)
			name = ""
		}
	}
	p.Table("", all...)
}

// rows prints a table with a row for each of the first items, or nothing if
// there are none.
func rows[T any](p *layout.Page, items []T, cells func(*T) []string, columns ...layout.Column) {
	if len(items) == 0 {
		return
	}
	p.Line("", "")
	for i := range items[:min(len(items), Listed)] {
		layout.Row(columns, cells(&items[i])...)
	}
	p.Table("", columns...)
	if more := len(items) - Listed; more > 0 {
		p.Line("", fmt.Sprintf("and %d more; -o json lists all", more))
	}
}

// plannedColumns and moveColumns are those of moves; the first names their kind.
func plannedColumns(kind string) []layout.Column {
	return []layout.Column{{Title: kind, Cut: leastName}, {Title: "USES"}, {Title: "FROM", Cut: leastName}, {Title: "TO", Cut: leastName}}
}

func moveColumns(kind string) []layout.Column {
	return []layout.Column{
		{Title: kind, Cut: leastName}, {Title: "STATE"}, {Title: "FROM", Cut: leastName, Drop: 2}, {Title: "PLANNED TO", Cut: leastName, Drop: 3},
		{Title: "NODE", Cut: leastName}, {Title: "RECORDED", Drop: 1}, {Title: "OUTCOME", Words: true, Wrap: true},
	}
}

func (m *PlannedMove) cells() []string {
	return []string{m.Namespace + "/" + m.Pod, m.Usage.String(), m.From, m.To}
}

func (m *Move) cells() []string {
	return []string{m.Namespace + "/" + m.Pod, m.State, m.From, cmp.Or(m.To, "-"), cmp.Or(m.Node, "-"), stamp(m.Recorded), m.result()}
}

func (d *Declined) cells() []string {
	return []string{d.Namespace + "/" + d.Pod, d.Reason, d.Detail}
}

func (l *Limit) cells() []string {
	uses, now := "-", map[bool]string{true: "yes", false: "no"}[l.Passed]
	if l.Percent != nil {
		uses = fmt.Sprintf("%.1f%%", *l.Percent)
	}
	return []string{l.Metric, l.Window, uses, l.bound(), now}
}

func (l *Landing) cells() []string {
	score, note := "-", cmp.Or(l.Refused, "-")
	if l.Score != nil {
		score = fmt.Sprint(*l.Score)
	}
	if l.Planned {
		note = "planned destination"
	}
	if l.Detail != "" {
		note += ": " + l.Detail
	}
	before, after := [2]string{"-", "-"}, [2]string{"-", "-"}
	if l.Before != nil {
		before = [2]string{fmt.Sprintf("%.1f", l.Before.CPU), fmt.Sprintf("%.1f", l.Before.Memory)}
		after = [2]string{fmt.Sprintf("%.1f", l.After.CPU), fmt.Sprintf("%.1f", l.After.Memory)}
	}
	return []string{l.Node, l.State, score, before[0], after[0], before[1], after[1], note}
}

func (m *Metric) cell(v *float64) string { return m.text("%.1f", v, "-") }

func (m *Metric) lineCell(v *float64) string { return m.text("%g", v, "-") }

// landingRows prints how many other nodes would take the pod, and the first
// Listed of all of them.
func (p *Pod) landingRows(page *layout.Page) {
	if len(p.Landings) == 0 {
		return
	}
	taking := 0
	for i := range p.Landings {
		if p.Landings[i].Refused == "" {
			taking++
		}
	}
	by := ""
	if p.ByUsageAlone {
		by = " by usage alone; kube-scheduler's filters were not asked"
	}
	page.Line("", "")
	page.Text("", "", "", fmt.Sprintf("Of %s %d would take it%s.", reasons.Count(len(p.Landings), "other node"), taking, by))
	rows(page, p.Landings, (*Landing).cells, layout.Column{Title: "NODE", Cut: leastName}, layout.Column{Title: "STATE", Words: true},
		layout.Column{Title: "SCORE", Drop: 1}, layout.Column{Title: "CPU%", Drop: 2}, layout.Column{Title: "CPU% AFTER"},
		layout.Column{Title: "MEM%", Drop: 3}, layout.Column{Title: "MEM% AFTER"}, layout.Column{Title: "NOTE", Words: true, Wrap: true})
}

// outcome puts an outcome into words; that of a move whose outcome is not known is a
// dash. A full node stays full for a while as its other pods get more.
func (m *Move) outcome() string {
	o := m.Outcome
	if o == nil {
		return "-"
	}
	source, line := "source no cooler", "line"
	if m.CeilingMilliCores > 0 {
		source, line = "source still full", "ceiling"
	}
	var wrong []string
	for _, is := range []struct {
		good bool
		not  string
	}{
		{o.Planned, "landed elsewhere"}, {o.SourceCooler, source},
		{o.DestinationUnder, "destination over its " + line}, {o.Healthy, "replacement unhealthy"},
	} {
		if !is.good {
			wrong = append(wrong, is.not)
		}
	}
	if o.Helped && len(wrong) == 0 {
		return "helped"
	}
	if o.Helped {
		return "helped, " + strings.Join(wrong, ", ")
	}
	return strings.Join(wrong, ", ")
}

func stamp(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.Format(time.RFC3339)
}

// result puts into words what was expected of a move and what came.
func (m *Move) result() string {
	words := m.outcome()
	if m.Saved != nil {
		words += fmt.Sprintf(", saved %.0f hot minutes in %s", m.Saved.HotMinutes, InMinutes(m.Saved.Within))
	}
	if m.Expected != nil {
		words += fmt.Sprintf(", expected %.0f in %s", m.Expected.HotMinutes, InMinutes(m.Expected.Within))
	}
	return strings.TrimPrefix(words, "-, ")
}

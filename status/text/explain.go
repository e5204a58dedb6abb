package text

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
)

// listed is the number of rows of a kind that are printed unless the page is wide. JSON
// contains all rows.
const listed = 20

// leastName is the number of cells to which names may be shortened.
const leastName = 12

// Explanation prints an explanation for people.
func Explanation(p *layout.Page, e status.Explanation) {
	switch e := e.(type) {
	case *status.NodeExplanation:
		nodeExplanation(p, e)
	case *status.PodExplanation:
		podExplanation(p, e)
	}
}

func nodeExplanation(p *layout.Page, n *status.NodeExplanation) {
	summary(p, n.Name, layout.ColorOf(n.State), n.Summary)
	p.Line("", "")
	metricRows(p, n.Metrics)
	rows(p, n.Limits, limitCells, layout.Column{Title: "MEASURED LIMIT"}, layout.Column{Title: "WINDOW"}, layout.Column{Title: "USES"},
		layout.Column{Title: "KEEPS PODS OFF"}, layout.Column{Title: "NOW", Words: true})
	p.Line("", "")
	need, predicted, percentages, stolen, relief := "", "", "", "", ""
	if n.Relief != nil {
		relief = n.Relief.Text
	}
	if n.StolenMilliCores > 0 {
		stolen = fmt.Sprintf("%dm cpu, which the machine was denied: percentages are of the rest", n.StolenMilliCores)
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
	rows(p, n.Leave, plannedCells, plannedColumns("WOULD LEAVE")...)
	rows(p, n.Arrive, plannedCells, plannedColumns("WOULD COME")...)
	rows(p, n.MovesFrom, moveCells, moveColumns("LEAVING")...)
	rows(p, n.MovesTo, moveCells, moveColumns("COMING")...)
	rows(p, n.Declined, declinedCells, layout.Column{Title: "NOT MOVED", Cut: leastName}, layout.Column{Title: "REASON"}, layout.Column{Title: "DETAIL", Wrap: true})
}

func podExplanation(page *layout.Page, p *status.PodExplanation) {
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
	landingRows(page, p)
	rows(page, p.Moves, moveCells, moveColumns("MOVES OF ITS OWNER")...)
}

// summary prints the most important sentence, with its subject in color.
func summary(p *layout.Page, subject string, color layout.Color, text string) {
	if rest, ok := strings.CutPrefix(text, subject+" "); ok {
		p.Text(subject+" ", color, "", rest)
		return
	}
	p.Text("", "", "", text)
}

func metricRows(p *layout.Page, metrics []status.Metric) {
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
			cells := []string{name, one.Window}
			for _, value := range []*float64{one.Measured, one.Current, one.Predicted} {
				cells = append(cells, m.Text("%.1f", value, none))
			}
			for _, line := range []*float64{one.Low, one.Reject, one.Evict, one.Leave} {
				cells = append(cells, m.Text("%g", line, none))
			}
			layout.Row(all, append(cells, mark)...)
			name = ""
		}
	}
	p.Table("", all...)
}

// rows prints a table of the first items, or nothing if there are no items.
func rows[T any](p *layout.Page, items []T, cells func(*T) []string, columns ...layout.Column) {
	if len(items) == 0 {
		return
	}
	p.Line("", "")
	for i := range items[:min(len(items), listed)] {
		layout.Row(columns, cells(&items[i])...)
	}
	p.Table("", columns...)
	if more := len(items) - listed; more > 0 {
		p.Line("", fmt.Sprintf("and %d more; -o json lists all", more))
	}
}

// plannedColumns and moveColumns return the columns of moves. kind is the title of the
// first column.
func plannedColumns(kind string) []layout.Column {
	return []layout.Column{{Title: kind, Cut: leastName}, {Title: "USES"}, {Title: "FROM", Cut: leastName}, {Title: "TO", Cut: leastName}, {Title: "WHY", Drop: 1}}
}

func moveColumns(kind string) []layout.Column {
	return []layout.Column{
		{Title: kind, Cut: leastName}, {Title: "STATE"}, {Title: "ASKED BY", Cut: leastName, Drop: 4}, {Title: "FROM", Cut: leastName, Drop: 2}, {Title: "PLANNED TO", Cut: leastName, Drop: 3},
		{Title: "NODE", Cut: leastName}, {Title: "RECORDED", Drop: 1}, {Title: "OUTCOME", Words: true, Wrap: true},
	}
}

func plannedCells(m *status.ExplainedMove) []string {
	return []string{m.Namespace + "/" + m.Pod, m.Usage.String(), m.From, m.To, cmp.Or(m.Plugin, m.Reason) + inDryRun(m.DryRun)}
}

func moveCells(m *status.RecordedMove) []string {
	return []string{m.Namespace + "/" + m.Pod, m.State, cmp.Or(m.Plugin, "-"), m.From, cmp.Or(m.To, "-"), cmp.Or(m.Node, "-"), stamp(m.Recorded), result(m)}
}

func declinedCells(d *status.Declined) []string {
	return []string{d.Namespace + "/" + d.Pod, d.Reason, d.Detail}
}

func limitCells(l *status.Limit) []string {
	uses, now := "-", map[bool]string{true: "yes", false: "no"}[l.Passed]
	if l.Percent != nil {
		uses = fmt.Sprintf("%.1f%%", *l.Percent)
	}
	return []string{l.Metric, l.Window, uses, l.Bound(), now}
}

func landingCells(l *status.Landing) []string {
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

// landingRows prints how many other nodes would accept the pod, and lists the first of
// them.
func landingRows(page *layout.Page, p *status.PodExplanation) {
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
		by = " by usage alone; kube-scheduler's filters were not evaluated"
	}
	page.Line("", "")
	page.Text("", "", "", fmt.Sprintf("Of %s %d would take it%s.", reasons.Count(len(p.Landings), "other node"), taking, by))
	rows(page, p.Landings, landingCells, layout.Column{Title: "NODE", Cut: leastName}, layout.Column{Title: "STATE", Words: true},
		layout.Column{Title: "SCORE", Drop: 1}, layout.Column{Title: "CPU%", Drop: 2}, layout.Column{Title: "CPU% AFTER"},
		layout.Column{Title: "MEM%", Drop: 3}, layout.Column{Title: "MEM% AFTER"}, layout.Column{Title: "NOTE", Words: true, Wrap: true})
}

// outcome describes the outcome of a move; a dash if it is unknown. After a move off a full
// node, the node stays full for a while, because its other pods get more CPU.
func outcome(m *status.RecordedMove) string {
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

// result describes the expected and the actual result of a move.
func result(m *status.RecordedMove) string {
	words := outcome(m)
	if m.Saved != nil {
		words += fmt.Sprintf(", saved %.0f hot minutes in %s", m.Saved.HotMinutes, status.InMinutes(m.Saved.Within))
	}
	if m.Expected != nil {
		words += fmt.Sprintf(", expected %.0f in %s", m.Expected.HotMinutes, status.InMinutes(m.Expected.Within))
	}
	return strings.TrimPrefix(words, "-, ")
}

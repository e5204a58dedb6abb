package explain

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/evenkeel/evenkeel/reasons"
)

// Listed is how many rows of a kind a table has; JSON has all.
const Listed = 20

// Table prints a node for people.
func (n *Node) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	line(w, "%s", n.Summary)
	line(w, "")
	metricRows(w, n.Metrics)
	rows(w, "MEASURED LIMIT\tWINDOW\tUSES\tKEEPS PODS OFF\tNOW", n.Limits, (*Limit).row)
	line(w, "")
	line(w, "samples over the evict line\t%d in a row, %d make it hot", n.SamplesOver, n.SamplesNeeded)
	if n.HasToLeave != nil {
		line(w, "has to leave\t%s", n.HasToLeave)
	}
	if n.Predicted != nil {
		line(w, "predicted\t%s (%.1f%% cpu, %.1f%% memory)", n.Predicted, n.PredictedPercent.CPU, n.PredictedPercent.Memory)
	}
	line(w, "may be predicted at most\t%s", n.Ceiling)
	line(w, "usage\t%s, %d s old, reaching back %d s", cmp.Or(n.Source, "none"), n.AgeSeconds, n.WindowSeconds)
	if n.Closed != "" {
		line(w, "takes no pods\t%s", n.Closed)
	}
	if n.Pool != "" {
		line(w, "node pool\t%s", n.Pool)
	}
	pausedLine(w, n.Paused)
	rows(w, "WOULD LEAVE"+plannedColumns, n.Leave, (*PlannedMove).row)
	rows(w, "WOULD COME"+plannedColumns, n.Arrive, (*PlannedMove).row)
	rows(w, "LEAVING"+moveColumns, n.MovesFrom, (*Move).row)
	rows(w, "COMING"+moveColumns, n.MovesTo, (*Move).row)
	rows(w, "NOT MOVED\tREASON\tDETAIL", n.Declined, (*Declined).row)
	return flush(w)
}

// Table prints a pod for people.
func (p *Pod) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	line(w, "%s", p.Summary)
	line(w, "")
	line(w, "owner\t%s", cmp.Or(p.Owner, "none"))
	if p.Node == "" {
		line(w, "used\t%s when it was moved", p.Usage)
	} else {
		measured := "by estimate"
		if p.Measured {
			measured = fmt.Sprintf("measured over %d s", p.MeasuredSeconds)
		}
		line(w, "node\t%s (%s)", p.Node, p.NodeState)
		line(w, "uses\t%s, %s: %.1f%% cpu and %.1f%% memory of its node", p.Usage, measured, p.NodePercent.CPU, p.NodePercent.Memory)
	}
	pausedLine(w, p.Paused)
	p.landingRows(w)
	rows(w, "MOVES OF ITS OWNER"+moveColumns, p.Moves, (*Move).row)
	return flush(w)
}

func pausedLine(w io.Writer, paused string) {
	if paused != "" {
		line(w, "nothing is evicted now\t%s", paused)
	}
}

func metricRows(w io.Writer, metrics []Metric) {
	line(w, "METRIC\tWINDOW\tMEASURED\tCURRENT\tPREDICTED\tLOW\tREJECT\tEVICT\tLEAVE\tOVER")
	for i := range metrics {
		m := &metrics[i]
		name := m.Name
		for k := range m.Windows {
			one := &m.Windows[k]
			mark := "-"
			if one.AboveEvict {
				mark = "yes"
			}
			line(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", name, one.Window, m.cell(one.Measured), m.cell(one.Current), m.cell(one.Predicted),
				m.lineCell(one.Low), m.lineCell(one.Reject), m.lineCell(one.Evict), m.lineCell(one.Leave), mark)
			name = ""
		}
	}
}

// rows prints a header and a row for each of the first items, or nothing if
// there are none.
func rows[T any](w io.Writer, header string, items []T, row func(*T) string) {
	if len(items) == 0 {
		return
	}
	line(w, "\n%s", header)
	for i := range items[:min(len(items), Listed)] {
		line(w, "%s", row(&items[i]))
	}
	if more := len(items) - Listed; more > 0 {
		line(w, "and %d more; -o json lists all", more)
	}
}

// The columns of moves after the first, which names their kind.
const (
	plannedColumns = "\tUSES\tFROM\tTO"
	moveColumns    = "\tSTATE\tFROM\tPLANNED TO\tNODE\tRECORDED\tOUTCOME"
)

func (m *PlannedMove) row() string {
	return fmt.Sprintf("%s/%s\t%s\t%s\t%s", m.Namespace, m.Pod, m.Usage, m.From, m.To)
}

func (m *Move) row() string {
	return fmt.Sprintf("%s/%s\t%s\t%s\t%s\t%s\t%s\t%s", m.Namespace, m.Pod, m.State, m.From, cmp.Or(m.To, "-"), cmp.Or(m.Node, "-"), stamp(m.Recorded), m.Outcome)
}

func (d *Declined) row() string {
	return fmt.Sprintf("%s/%s\t%s\t%s", d.Namespace, d.Pod, d.Reason, d.Detail)
}

func (l *Limit) row() string {
	uses, now := "-", "no"
	if l.Percent != nil {
		uses = fmt.Sprintf("%.1f%%", *l.Percent)
	}
	if l.Passed {
		now = "yes"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", l.Metric, l.Window, uses, l.bound(), now)
}

func (l *Landing) row() string {
	score, refused := "-", cmp.Or(l.Refused, "-")
	if l.Score != nil {
		score = fmt.Sprint(*l.Score)
	}
	if l.Planned {
		refused = "planned"
	}
	if l.Detail != "" {
		refused += ": " + l.Detail
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", l.Node, l.State, score, l.percentCells(), refused)
}

func (m *Metric) cell(v *float64) string { return m.text("%.1f", v, "-") }

func (m *Metric) lineCell(v *float64) string { return m.text("%g", v, "-") }

// landingRows prints how many other nodes would take the pod, and the first
// Listed of all of them.
func (p *Pod) landingRows(w io.Writer) {
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
	line(w, "\nOf %s %d would take it%s.", reasons.Count(len(p.Landings), "other node"), taking, by)
	rows(w, "NODE\tSTATE\tSCORE\tCPU%\tWITH IT\tMEM%\tWITH IT\tREFUSED", p.Landings, (*Landing).row)
}

func (l *Landing) percentCells() string {
	if l.Before == nil {
		return "-\t-\t-\t-"
	}
	return fmt.Sprintf("%.1f\t%.1f\t%.1f\t%.1f", l.Before.CPU, l.After.CPU, l.Before.Memory, l.After.Memory)
}

// String puts an outcome into words; a nil one is a dash.
func (o *Outcome) String() string {
	if o == nil {
		return "-"
	}
	var wrong []string
	for _, is := range []struct {
		good bool
		not  string
	}{
		{o.Planned, "landed elsewhere"}, {o.SourceCooler, "source no cooler"},
		{o.DestinationUnder, "destination over its line"}, {o.Healthy, "replacement unhealthy"},
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

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

func flush(w *tabwriter.Writer) error {
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

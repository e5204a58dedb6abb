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

// Table prints a node for persons.
func (n *Node) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	line(w, "%s", n.Summary)
	line(w, "")
	metricRows(w, n.Metrics)
	limitRows(w, n.Limits)
	line(w, "")
	line(w, "samples over the evict line\t%d in a row, %d make it hot", n.SamplesOver, n.SamplesNeeded)
	if n.HasToLeave != nil {
		line(w, "has to leave\t%s", n.HasToLeave)
	}
	if n.Predicted != nil {
		line(w, "predicted\t%s (%.1f %% cpu, %.1f %% memory)", n.Predicted, n.PredictedPercent.CPU, n.PredictedPercent.Memory)
	}
	line(w, "may be predicted at most\t%s", n.Ceiling)
	line(w, "usage\t%s, %d s old, reaching back %d s", cmp.Or(n.Source, "none"), n.AgeSeconds, n.WindowSeconds)
	if n.Closed != "" {
		line(w, "takes no pods\t%s", n.Closed)
	}
	if n.Pool != "" {
		line(w, "node pool\t%s", n.Pool)
	}
	plannedRows(w, "WOULD LEAVE", n.Leave)
	plannedRows(w, "WOULD COME", n.Arrive)
	moveRows(w, "LEAVING", n.MovesFrom)
	moveRows(w, "COMING", n.MovesTo)
	declinedRows(w, n.Declined)
	return flush(w)
}

// Table prints a pod for persons.
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
		line(w, "uses\t%s, %s: %.1f %% cpu and %.1f %% memory of its node", p.Usage, measured, p.NodePercent.CPU, p.NodePercent.Memory)
	}
	p.landingRows(w)
	moveRows(w, "MOVES OF ITS OWNER", p.Moves)
	return flush(w)
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

func limitRows(w io.Writer, limits []Limit) {
	if len(limits) == 0 {
		return
	}
	line(w, "\nMEASURED LIMIT\tWINDOW\tUSES\tKEEPS PODS OFF\tNOW")
	for i := range limits {
		l := &limits[i]
		uses, now := "-", "no"
		if l.Percent != nil {
			uses = fmt.Sprintf("%.1f %%", *l.Percent)
		}
		if l.Passed {
			now = "yes"
		}
		line(w, "%s\t%s\t%s\t%s\t%s", l.Metric, l.Window, uses, l.bound(), now)
	}
}

func (m *Metric) cell(v *float64) string { return m.text("%.1f", v, "-") }

func (m *Metric) lineCell(v *float64) string { return m.text("%g", v, "-") }

// landingRows prints the nodes that take the pod, and of the others how many
// refuse it for which reason with the first few.
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
	line(w, "\nOf %s %d would take it%s.\n", reasons.Count(len(p.Landings), "other node"), taking, by)
	line(w, "NODE\tSTATE\tSCORE\tCPU%%\tWITH IT\tMEM%%\tWITH IT\tREFUSED")
	for i := range p.Landings[:min(len(p.Landings), Listed)] {
		l := &p.Landings[i]
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
		line(w, "%s\t%s\t%s\t%s\t%s", l.Node, l.State, score, l.percentCells(), refused)
	}
	more(w, len(p.Landings))
}

func (l *Landing) percentCells() string {
	if l.Before == nil {
		return "-\t-\t-\t-"
	}
	return fmt.Sprintf("%.1f\t%.1f\t%.1f\t%.1f", l.Before.CPU, l.After.CPU, l.Before.Memory, l.After.Memory)
}

func plannedRows(w io.Writer, header string, moves []PlannedMove) {
	if len(moves) == 0 {
		return
	}
	line(w, "\n%s\tUSES\tFROM\tTO", header)
	for i := range moves[:min(len(moves), Listed)] {
		m := &moves[i]
		line(w, "%s/%s\t%s\t%s\t%s", m.Namespace, m.Pod, m.Usage, m.From, m.To)
	}
	more(w, len(moves))
}

func moveRows(w io.Writer, header string, moves []Move) {
	if len(moves) == 0 {
		return
	}
	line(w, "\n%s\tSTATE\tFROM\tPLANNED TO\tNODE\tRECORDED\tOUTCOME", header)
	for i := range moves[:min(len(moves), Listed)] {
		m := &moves[i]
		line(w, "%s/%s\t%s\t%s\t%s\t%s\t%s\t%s", m.Namespace, m.Pod, m.State, m.From, cmp.Or(m.To, "-"), cmp.Or(m.Node, "-"), stamp(m.Recorded), m.Outcome)
	}
	more(w, len(moves))
}

func declinedRows(w io.Writer, declined []Declined) {
	if len(declined) == 0 {
		return
	}
	line(w, "\nNOT MOVED\tREASON\tDETAIL")
	for i := range declined[:min(len(declined), Listed)] {
		d := &declined[i]
		line(w, "%s/%s\t%s\t%s", d.Namespace, d.Pod, d.Reason, d.Detail)
	}
	more(w, len(declined))
}

// String says an outcome in words; that of none is a dash.
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

func more(w io.Writer, rows int) {
	if rows > Listed {
		line(w, "and %d more; -o json lists all", rows-Listed)
	}
}

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

func flush(w *tabwriter.Writer) error {
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

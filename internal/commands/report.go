// Package commands holds the commands that look and print: those that read
// files (lint, convert, simulate) and those that observe a cluster and change
// nothing (plan, top, doctor, explain, history, record); and those that remove
// what processes left behind (cleanup, nodesync --remove). internal/app does not
// import it.
package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/thresholds"
)

// Formats are the values of -o.
const Formats = "table|json|yaml"

// PlanReport is a plan as `evenkeel plan` prints it.
type PlanReport struct {
	// Closed is why no plan was made; absent when one was.
	Closed string `json:"closed,omitempty"`
	// Paused is what keeps the plan from being carried out now; absent if
	// nothing does.
	Paused   string           `json:"paused,omitempty"`
	Moves    []MoveReport     `json:"moves"`
	Declined []DeclinedReport `json:"declined"`
	Nodes    []NodeReport     `json:"nodes"`
}

// MoveReport is one planned move.
type MoveReport struct {
	Namespace string          `json:"namespace"`
	Pod       string          `json:"pod"`
	Owner     string          `json:"owner"`
	From      string          `json:"from"`
	To        string          `json:"to"`
	Reason    string          `json:"reason"`
	Message   string          `json:"message"`
	Usage     explain.Amounts `json:"usage"`
	// Cost is what moving it costs, 1 being a plain pod.
	Cost float64 `json:"cost"`
}

// DeclinedReport is one pod that is not moved off a hot node.
type DeclinedReport struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Node      string `json:"node"`
	Reason    string `json:"reason"`
	Detail    string `json:"detail,omitempty"`
}

// NodeReport is one node before and after the plan; its percentages are absent
// while its usage is unknown.
type NodeReport struct {
	Name   string            `json:"name"`
	State  string            `json:"state"`
	Reason string            `json:"reason,omitempty"`
	Before *explain.Percents `json:"before,omitempty"`
	After  *explain.Percents `json:"after,omitempty"`
}

func planReport(made realusage.Made) PlanReport {
	report := PlanReport{Closed: made.Closed, Moves: []MoveReport{}, Declined: []DeclinedReport{}, Nodes: []NodeReport{}}
	for i := range made.Plan.Moves {
		m := &made.Plan.Moves[i]
		report.Moves = append(report.Moves, MoveReport{
			Namespace: m.Namespace, Pod: m.Name, Owner: m.Owner.Kind + "/" + m.Owner.Name, From: m.From, To: m.To,
			Reason: string(m.Reason), Message: m.Sentence(made.Observed.Lines.EvidenceOf(m.From)), Usage: explain.AmountsOf(m.Usage),
			Cost: m.Disruption.InPlainPods(),
		})
	}
	for i := range made.Plan.Declined {
		d := &made.Plan.Declined[i]
		report.Declined = append(report.Declined, DeclinedReport{
			Namespace: d.Namespace, Pod: d.Name, Node: d.Node, Reason: string(d.Reason), Detail: d.Detail,
		})
	}
	for i := range made.Plan.Nodes {
		n := &made.Plan.Nodes[i]
		node := NodeReport{Name: n.Name, State: string(n.State), Reason: string(n.Reason)}
		if n.State != thresholds.Unknown {
			node.Before, node.After = new(explain.PercentsOf(n.Before)), new(explain.PercentsOf(n.After))
		}
		report.Nodes = append(report.Nodes, node)
	}
	return report
}

// write prints a value as JSON or YAML, or as its own table.
func write(out io.Writer, format string, value any, table func(io.Writer) error) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	case "yaml":
		data, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, err = out.Write(data)
		return err
	}
	return table(out)
}

// validFormat returns an error for a format that -o does not take.
func validFormat(format, formats string) error {
	if slices.Contains(strings.Split(formats, "|"), format) {
		return nil
	}
	return exit.Usagef("--output: %q is not one of %s", format, formats)
}

func (p *PlanReport) table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if p.Closed != "" {
		line(w, "Nothing is planned: %s", p.Closed)
		line(w, "")
	}
	pausedLine(w, p.Paused)
	line(w, "NODE\tSTATE\tCPU%%\tAFTER\tMEM%%\tAFTER\tWHY NOT COOLED")
	for _, n := range p.Nodes {
		if n.Before == nil {
			line(w, "%s\t%s\t-\t-\t-\t-\t%s", n.Name, n.State, n.Reason)
			continue
		}
		line(w, "%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%s", n.Name, n.State, n.Before.CPU, n.After.CPU, n.Before.Memory, n.After.Memory, n.Reason)
	}
	line(w, "")
	line(w, "MOVE\tUSES\tCOST\tFROM\tTO\tREASON")
	for _, m := range p.Moves {
		line(w, "%s/%s\t%s\t%g\t%s\t%s\t%s", m.Namespace, m.Pod, m.Usage, m.Cost, m.From, m.To, m.Reason)
	}
	if len(p.Moves) == 0 {
		line(w, "none")
	}
	line(w, "")
	line(w, "NOT MOVED\tNODE\tREASON\tDETAIL")
	for _, d := range p.Declined {
		line(w, "%s/%s\t%s\t%s\t%s", d.Namespace, d.Pod, d.Node, d.Reason, d.Detail)
	}
	if len(p.Declined) == 0 {
		line(w, "none")
	}
	return w.Flush()
}

// pausedLine says that nothing is evicted, if that is so.
func pausedLine(w io.Writer, paused string) {
	if paused != "" {
		line(w, "Nothing is evicted now: %s\n", paused)
	}
}

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

// Plan is `evenkeel plan`: it observes, plans, prints and changes nothing.
func Plan(ctx context.Context, options app.Options, format string, out, progress io.Writer) error {
	if err := validFormat(format, Formats); err != nil {
		return err
	}
	made, pause, err := app.PlanOnce(ctx, options, progress)
	if err != nil || made == nil {
		return err
	}
	report := planReport(*made)
	report.Paused = pause.String()
	return write(out, format, report, report.table)
}

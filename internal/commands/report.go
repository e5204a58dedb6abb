// Package commands holds the commands that look and print: those that read
// files (lint, convert, simulate) and those that observe a cluster and change
// nothing (plan, top, doctor, explain, history, record); and those that remove
// what processes left behind (cleanup, nodesync --remove). internal/app does not
// import it.
package commands

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/policy/likely"
	"github.com/evenkeel/evenkeel/usage"
)

// Formats are the values of -o.
const Formats = "table|json|yaml"

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
	allowed := strings.Split(formats, "|")
	if slices.Contains(allowed, format) {
		return nil
	}
	return exit.Usagef("--output: %q is not one of %s%s", format, formats, likely.Hint(format, allowed))
}

// pausedLine says that nothing is evicted, if that is so.
func pausedLine(w io.Writer, paused string) {
	if paused != "" {
		line(w, "Nothing is evicted now: %s\n", paused)
	}
}

// topTable prints one row per node, with a column per resource and window.
func topTable(windows []usage.Window, nodes []serve.NodeStatus) func(io.Writer) error {
	return func(out io.Writer) error {
		w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
		header := []string{"NODE", "STATE"}
		for _, resource := range []string{"CPU%", "MEM%"} {
			for _, window := range windows {
				header = append(header, resource+" "+window.String())
			}
			header = append(header, resource+" predicted")
		}
		line(w, "%s", strings.Join(append(header, "IN FLIGHT", "AGE", "WINDOW", "SOURCE"), "\t"))
		for i := range nodes {
			line(w, "%s", strings.Join(topRow(windows, &nodes[i]), "\t"))
		}
		return w.Flush()
	}
}

func topRow(windows []usage.Window, n *serve.NodeStatus) []string {
	state := n.State
	if n.Unknown != "" {
		state += " (" + n.Unknown + ")"
	}
	row := []string{n.Name, state}
	for _, resource := range []func(explain.Percents) float64{
		func(p explain.Percents) float64 { return p.CPU }, func(p explain.Percents) float64 { return p.Memory },
	} {
		for _, window := range windows {
			row = append(row, percentCell(n.Used != nil, resource(n.Used[window.String()])))
		}
		row = append(row, percentCell(n.Used != nil, resource(n.Predicted)))
	}
	if n.Used == nil {
		return append(row, "-", "-", "-", n.Source)
	}
	return append(row, fmt.Sprintf("%+dm", n.InFlight.CPUMilli), fmt.Sprintf("%ds", n.AgeSeconds), fmt.Sprintf("%ds", n.WindowSeconds), n.Source)
}

// sourcesTable prints the problems of the last reading, if it had any.
func sourcesTable(out io.Writer, o *observer.Observation) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if closed := o.Closed(); closed != "" {
		line(w, "\nNothing would be evicted: %s", closed)
	}
	for _, source := range serve.SourceReports(o) {
		if source.Error != "" {
			line(w, "\n%s: %s", source.Name, source.Error)
		}
		for _, cause := range slices.Sorted(maps.Keys(source.Problems)) {
			problem := source.Problems[cause]
			line(w, "%s: %d %s, such as %s", source.Name, problem.Count, cause, strings.Join(problem.Examples, ", "))
		}
	}
	return w.Flush()
}

func percentCell(known bool, value float64) string {
	if !known {
		return "-"
	}
	return fmt.Sprintf("%.1f", value)
}

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

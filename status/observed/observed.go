// Package observed converts an observation to the values of package status.
package observed

import (
	"time"

	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status"
)

// Facts returns the facts of an observation, without moves or a plan.
func Facts(o *observer.Observation) status.Facts {
	return status.Facts{View: o.View, Board: o.Board, States: o.States, Lines: o.Lines, SamplesNeeded: o.SamplesNeeded}
}

// Nodes returns the status of each node; none before the first observation.
func Nodes(o *observer.Observation) []status.NodeStatus {
	if o == nil {
		return []status.NodeStatus{}
	}
	facts := Facts(o)
	return facts.NodeStatuses()
}

// Sources returns the result of the last reading of each source.
func Sources(o *observer.Observation) []status.SourceReport {
	reports := make([]status.SourceReport, len(o.Sources))
	for i := range o.Sources {
		s := &o.Sources[i]
		reports[i] = status.SourceReport{Source: status.Source{Name: s.Name, Asked: s.Asked}, Nodes: s.Nodes, Pods: s.Pods, Problems: map[string]status.ProblemReport{}}
		if s.Err != nil {
			reports[i].Error = s.Err.Error()
		}
		for k := range o.View.Nodes {
			if o.View.Nodes[k].Known() && o.View.Nodes[k].Source == s.Name {
				reports[i].Chosen++
			}
		}
		for cause, problem := range s.Problems {
			reports[i].Problems[string(cause)] = status.ProblemReport{Count: problem.Count, Examples: problem.Examples}
		}
	}
	return reports
}

// Top converts the observation to the report of `evenkeel top`.
func Top(o *observer.Observation, load *policy.LoadPolicy, paused string) status.Top {
	t := status.NewTop(Nodes(o), load)
	t.Observed, t.Gate, t.GateDetail = o.At.UTC().Format(time.RFC3339), string(o.Blocked), o.Closed()
	t.Paused, t.Sources = paused, Sources(o)
	return t
}

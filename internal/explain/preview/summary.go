package preview

import (
	"slices"

	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// sum counts what is in a report.
func (r *Report) sum() Summary {
	s := Summary{Nodes: len(r.Nodes), Moves: len(r.Moves), DeclinedPods: len(r.Declined)}
	leave := r.leave()
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.NotHot.ByMeasure() {
			s.NotHotNodes++
		}
		switch {
		case n.Before == nil:
			s.UnknownNodes++
			continue
		case thresholds.State(n.State) != thresholds.Hot:
		case n.Reason != "":
			s.HotNodes, s.StayHotNodes = s.HotNodes+1, s.StayHotNodes+1
		case len(leave[n.Name]) > 0:
			s.HotNodes, s.CooledNodes = s.HotNodes+1, s.CooledNodes+1
		default: // only its leave line keeps it hot
			s.HotNodes++
		}
		s.HighestCPU = s.HighestCPU.with(n.Name, n.Before.CPU, n.After.CPU)
		s.HighestMemory = s.HighestMemory.with(n.Name, n.Before.Memory, n.After.Memory)
	}
	s.HighestCPU.measure(usage.CPU, r.Nodes)
	s.HighestMemory.measure(usage.Memory, r.Nodes)
	return s
}

// measure adds what is measured of the fullest node, where that differs.
func (h *Highest) measure(metric usage.Metric, nodes []Node) {
	if h == nil {
		return
	}
	fullest := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == h.Before.Node })
	for _, basis := range []*explain.Basis{nodes[fullest].NotHot, nodes[fullest].NotCool} {
		if basis != nil && basis.Metric == string(metric) && basis.Measured != nil && percent(*basis.Measured) != percent(h.Before.Percent) {
			h.Measured = basis.Measured
		}
	}
}

// with returns the higher of h, which may be nil, and a node.
func (h *Highest) with(node string, before, after float64) *Highest {
	if h == nil {
		return &Highest{Before: Level{node, before}, After: Level{node, after}}
	}
	if before > h.Before.Percent {
		h.Before = Level{node, before}
	}
	if after > h.After.Percent {
		h.After = Level{node, after}
	}
	return h
}

// leave returns the moves by the node that they leave.
func (r *Report) leave() map[string][]*Move {
	leave := map[string][]*Move{}
	for i := range r.Moves {
		leave[r.Moves[i].From] = append(leave[r.Moves[i].From], &r.Moves[i])
	}
	return leave
}

// hottest returns the higher of a node's percentages; 0 for an unknown one.
func hottest(p *explain.Percents) float64 {
	if p == nil {
		return 0
	}
	return max(p.CPU, p.Memory)
}

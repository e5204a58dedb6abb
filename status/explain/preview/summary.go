package preview

import (
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status/explain"
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
		s.HighestCPU = s.HighestCPU.with(n.Name, n.Measured.CPU, n.After.CPU)
		s.HighestMemory = s.HighestMemory.with(n.Name, n.Measured.Memory, n.After.Memory)
	}
	return s
}

// with returns the higher of h, which may be nil, and a node.
func (h *Highest) with(node string, measured, after float64) *Highest {
	if h == nil {
		return &Highest{Before: Level{node, measured}, After: Level{node, after}}
	}
	if measured > h.Before.Percent {
		h.Before = Level{node, measured}
	}
	if after > h.After.Percent {
		h.After = Level{node, after}
	}
	return h
}

// leave returns the moves that relieve a node, by that node.
func (r *Report) leave() map[string][]*Move {
	leave := map[string][]*Move{}
	for i := range r.Moves {
		if m := &r.Moves[i]; reasons.Reason(m.Reason).Relieves() {
			leave[m.From] = append(leave[m.From], m)
		}
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

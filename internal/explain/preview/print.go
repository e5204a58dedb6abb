package preview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/thresholds"
)

const (
	// narrowest is the least width that lines are laid out for.
	narrowest = 60
	// listed is how many owners, and how many hot nodes without a move, are
	// printed unless wide.
	listed = 20
	indent = "  "
)

// Print prints the report for people, in lines of at most width columns as far as
// names allow. Wide has every column and row.
func (r *Report) Print(out io.Writer, width int, wide bool) error {
	p := &printer{width: max(width, narrowest), wide: wide}
	p.summary(r)
	p.hotNodes(r)
	p.declined(r)
	if wide {
		p.nodes(r)
	}
	return written(out, p.Bytes())
}

// Names prints the pods that would be moved, a namespace/name in each line.
func (r *Report) Names(out io.Writer) error {
	p := &printer{}
	for i := range r.Moves {
		p.line(r.Moves[i].name())
	}
	return written(out, p.Bytes())
}

func written(out io.Writer, text []byte) error {
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	return nil
}

func (m *Move) name() string { return m.Namespace + "/" + m.Pod }

func (p *printer) summary(r *Report) {
	if r.Closed != "" {
		p.text("", "", "Nothing is planned: "+r.Closed+".")
		p.line("")
	}
	s := &r.Summary
	if s.Nodes > 0 {
		p.field("Hot nodes", s.hot())
		p.field("Moves", s.moves())
		p.highest("Highest CPU", s.HighestCPU, s.Moves)
		p.highest("Highest memory", s.HighestMemory, s.Moves)
	}
	state := r.Steering.State
	if state == Unproven {
		state = "not proven"
	}
	p.field("Steering", fmt.Sprintf("%s: %s. %s", state, r.Steering.By, sentence(r.Steering.Means)))
	if r.Paused != "" {
		p.field("Paused", r.Paused)
	}
}

func (s *Summary) hot() string {
	words := fmt.Sprintf("%d of %d", s.HotNodes, s.Nodes)
	switch stay := s.HotNodes - s.CooledNodes; {
	case s.HotNodes == 0:
		words = fmt.Sprintf("none of %d", s.Nodes)
	case s.CooledNodes == 0:
	case stay == 0:
		words += ", all cooled by the moves"
	default:
		words += fmt.Sprintf(", %d cooled by the moves, %d not", s.CooledNodes, stay)
	}
	if s.UnknownNodes > 0 {
		words += fmt.Sprintf("; usage of %d is not known", s.UnknownNodes)
	}
	return words
}

func (s *Summary) moves() string {
	words := "none"
	if s.Moves > 0 {
		words = fmt.Sprint(s.Moves)
	}
	if s.DeclinedPods > 0 {
		words += fmt.Sprintf("; %s on hot nodes may not be moved, or would not help", reasons.Count(s.DeclinedPods, "pod"))
	}
	return words
}

func (p *printer) highest(label string, h *Highest, moves int) {
	switch {
	case h == nil:
	case moves == 0:
		p.field(label, fmt.Sprintf("%s on %s", percent(h.Before.Percent), h.Before.Node))
	case h.Before == h.After:
		p.field(label, fmt.Sprintf("%s on %s, the same after the moves", percent(h.Before.Percent), h.Before.Node))
	default:
		p.field(label, fmt.Sprintf("%s on %s, after the moves %s on %s", percent(h.Before.Percent), h.Before.Node, percent(h.After.Percent), h.After.Node))
	}
}

// hotNodes prints each hot node with its moves: first those with moves, in their
// order, then the others from the hottest on.
func (p *printer) hotNodes(r *Report) {
	leave, rank, hot := r.leave(), map[string]int{}, []*Node(nil)
	for i := range r.Moves {
		if _, ok := rank[r.Moves[i].From]; !ok {
			rank[r.Moves[i].From] = i
		}
	}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; thresholds.State(n.State) == thresholds.Hot {
			hot = append(hot, n)
		}
	}
	slices.SortStableFunc(hot, func(a, b *Node) int {
		inPlan := func(n *Node) int {
			if len(leave[n.Name]) > 0 {
				return rank[n.Name]
			}
			return len(r.Moves)
		}
		return cmp.Or(cmp.Compare(inPlan(a), inPlan(b)), -cmp.Compare(hottest(a.Before), hottest(b.Before)))
	})
	if len(hot) == 0 {
		return
	}
	p.heading("HOT NODES")
	for i, n := range hot {
		if more := len(hot) - i; i >= len(rank)+listed && !p.wide {
			p.line(fmt.Sprintf("and %d more; -o wide lists all", more))
			return
		}
		p.hotNode(n, leave[n.Name])
	}
}

func (p *printer) hotNode(n *Node, moves []*Move) {
	words := beyond(n.Exceeded)
	if words == "" {
		words = "under its evict lines again, and not yet under its leave lines"
	}
	words += "."
	if len(moves) > 0 {
		verb := "bring"
		if len(moves) == 1 {
			verb = "brings"
		}
		words += fmt.Sprintf(" %s %s it to %s CPU and %s memory.", reasons.Count(len(moves), "move"), verb, percent(n.After.CPU), percent(n.After.Memory))
	}
	if reason := reasons.Reason(n.Reason); reason != "" {
		words += fmt.Sprintf(" It stays hot: %s (%s).", cmp.Or(stays[reason], reason.Sentence()), reason)
	}
	p.text(n.Name+": ", indent, words)
	if len(moves) > 0 {
		p.moves(moves)
	}
}

// moves prints the moves off one node. The resource that they relieve more comes
// first; the other is left out where lines are short.
func (p *printer) moves(moves []*Move) {
	pods, to := column{header: "POD"}, column{header: "TO"}
	owners, costs := column{header: "OWNER"}, column{header: "COST"}
	cpu, cpuThere := column{header: "CPU"}, column{header: "ITS CPU"}
	memory, memoryThere := column{header: "MEMORY"}, column{header: "ITS MEMORY"}
	var relief explain.Percents
	for _, m := range moves {
		pods.cells, to.cells = append(pods.cells, m.name()), append(to.cells, m.To)
		owners.cells, costs.cells = append(owners.cells, m.Owner), append(costs.cells, fmt.Sprintf("%g", m.Cost))
		cpu.cells = append(cpu.cells, fmt.Sprintf("%dm", m.Usage.CPUMilli))
		memory.cells = append(memory.cells, fmt.Sprintf("%dMi", m.Usage.MemoryBytes>>20))
		cpuThere.cells = append(cpuThere.cells, change(m.ToBefore.CPU, m.ToAfter.CPU))
		memoryThere.cells = append(memoryThere.cells, change(m.ToBefore.Memory, m.ToAfter.Memory))
		relief.CPU += m.FromBefore.CPU - m.FromAfter.CPU
		relief.Memory += m.FromBefore.Memory - m.FromAfter.Memory
	}
	if memoryFirst := relief.Memory > relief.CPU; memoryFirst {
		cpu, memory, cpuThere, memoryThere = memory, cpu, memoryThere, cpuThere
	}
	memory.spare, memoryThere.spare = !p.wide, !p.wide
	all := []column{pods, cpu, memory, to, cpuThere, memoryThere}
	if p.wide {
		all = append(all, owners, costs)
	}
	p.table(indent, all)
}

// nodes prints all nodes before and after.
func (p *printer) nodes(r *Report) {
	all := []column{{header: "NODE"}, {header: "STATE"}, {header: "CPU"}, {header: "MEMORY"}}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		cells := [...]string{n.Name, n.State, "-", "-"}
		if n.Before != nil {
			cells[2], cells[3] = change(n.Before.CPU, n.After.CPU), change(n.Before.Memory, n.After.Memory)
		}
		for k := range all {
			all[k].cells = append(all[k].cells, cells[k])
		}
	}
	if len(r.Nodes) > 0 {
		p.line("")
		p.table("", all)
	}
}

// declined prints the pods that are not moved, by owner and reason.
func (p *printer) declined(r *Report) {
	if len(r.Declined) == 0 {
		return
	}
	p.heading("NOT MOVED")
	for i, g := range grouped(r) {
		if i == listed && !p.wide {
			p.line("and pods of more owners; -o wide lists all")
			return
		}
		p.line(g.owner)
		for _, item := range g.items {
			who := reasons.Count(len(item.pods), "pod")
			if p.wide {
				who = strings.Join(item.pods, ", ")
			}
			p.text(indent, indent+indent, fmt.Sprintf("%s on %s: %s", who, reasons.Names(item.nodes, 3), item.why))
		}
	}
}

// group are the declined pods of one owner, item those for one reason.
type group struct {
	owner string
	items []*item
}

type item struct {
	why         string
	pods, nodes []string
}

func grouped(r *Report) []*group {
	groups := map[string]*group{}
	for i := range r.Declined {
		d := &r.Declined[i]
		owner := d.Namespace + "/" + d.Pod + " (no owner)"
		if kind, name, ok := strings.Cut(d.Owner, "/"); ok {
			owner = fmt.Sprintf("%s/%s (%s)", d.Namespace, name, kind)
		}
		g := groups[owner]
		if g == nil {
			g = &group{owner: owner}
			groups[owner] = g
		}
		g.add(d, d.why(r.Made))
	}
	all := make([]*group, 0, len(groups))
	for _, g := range groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int { return strings.Compare(a.owner, b.owner) })
	return all
}

func (g *group) add(d *Declined, why string) {
	i := slices.IndexFunc(g.items, func(have *item) bool { return have.why == why })
	if i < 0 {
		i, g.items = len(g.items), append(g.items, &item{why: why})
	}
	have := g.items[i]
	have.pods = append(have.pods, d.Pod)
	if !slices.Contains(have.nodes, d.Node) {
		have.nodes = append(have.nodes, d.Node)
	}
}

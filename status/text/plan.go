package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
)

const (
	// narrowest is the minimum width of a page.
	narrowest = 60
	// unbound is the width of a page without a terminal.
	unbound = 100
	indent  = "  "
	// labels is the width of the column of labels.
	labels = 16
)

// Plan prints a plan for people. A wide page has every column and row.
func Plan(page *layout.Page, r *status.Plan) {
	page.Width = max(cmp.Or(page.Width, unbound), narrowest)
	p := &printer{page}
	p.summary(r)
	p.hotNodes(r)
	p.aheadNodes(r)
	p.otherMoves(r)
	p.evictions(r)
	p.declined(r)
	if p.Wide {
		p.nodes(r)
	}
}

// PlanNames prints the pods that would be evicted, one namespace/name per line.
func PlanNames(page *layout.Page, r *status.Plan) {
	for i := range r.Moves {
		if !r.Moves[i].DryRun {
			page.Line("", nameOf(&r.Moves[i]))
		}
	}
	for i := range r.Evictions {
		if !r.Evictions[i].DryRun {
			page.Line("", r.Evictions[i].Namespace+"/"+r.Evictions[i].Pod)
		}
	}
}

// printer prints a report on a page.
type printer struct{ *layout.Page }

// heading begins a section.
func (p *printer) heading(text string) {
	p.Line("", "")
	p.Line(layout.Bold, text)
}

// field prints a label and its text.
func (p *printer) field(label, words string) {
	p.Text(fmt.Sprintf("%-*s", labels, label+":"), "", strings.Repeat(" ", labels), words)
}

func nameOf(m *status.PlanMove) string { return m.Namespace + "/" + m.Pod }

func (p *printer) summary(r *status.Plan) {
	if r.Closed != "" {
		nothing := "Nothing is planned: "
		if len(r.Evictions) > 0 {
			nothing = "No moves are planned: "
		}
		p.Text("", "", "", nothing+r.Closed+".")
		p.Line("", "")
	}
	s := &r.Summary
	if s.Nodes > 0 {
		p.field("Hot nodes", hotNodes(s))
		p.basis(r)
		p.field("Moves", countMoves(s))
		if s.Evictions > 0 {
			p.field("Evictions", fmt.Sprintf("%d by plugins that evict even if there is no better place", s.Evictions))
		}
		if s.DryRun > 0 {
			p.field("Dry run", fmt.Sprintf("%d of the moves and evictions would only be logged, because the policy's dryRunPlugins name their plugins", s.DryRun))
		}
		p.highest("Highest CPU", s.HighestCPU, s.Moves)
		p.highest("Highest memory", s.HighestMemory, s.Moves)
	}
	p.steering(r)
	if r.Paused != "" {
		p.field("Paused", r.Paused)
	}
	if r.Provisional != "" {
		p.field("Provisional", r.Provisional)
	}
}

// steering prints what steers the replacements of planned moves. Evictions that plugins
// make by themselves do not depend on it.
func (p *printer) steering(r *status.Plan) {
	state := r.Steering.State
	switch {
	case r.Closed == status.NothingByUsage:
		return
	case state == status.SteeringUnproven:
		state = "not proven"
	}
	p.field("Steering", fmt.Sprintf("%s: %s. %s", state, r.Steering.By, sentence(r.Steering.Means)))
}

func hotNodes(s *status.PlanSummary) string {
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
	if s.NotHotNodes > 0 {
		words += fmt.Sprintf("; %s measured above an evict line but not hot, as explained below", reasons.Are(s.NotHotNodes, "node"))
	}
	if s.UnknownNodes > 0 {
		words += fmt.Sprintf("; usage of %d is not known", s.UnknownNodes)
	}
	return words
}

// basis prints why nodes are not hot, or not cool, if their measured usage suggests that
// they are.
func (p *printer) basis(r *status.Plan) {
	var notHot, predicted, notCool []string
	nodes := make([]*status.PlanNode, len(r.Nodes))
	for i := range r.Nodes {
		nodes[i] = &r.Nodes[i]
	}
	slices.SortStableFunc(nodes, func(a, b *status.PlanNode) int { return -cmp.Compare(highestOf(a.Before), highestOf(b.Before)) })
	for _, n := range nodes {
		switch {
		case n.NotHot.ByMeasure():
			notHot = append(notHot, n.Why())
		case n.NotHot != nil:
			predicted = append(predicted, n.Why())
		case n.NotCool != nil:
			notCool = append(notCool, n.Why())
		}
	}
	p.fields("Not hot", append(notHot, predicted...))
	p.fields("Not cool", notCool)
	if left := r.HotLeftOut; len(left) > 0 {
		p.field("Left out", fmt.Sprintf("%s hot but excluded by the policy's nodeSelector: %s.",
			reasons.Are(len(left), "node"), reasons.Names(left, 3)))
	}
	if others := r.OtherPlugins; len(others) > 0 {
		p.field("Not shown", fmt.Sprintf("evictions by plugins that read metrics themselves: %s.", reasons.Names(others, 3)))
	}
	if others := r.OtherProfiles; len(others) > 0 {
		p.field("Not shown", fmt.Sprintf("the moves by real usage of %s of the policy: %s.", reasons.Count(len(others), "other profile"), reasons.Names(others, 3)))
	}
}

// fields prints sentences with one label: the first few, or all on a wide page.
func (p *printer) fields(label string, sentences []string) {
	const few = 3
	for i, words := range sentences {
		if i == few && !p.Wide {
			words = fmt.Sprintf("And %d more; -o wide lists all.", len(sentences)-few)
		}
		if i > few && !p.Wide {
			return
		}
		if i == 0 {
			p.field(label, words)
			continue
		}
		indent := strings.Repeat(" ", labels)
		p.Text(indent, "", indent, words)
	}
}

func countMoves(s *status.PlanSummary) string {
	words := "none"
	if s.Moves > 0 {
		words = fmt.Sprint(s.Moves)
	}
	if s.DeclinedPods > 0 {
		where := ""
		if s.HotNodes > 0 {
			where = " on hot nodes"
		}
		words += fmt.Sprintf("; %s%s must not be moved, or would not help", reasons.Count(s.DeclinedPods, "pod"), where)
	}
	return words
}

func (p *printer) highest(label string, h *status.Highest, moves int) {
	if h == nil {
		return
	}
	words := fmt.Sprintf("%s on %s", percentOf(h.Before.Percent), h.Before.Node)
	switch {
	case moves == 0:
	case h.Before == h.After:
		words += ", the same after the moves"
	default:
		words += fmt.Sprintf(", after the moves %s on %s", percentOf(h.After.Percent), h.After.Node)
	}
	p.field(label, words)
}

// hotNodes prints each hot node with its moves: first the nodes with moves in the order
// of the plan, then the others from the hottest down.
func (p *printer) hotNodes(r *status.Plan) {
	leave, rank, hot := r.Relieving(), map[string]int{}, []*status.PlanNode(nil)
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
	slices.SortStableFunc(hot, func(a, b *status.PlanNode) int {
		inPlan := func(n *status.PlanNode) int {
			if len(leave[n.Name]) > 0 {
				return rank[n.Name]
			}
			return len(r.Moves)
		}
		return cmp.Or(cmp.Compare(inPlan(a), inPlan(b)), -cmp.Compare(highestOf(a.Before), highestOf(b.Before)))
	})
	if len(hot) == 0 {
		return
	}
	p.heading("HOT NODES")
	for i, n := range hot {
		if more := len(hot) - i; i >= len(rank)+listed && !p.Wide {
			p.Line("", fmt.Sprintf("and %d more; -o wide lists all", more))
			return
		}
		p.hotNode(n, leave[n.Name])
	}
}

// aheadNodes prints the nodes that are relieved before they become hot.
func (p *printer) aheadNodes(r *status.Plan) {
	leave := r.Relieving()
	var ahead []*status.PlanNode
	for i := range r.Nodes {
		if n := &r.Nodes[i]; thresholds.State(n.State) != thresholds.Hot && len(leave[n.Name]) > 0 {
			ahead = append(ahead, n)
		}
	}
	if len(ahead) == 0 {
		return
	}
	p.heading("NODES THAT WILL BE HOT")
	for _, n := range ahead {
		moves := leave[n.Name]
		words := ""
		if a := moves[0].Ahead; a != nil {
			words = fmt.Sprintf("expected to be hot for %.0f minutes of each %s, next at %s with %s of its CPU.%s", a.HotMinutes,
				status.InMinutes(a.WithinMinutes), a.PeakAt.Format("15:04 UTC"), percentOf(a.PeakPercent), saves(moves))
		}
		p.Text(n.Name+": ", layout.Yellow, indent, words)
		p.moves(moves)
	}
}

// otherMoves prints the moves that are unrelated to hot nodes.
func (p *printer) otherMoves(r *status.Plan) {
	type cause struct {
		reason, plugin string
		dryRun         bool
	}
	var why []cause
	moves := map[cause][]*status.PlanMove{}
	for i := range r.Moves {
		m := &r.Moves[i]
		if reasons.Reason(m.Reason).Relieves() {
			continue
		}
		by := cause{m.Reason, m.Plugin, m.DryRun}
		if moves[by] == nil {
			why = append(why, by)
		}
		moves[by] = append(moves[by], m)
	}
	if len(why) > 0 {
		p.heading("OTHER MOVES")
	}
	for _, by := range why {
		title := by.reason
		if by.plugin != "" {
			title += " (" + by.plugin + ")"
		}
		p.Text(title+inDryRun(by.dryRun)+": ", "", indent, reasons.Reason(by.reason).Sentence()+".")
		p.moves(moves[by])
	}
}

// evictions prints what plugins evict even if there is no better place.
func (p *printer) evictions(r *status.Plan) {
	type cause struct {
		plugin, why string
		dryRun      bool
	}
	var causes []cause
	of := map[cause][]*status.PlanEviction{}
	for i := range r.Evictions {
		e := &r.Evictions[i]
		by := cause{e.Plugin, e.Why, e.DryRun}
		if of[by] == nil {
			causes = append(causes, by)
		}
		of[by] = append(of[by], e)
	}
	if len(causes) > 0 {
		p.heading("OTHER EVICTIONS")
	}
	for _, by := range causes {
		p.Text(by.plugin+inDryRun(by.dryRun)+": ", "", indent, by.why+".")
		all := []layout.Column{{Title: "POD", Cut: leastName}, {Title: "FROM", Cut: leastName}, {Title: "OWNER", Drop: 1}, {Title: "WOULD LAND ON", Wrap: true}}
		for _, e := range of[by] {
			layout.Row(all, e.Namespace+"/"+e.Pod, e.From, e.Owner, cmp.Or(e.To, "none: "+e.NoDestination))
		}
		if !p.Wide {
			all = slices.Delete(all, 2, 3)
		}
		p.Table(indent, all...)
	}
}

// inDryRun says that a plugin is in dry run.
func inDryRun(is bool) string {
	if is {
		return ", in dry run"
	}
	return ""
}

func (p *printer) hotNode(n *status.PlanNode, moves []*status.PlanMove) {
	words := cmp.Or(beyond(n.Exceeded), status.Cooling+", and not yet under its leave lines") + "."
	switch {
	case len(moves) > 0 && reasons.Reason(moves[0].Reason) == reasons.NodeFull:
		words += takes(moves)
	case len(moves) > 0:
		verb := "bring"
		if len(moves) == 1 {
			verb = "brings"
		}
		words += fmt.Sprintf(" %s %s it to %s CPU and %s memory.%s",
			reasons.Count(len(moves), "move"), verb, percentOf(n.After.CPU), percentOf(n.After.Memory), saves(moves))
	}
	if reason := reasons.Reason(n.Reason); reason != "" {
		words += fmt.Sprintf(" It stays hot: %s (%s).", n.Detail, reason)
	}
	words += n.Relief.IfSlow()
	p.Text(n.Name+": ", layout.Red, indent, words)
	if len(moves) > 0 {
		p.moves(moves)
	}
}

// moves prints the moves off one node. The resource that they relieve more comes first.
// The other resource is left out if the page is narrow.
func (p *printer) moves(moves []*status.PlanMove) {
	all := []layout.Column{
		{Title: "POD", Cut: leastName}, {Title: "CPU"}, {Title: "MEMORY"}, {Title: "TO", Cut: leastName}, {Title: "ITS CPU"}, {Title: "ITS MEMORY"},
		{Title: "OWNER"}, {Title: "COST"},
	}
	dryRun := layout.Column{Title: "DRY RUN"}
	var relief status.Percents
	for _, m := range moves {
		layout.Row(all, nameOf(m), fmt.Sprintf("%dm", m.Usage.CPUMilli), fmt.Sprintf("%dMi", m.Usage.MemoryBytes>>20), m.To,
			changeOf(m.ToBefore, m.ToAfter, cpuOf), changeOf(m.ToBefore, m.ToAfter, memoryOf), m.Owner, fmt.Sprintf("%g", m.Cost))
		dryRun.Add(map[bool]string{true: "yes", false: "no"}[m.DryRun])
		if m.FromBefore != nil {
			relief.CPU += m.FromBefore.CPU - m.FromAfter.CPU
			relief.Memory += m.FromBefore.Memory - m.FromAfter.Memory
		}
	}
	if memoryFirst := relief.Memory > relief.CPU; memoryFirst {
		all[1], all[2], all[4], all[5] = all[2], all[1], all[5], all[4]
	}
	all[5].Drop, all[2].Drop = 1, 2
	if !p.Wide {
		all = all[:6]
	}
	if slices.ContainsFunc(moves, func(m *status.PlanMove) bool { return m.DryRun }) {
		all = append(all, dryRun)
	}
	p.Table(indent, all...)
}

// nodes prints the measured usage of all nodes, and the usage that the plan assumes
// before and after the moves.
func (p *printer) nodes(r *status.Plan) {
	all := []layout.Column{
		{Title: "NODE"}, {Title: "STATE", Words: true}, {Title: "CPU"}, {Title: "MEMORY"}, {Title: "PLANNED CPU"}, {Title: "PLANNED MEMORY"},
	}
	for i := range r.Nodes {
		n, values := &r.Nodes[i], []string{"-", "-", "-", "-"}
		if n.Before != nil {
			values = []string{
				percentOf(n.Measured.CPU), percentOf(n.Measured.Memory), change(n.Before.CPU, n.After.CPU), change(n.Before.Memory, n.After.Memory),
			}
		}
		layout.Row(all, append([]string{n.Name, n.State}, values...)...)
	}
	if len(r.Nodes) > 0 {
		p.Line("", "")
		p.Table("", all...)
	}
}

// declined prints the pods that are not moved, grouped by owner and reason.
func (p *printer) declined(r *status.Plan) {
	if len(r.Declined) == 0 {
		return
	}
	p.heading("NOT MOVED")
	groups := status.GroupDeclined(r.Declined, func(d *status.PlanDeclined) string { return why(d, r.Made) })
	slices.SortStableFunc(groups, func(a, b status.DeclinedGroup) int { return strings.Compare(ownerOf(&a), ownerOf(&b)) })
	owners, last := 0, ""
	for i := range groups {
		g := &groups[i]
		if owner := ownerOf(g); owner != last {
			if owners == listed && !p.Wide {
				p.Line("", "and pods of more owners; -o wide lists all")
				return
			}
			p.Line("", owner)
			owners, last = owners+1, owner
		}
		who := reasons.Count(len(g.Pods), "pod")
		if p.Wide {
			who = strings.Join(g.Pods, ", ")
		}
		p.Text(indent, "", indent+indent, fmt.Sprintf("%s on %s: %s", who, reasons.Names(g.Nodes, 3), g.Detail))
	}
}

// ownerOf returns the owner of a group as namespace/name (kind).
func ownerOf(g *status.DeclinedGroup) string {
	if kind, name, ok := strings.Cut(g.Owner, "/"); ok {
		return fmt.Sprintf("%s/%s (%s)", g.Namespace, name, kind)
	}
	return g.Namespace + "/" + g.Owner
}

// highestOf returns the higher of a node's percentages; 0 if they are unknown.
func highestOf(p *status.Percents) float64 {
	if p == nil {
		return 0
	}
	return max(p.CPU, p.Memory)
}

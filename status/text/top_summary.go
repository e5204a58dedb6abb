package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
)

// now is added to a state that is based on the newest reading alone.
const now = " now"

const notReady = "not ready"

// stateOf describes a node's state, judged by its windows if they are known, and
// otherwise by the newest reading. If only the newest reading makes the node hot, the
// description contains both states.
func stateOf(n *status.NodeStatus) string {
	switch {
	case n.Unknown == string(reasons.NodeNotReady):
		return notReady
	case n.State == string(thresholds.Unknown) && n.Now != "":
		return n.Now + now
	case n.State != string(thresholds.Hot) && n.Now == string(thresholds.Hot):
		return n.State + ", " + n.Now + now
	}
	return n.State
}

// states returns the possible results of stateOf in the order in which they are listed.
func states() []string {
	hot, warm, cool := string(thresholds.Hot), string(thresholds.Warm), string(thresholds.Cool)
	return []string{
		hot, hot + now, warm + ", " + hot + now, cool + ", " + hot + now, warm, warm + now, cool, cool + now, string(thresholds.Unknown), notReady,
	}
}

// before returns the sentences above the table.
func (r *top) before() []string {
	lines := []string{r.counted() + " " + r.origin()}
	if r.Paused != "" {
		lines = append(lines, "Nothing is evicted now: "+r.Paused)
	}
	if text := r.provisional(); text != "" {
		lines = append(lines, text)
	}
	if text := r.evictLines(); text != "" {
		lines = append(lines, text)
	}
	if text := r.percentages(); text != "" {
		lines = append(lines, text)
	}
	return lines
}

// percentages describes the base of the percentages; empty if nothing is reserved.
func (r *top) percentages() string {
	leftOut, ofCapacity, stolen := false, 0, 0
	for i := range r.Nodes {
		if r.Nodes[i].StolenMilliCores > leastStolen {
			stolen++
		}
		switch reserve := r.Nodes[i].Reserve; {
		case reserve == nil:
		case reserve.PercentOf == status.OfCapacity:
			ofCapacity++
		case reserve.LeftOut != status.Amounts{}:
			leftOut = true
		}
	}
	var text string
	if leftOut {
		text = "Percentages are of allocatable, without what the system uses of a node's reserve; amounts are of the whole machine. "
	}
	if ofCapacity > 0 {
		text += fmt.Sprintf("No usage of pods is known on %s: percentages there are of the machine's capacity.", reasons.Count(ofCapacity, "node"))
	}
	if stolen > 0 {
		text += fmt.Sprintf(" CPU is stolen from %s: percentages there are of the rest.", reasons.Count(stolen, "node"))
	}
	return strings.TrimSpace(text)
}

// leastStolen is the number of stolen milli-cores above which they are mentioned.
const leastStolen = 100

// counted states how many nodes are in each state.
func (r *top) counted() string {
	counts := map[string]int{}
	for i := range r.Nodes {
		counts[stateOf(&r.Nodes[i])]++
	}
	var parts []string
	for _, state := range states() {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(state, ",", " but")))
		}
	}
	if len(parts) == 0 {
		return "No nodes."
	}
	return reasons.Count(len(r.Nodes), "node") + ": " + strings.Join(parts, ", ") + "."
}

// origin states where usage comes from and how old it is.
func (r *top) origin() string {
	sources, oldest := map[string]bool{}, 0
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.CPU.Used != nil || n.Memory.Used != nil {
			sources[n.Source] = true
			oldest = max(oldest, n.AgeSeconds)
		}
	}
	if len(sources) == 0 {
		return "No usage is known."
	}
	text := fmt.Sprintf("Usage is from %s, at most %ds old.", strings.Join(slices.Sorted(maps.Keys(sources)), " and "), oldest+r.SecondsAgo)
	if r.Process != "" {
		text += fmt.Sprintf(" Observed by %s %ds ago.", r.Process, r.SecondsAgo)
	}
	return text
}

// provisional explains what "now" means and how to see states by windows; empty if no
// state is provisional.
func (r *top) provisional() string {
	windows := strings.Join(r.HotWindows, ", ")
	switch {
	case r.Process != "" && r.filling():
		return `"Now" refers to the newest reading alone and is provisional. Evicting uses windows, which that process is still filling.`
	case r.Process != "" && r.hotNow():
		return `"Hot now" refers to the newest reading alone and is provisional. Evicting uses the state before it, which comes from windows.`
	case r.filling():
		return fmt.Sprintf(`"Now" refers to the newest reading alone and is provisional. Evicting uses windows (%s), which take %ds of readings: --observe %ds shows those states.`,
			windows, r.NeededSeconds, r.ObserveSeconds)
	case r.hotNow():
		return fmt.Sprintf(`"Hot now" refers to the newest reading alone and is provisional. Evicting uses the state before it, which comes from windows (%s).`, windows)
	}
	return ""
}

// filling reports whether a node has readings, but not for long enough.
func (r *top) filling() bool {
	return slices.ContainsFunc(r.Nodes, func(n status.NodeStatus) bool { return n.Now != "" && n.State == string(thresholds.Unknown) })
}

// hotNow reports whether the newest reading alone makes a node hot.
func (r *top) hotNow() bool {
	return slices.ContainsFunc(r.Nodes, func(n status.NodeStatus) bool { return n.IsHot() && n.State != string(thresholds.Hot) })
}

// evictLines explains the mark in the bars.
func (r *top) evictLines() string {
	var cpu, memory []float64
	for i := range r.Nodes {
		cpu, memory = withLine(cpu, &r.Nodes[i].CPU), withLine(memory, &r.Nodes[i].Memory)
	}
	var parts []string
	if len(cpu) > 0 {
		parts = append(parts, spanOf(cpu)+" of CPU")
	}
	if len(memory) > 0 {
		parts = append(parts, spanOf(memory)+" of memory")
	}
	if len(parts) == 0 {
		return ""
	}
	return "│ marks the evict line: " + strings.Join(parts, ", ") + "."
}

func withLine(lines []float64, r *status.ResourceStatus) []float64 {
	if r.EvictPercent == nil {
		return lines
	}
	return append(lines, *r.EvictPercent)
}

// spanOf formats the range of lines.
func spanOf(lines []float64) string {
	lowest, highest := slices.Min(lines), slices.Max(lines)
	if lowest == highest {
		return fmt.Sprintf("%g%%", lowest)
	}
	return fmt.Sprintf("%g%% to %g%%", lowest, highest)
}

// after returns the sentences below the table.
func (r *top) after() []string {
	lines := append(r.unread(), few(r.signals(), "more such reading")...)
	lines = append(lines, few(r.basis(), "more such node")...)
	lines = append(lines, few(r.moves(), "more move")...)
	for i := range r.Sources {
		lines = append(lines, troubles(&r.Sources[i])...)
	}
	known := slices.ContainsFunc(r.Nodes, func(n status.NodeStatus) bool { return n.State != string(thresholds.Unknown) })
	if r.GateDetail != "" && (known || r.Gate != string(reasons.UsageWindowsFilling)) { // otherwise a sentence above the table explains the gate
		lines = append(lines, "Nothing would be evicted: "+r.GateDetail)
	}
	return lines
}

// signals lists readings without a column that are beyond their evict lines.
func (r *top) signals() []string {
	var lines []string
	for i := range r.Nodes {
		for _, words := range r.Nodes[i].Over {
			if metric, _, _ := strings.Cut(words, " "); metric != "cpu" && metric != "memory" { // these have columns
				lines = append(lines, r.Nodes[i].Name+": "+words+".")
			}
		}
	}
	return lines
}

// basis explains why nodes are not hot, or not cool, although their usage suggests that they are. If windows are still
// filling, the sentence above the table explains that instead.
func (r *top) basis() []string {
	var lines []string
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.State != string(thresholds.Unknown) && n.Why() != "" {
			lines = append(lines, n.Why())
		}
	}
	return lines
}

// moves lists the moves of a ledger, with moves in flight first.
func (r *top) moves() []string {
	var lines []string
	for _, m := range r.Moves {
		lines = append(lines, fmt.Sprintf("Move of %s/%s from %s to %s: %s.", m.Namespace, m.Pod, m.From, cmp.Or(m.Node, m.To, "no node yet"), m.State))
	}
	return lines
}

// few keeps the first lines and counts the others.
func few(lines []string, one string) []string {
	const most = 8
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], reasons.Count(more, one)+"; -o json lists all.")
	}
	return lines
}

// unread lists the nodes without fresh usage, by reason.
func (r *top) unread() []string {
	without := map[string][]string{}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Unknown != "" && n.CPU.Used == nil && n.Memory.Used == nil {
			without[n.Unknown] = append(without[n.Unknown], n.Name)
		}
	}
	var lines []string
	for _, reason := range slices.Sorted(maps.Keys(without)) {
		lines = append(lines, fmt.Sprintf("No fresh usage of %s: %s (%s).", reasons.Names(without[reason], 5), reason, reasons.Reason(reason).Sentence()))
	}
	return lines
}

// troubles describes the errors of the last reading of a source.
func troubles(s *status.SourceReport) []string {
	var lines []string
	if s.Error != "" {
		lines = append(lines, s.Name+": "+s.Error)
	}
	for _, cause := range slices.Sorted(maps.Keys(s.Problems)) {
		problem := s.Problems[cause]
		lines = append(lines, fmt.Sprintf("%s: %d %s, such as %s", s.Name, problem.Count, cause, strings.Join(problem.Examples, ", ")))
	}
	return lines
}

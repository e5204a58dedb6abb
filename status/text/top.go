package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
)

// top is a status.Top that can be printed.
type top struct{ *status.Top }

// View holds the options for printing a status.Top.
type View struct {
	layout.Style
	// Wide adds columns and prints full names.
	Wide bool
	// Most is the maximum number of nodes; 0 lists all.
	Most int
}

const (
	// mostWidth is the maximum width of a table that is not wide.
	mostWidth = 100
	// wideWidth is the width of a wide table without a terminal.
	wideWidth = 160
	// The length of a bar.
	leastBar, mostBar = 8, 50
)

func (v *View) width() int {
	switch {
	case v.Wide && v.Width == 0:
		return wideWidth
	case v.Wide:
		return v.Width
	case v.Width == 0:
		return mostWidth
	}
	return min(v.Width, mostWidth)
}

// Top prints every node for people, with a line and a bar for each.
func Top(out io.Writer, t *status.Top, v View) error {
	r := top{t}
	p := layout.Page{Style: v.Style, Wide: v.Wide}
	p.Width = v.width()
	for _, text := range r.before() {
		p.Text("", "", "", text)
	}
	p.Line("", "")
	nodes := r.Nodes
	if v.Most > 0 {
		nodes = nodes[:min(v.Most, len(nodes))]
	}
	shown := r.rows(&p, nodes)
	after := r.after()
	if more := len(r.Nodes) - len(nodes); more > 0 {
		after = slices.Insert(after, 0, reasons.Count(more, "more node")+", none hotter than these.")
	}
	if shown != "" {
		after = append(after, "Names are "+shown+" here; -o wide shows them as they are.")
	}
	for i, text := range after {
		if i == 0 {
			p.Line("", "")
		}
		p.Text("", "", "", text)
	}
	return p.Flush(out)
}

// rows prints a header and a line for each node. It returns a description of how names
// are abbreviated; empty if they are not.
func (r *top) rows(p *layout.Page, nodes []status.NodeStatus) (shown string) {
	columns := r.columns(nodes, p.Wide)
	fixed := 0
	for i := range columns {
		fixed += columns[i].Cells()
	}
	space := func(gap int) int { return p.Width - fixed - gap*(len(columns)+1) - len("mem ") }
	name, bar := names(nodes, ""), layout.Column{Title: "HOTTEST"}
	if !p.Wide && name.Cells()+leastBar > space(1) {
		shown = "shortened"
		if domain := domainOf(nodes); domain != "" {
			name, shown = names(nodes, domain), "without "+domain
		}
	}
	longest := name.Cells()
	p.Gap = 2
	if space(p.Gap) < longest+2*leastBar {
		p.Gap = 1
	}
	cells := min(max(space(p.Gap)-longest, leastBar), mostBar)
	if room := max(space(p.Gap)-cells, leastBar); !p.Wide && room < longest {
		name.Shorten(room)
	}
	for i := range nodes {
		addBar(&bar, &nodes[i], cells)
	}
	p.Table("", append([]layout.Column{name, bar}, columns...)...)
	return shown
}

// names returns the first column, with the domain removed from the names.
func names(nodes []status.NodeStatus, domain string) layout.Column {
	c := layout.Column{Title: "NODE"}
	for i := range nodes {
		c.Add(strings.TrimSuffix(nodes[i].Name, domain))
	}
	return c
}

// domainOf returns the domain that all nodes share, with a leading dot; empty if there is
// none.
func domainOf(nodes []status.NodeStatus) string {
	shared := ""
	for i := range nodes {
		_, domain, _ := strings.Cut(nodes[i].Name, ".")
		if domain == "" || i > 0 && "."+domain != shared {
			return ""
		}
		shared = "." + domain
	}
	return shared
}

// addBar adds a bar for the hottest resource.
func addBar(c *layout.Column, n *status.NodeStatus, cells int) {
	resource, _ := n.Hottest()
	if resource.UsedPercent == nil {
		c.Add(none)
		return
	}
	name, line := "cpu", 0.0
	if resource == &n.Memory {
		name = "mem"
	}
	if resource.EvictPercent != nil {
		line = *resource.EvictPercent
	}
	c.Paint(layout.BarColor(*resource.UsedPercent, line), name+" "+layout.Bar(*resource.UsedPercent, line, cells))
}

// columns returns the columns after the bar.
func (r *top) columns(nodes []status.NodeStatus, wide bool) []layout.Column {
	all := []layout.Column{
		{Title: "CPU", Right: true}, {Title: "CORES", Right: true, Drop: 4}, {Title: "MEM", Right: true}, {Title: "BYTES", Right: true, Drop: 3},
		{Title: "REQUESTED", Right: true, Drop: 1}, {Title: "PODS", Right: true, Drop: 2},
	}
	state := layout.Column{Title: "STATE"}
	for i := range nodes {
		n := &nodes[i]
		layout.Row(all, percent(n.CPU.UsedPercent), amount(&n.CPU, cores, wide), percent(n.Memory.UsedPercent), amount(&n.Memory, memory, wide),
			fmt.Sprintf("%.0f%%/%.0f%%", n.CPU.RequestedPercent, n.Memory.RequestedPercent), fmt.Sprint(n.Pods))
		state.Paint(map[bool]layout.Color{true: layout.Red}[n.IsHot()], stateOf(n))
	}
	all = append(all, state)
	if wide {
		all = append(all, r.more(nodes)...)
	}
	return all
}

// amount formats the usage of a resource and, if wide is true, its allocatable.
func amount(r *status.ResourceStatus, format func(int64) string, wide bool) string {
	text := none
	if r.Used != nil {
		text = format(*r.Used)
	}
	if wide {
		text += "/" + format(r.Allocatable)
	}
	return text
}

// more returns the additional columns of a wide table: each known window, with cpu before
// memory, and the source of the usage.
func (r *top) more(nodes []status.NodeStatus) []layout.Column {
	var all []layout.Column
	for _, window := range r.windows(nodes) {
		c := layout.Column{Title: window, Right: true}
		for i := range nodes {
			used, ok := nodes[i].Used[window]
			c.Add(pair(used.CPU, used.Memory, ok))
		}
		all = append(all, c)
	}
	last := []layout.Column{{Title: "PREDICTED", Right: true}, {Title: "AGE", Right: true}, {Title: "HISTORY", Right: true}, {Title: "SOURCE"}}
	for i := range nodes {
		n := &nodes[i]
		known := n.CPU.Used != nil || n.Memory.Used != nil
		layout.Row(last, pair(n.Predicted.CPU, n.Predicted.Memory, n.State != string(thresholds.Unknown)), secondsIf(known, n.AgeSeconds),
			secondsIf(known, n.WindowSeconds), n.Source)
	}
	if len(all) == 0 {
		last = last[1:]
	}
	return append(all, last...)
}

func pair(cpu, memory float64, known bool) string {
	if !known {
		return none
	}
	return fmt.Sprintf("%.1f%%/%.1f%%", cpu, memory)
}

func secondsIf(known bool, n int) string {
	if !known {
		return none
	}
	return fmt.Sprintf("%ds", n)
}

// windows returns the windows known for any node except the newest reading. Windows that
// can make a node hot come first.
func (r *top) windows(nodes []status.NodeStatus) []string {
	seen := map[string]bool{"last": true}
	var others []string
	for i := range nodes {
		for window := range nodes[i].Used {
			if !seen[window] {
				seen[window] = true
				others = append(others, window)
			}
		}
	}
	slices.Sort(others)
	var first []string
	for _, window := range r.HotWindows {
		if slices.Contains(others, window) {
			first = append(first, window)
		}
	}
	return append(first, slices.DeleteFunc(others, func(window string) bool { return slices.Contains(first, window) })...)
}

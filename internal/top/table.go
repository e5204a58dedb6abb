package top

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/thresholds"
)

// View is how a report is shown.
type View struct {
	terminal.Style
	// Wide adds columns, and shortens no name.
	Wide bool
	// Most is how many nodes are listed at most; 0 is all.
	Most int
}

const (
	// mostWidth is the width of a table that is not wide.
	mostWidth = 100
	// wideWidth is that of a wide one where there is no terminal.
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

// Table prints the report for people: a line for each node, with a bar.
func (r *Report) Table(out io.Writer, v View) error {
	width := v.width()
	var b strings.Builder
	for _, text := range r.before() {
		fmt.Fprintln(&b, wrapped(text, width))
	}
	fmt.Fprintln(&b)
	nodes := r.Nodes
	if v.Most > 0 {
		nodes = nodes[:min(v.Most, len(nodes))]
	}
	shown := r.rows(&b, nodes, &v)
	after := r.after()
	if more := len(r.Nodes) - len(nodes); more > 0 {
		after = slices.Insert(after, 0, reasons.Count(more, "more node")+", none hotter than these.")
	}
	if shown != "" {
		after = append(after, "Names are "+shown+" here; -o wide shows them as they are.")
	}
	for i, text := range after {
		if i == 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintln(&b, wrapped(text, width))
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// rows prints a header and a line for each node. It returns how names are shown;
// empty if as they are.
func (r *Report) rows(b *strings.Builder, nodes []serve.NodeStatus, v *View) (shown string) {
	columns := r.columns(nodes, v.Wide)
	fixed := 0
	for i := range columns {
		fixed += columns[i].width()
	}
	space := func(gap int) int { return v.width() - fixed - gap*(len(columns)+1) - len("mem ") }
	name, bar := names(nodes, ""), column{title: "HOTTEST"}
	if !v.Wide && name.width()+leastBar > space(1) {
		shown = "shortened"
		if domain := domainOf(nodes); domain != "" {
			name, shown = names(nodes, domain), "without "+domain
		}
	}
	longest, gap := name.width(), 2
	if space(gap) < longest+2*leastBar {
		gap = 1
	}
	cells := min(max(space(gap)-longest, leastBar), mostBar)
	if room := max(space(gap)-cells, leastBar); !v.Wide && room < longest {
		name.shorten(room)
	}
	for i := range nodes {
		bar.addBar(&nodes[i], cells)
	}
	all := append([]column{name, bar}, columns...)
	for row := -1; row < len(nodes); row++ {
		writeRow(b, all, row, gap, v.Style)
	}
	return shown
}

// names are the first column, without a domain.
func names(nodes []serve.NodeStatus, domain string) column {
	c := column{title: "NODE"}
	for i := range nodes {
		c.add(strings.TrimSuffix(nodes[i].Name, domain))
	}
	return c
}

// domainOf returns the domain that all nodes share, which distinguishes none of
// them, with the point before it.
func domainOf(nodes []serve.NodeStatus) string {
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

// writeRow prints a row of columns; -1 is the header.
func writeRow(b *strings.Builder, columns []column, row, gap int, style terminal.Style) {
	var line strings.Builder
	for i := range columns {
		c := &columns[i]
		text, color := c.title, terminal.Color("")
		if row >= 0 {
			text, color = c.cells[row], c.colors[row]
		}
		pad := strings.Repeat(" ", c.width()-utf8.RuneCountInString(text))
		switch {
		case i == len(columns)-1 && !c.right:
			pad = ""
		case c.right:
			line.WriteString(pad)
		}
		line.WriteString(style.Paint(color, text))
		if !c.right {
			line.WriteString(pad)
		}
		if i < len(columns)-1 {
			line.WriteString(strings.Repeat(" ", gap))
		}
	}
	b.WriteString(line.String())
	b.WriteByte('\n')
}

// column is a column of a table.
type column struct {
	title string
	right bool // whether its cells end at the same place
	cells []string
	// colors has the color of each cell.
	colors  []terminal.Color
	longest int // of the cells
}

func (c *column) add(text string) { c.paint(text, "") }

func (c *column) paint(text string, color terminal.Color) {
	text = terminal.Printable(text)
	c.cells, c.colors, c.longest = append(c.cells, text), append(c.colors, color), max(c.longest, utf8.RuneCountInString(text))
}

// shorten shortens cells that are longer.
func (c *column) shorten(cells int) {
	for i, text := range c.cells {
		c.cells[i] = shortened(text, cells)
	}
	c.longest = min(c.longest, cells)
}

// addBar adds a bar of the resource that is hottest.
func (c *column) addBar(n *serve.NodeStatus, cells int) {
	resource, _ := hottest(n)
	if resource.UsedPercent == nil {
		c.add(none)
		return
	}
	name, line := "cpu", 0.0
	if resource == &n.Memory {
		name = "mem"
	}
	if resource.EvictPercent != nil {
		line = *resource.EvictPercent
	}
	c.paint(name+" "+terminal.Bar(*resource.UsedPercent, line, cells), terminal.BarColor(*resource.UsedPercent, line))
}

func (c *column) width() int { return max(c.longest, utf8.RuneCountInString(c.title)) }

// columns are those after the bar.
func (r *Report) columns(nodes []serve.NodeStatus, wide bool) []column {
	cpu, used := column{title: "CPU", right: true}, column{title: "CORES", right: true}
	mem, size := column{title: "MEM", right: true}, column{title: "BYTES", right: true}
	requested, pods, state := column{title: "REQUESTED", right: true}, column{title: "PODS", right: true}, column{title: "STATE"}
	for i := range nodes {
		n := &nodes[i]
		cpu.add(percent(n.CPU.UsedPercent))
		used.add(amount(&n.CPU, cores, wide))
		mem.add(percent(n.Memory.UsedPercent))
		size.add(amount(&n.Memory, memory, wide))
		requested.add(fmt.Sprintf("%.0f%%/%.0f%%", n.CPU.RequestedPercent, n.Memory.RequestedPercent))
		pods.add(fmt.Sprint(n.Pods))
		color := terminal.Color("")
		if isHot(n) {
			color = terminal.Red
		}
		state.paint(stateOf(n), color)
	}
	all := []column{cpu, used, mem, size, requested, pods, state}
	if wide {
		all = append(all, r.more(nodes)...)
	}
	return all
}

// amount is what is used of a resource, if wide with what there is.
func amount(r *serve.ResourceStatus, format func(int64) string, wide bool) string {
	text := none
	if r.Used != nil {
		text = format(*r.Used)
	}
	if wide {
		text += "/" + format(r.Allocatable)
	}
	return text
}

// more are the columns of a wide table: each window that was looked at, cpu
// before memory, and where usage comes from.
func (r *Report) more(nodes []serve.NodeStatus) []column {
	var all []column
	for _, window := range r.windows(nodes) {
		c := column{title: window, right: true}
		for i := range nodes {
			used, ok := nodes[i].Used[window]
			c.add(pair(used.CPU, used.Memory, ok))
		}
		all = append(all, c)
	}
	predicted, age, reach, source := column{title: "PREDICTED", right: true}, column{title: "AGE", right: true}, column{title: "HISTORY", right: true}, column{title: "SOURCE"}
	for i := range nodes {
		n := &nodes[i]
		known := n.CPU.Used != nil || n.Memory.Used != nil
		predicted.add(pair(n.Predicted.CPU, n.Predicted.Memory, n.State != string(thresholds.Unknown)))
		age.add(secondsIf(known, n.AgeSeconds))
		reach.add(secondsIf(known, n.WindowSeconds))
		source.add(n.Source)
	}
	if len(all) > 0 {
		all = append(all, predicted)
	}
	return append(all, age, reach, source)
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

// windows are those that were looked at of some node, apart from the newest
// reading, those that can make a node hot first.
func (r *Report) windows(nodes []serve.NodeStatus) []string {
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

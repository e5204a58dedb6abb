package page

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/status"
)

// levels holds all levels, the worst first.
var levels = [...]Level{Hot, Cooling, AboveEvict, AboveReject, Warm, Cool, Unknown}

// meanings holds the legend of the levels.
var meanings = map[Level]string{
	Hot:         "above the evict line for long enough to move pods off",
	Cooling:     "hot until it is below the leave line",
	AboveEvict:  "above the evict line but not hot: not for long enough, or not by usage that counts",
	AboveReject: "above the reject line: takes no new pods",
	Warm:        "between the low and the reject line",
	Cool:        "below the low line: takes moved pods",
	Unknown:     "usage is not known: nothing is decided on it",
}

// rank orders levels, the worst first.
func (l Level) rank() int { return slices.Index(levels[:], l) }

// addNodes adds each node with its level, and the lines of each pool.
func (p *Page) addNodes(f *Facts) {
	p.Nodes = make([]Node, len(f.View.Nodes))
	newest, pools := f.Lines.Newest(), map[string]bool{}
	for i := range f.View.Nodes {
		n := &p.Nodes[i]
		*n = f.node(i, newest)
		p.Provisional = p.Provisional || n.Provisional
		if n.isHot() && !n.Provisional {
			p.HotNodes++
		}
		if !pools[n.Pool] {
			pools[n.Pool] = true
			p.Lines = append(p.Lines, f.lines(i)...)
		}
	}
}

func (f *Facts) node(i int, newest *thresholds.Resolved) Node {
	info, read := f.View.Snapshot.Nodes[i], &f.View.Nodes[i]
	state := f.States[info.Node.Name]
	n := Node{Node: f.Node(i), Pods: len(info.Pods), Level: level(f.Lines, i, state.State)}
	if n.Level == Unknown && read.HasSample() && info.Node.Ready {
		n.Level, n.Provisional = level(newest, i, newest.ClassifyNow(i)), true
	}
	if read.HasSample() {
		percents := read.Measured[usage.AtLast].PercentOf(info.Node.Allocatable)
		n.CPU, n.Memory = shown(read, percents, cluster.CPU), shown(read, percents, cluster.Memory)
	}
	if n.NotHot.ByMeasure() && !n.Provisional && n.Level.rank() > AboveEvict.rank() {
		n.Level = AboveEvict
	}
	n.heat, n.rank = f.heat(i, &n), n.Level.rank()
	return n
}

// level returns the level of a node, given its state and its lines.
func level(lines *thresholds.Resolved, i int, state thresholds.State) Level {
	_, over := lines.Over(i)
	switch state {
	case thresholds.Hot:
		if over {
			return Hot
		}
		return Cooling
	case thresholds.Warm, thresholds.Cool:
		switch {
		case over:
			return AboveEvict
		case lines.AboveReject(i):
			return AboveReject
		case state == thresholds.Warm:
			return Warm
		}
		return Cool
	case thresholds.Unknown:
	}
	return Unknown
}

func shown(read *usage.NodeUsage, percents cluster.Percents, resource cluster.Resource) *float64 {
	if !read.Reports(resource) {
		return nil
	}
	return new(status.Round(percents[resource]))
}

// heat orders nodes of one level by the resource that is closest to its evict line, or
// farthest beyond it.
func (f *Facts) heat(i int, n *Node) float64 {
	highest := -1.0
	for resource, percent := range map[cluster.Resource]*float64{cluster.CPU: n.CPU, cluster.Memory: n.Memory} {
		if percent == nil {
			continue
		}
		line, ok := f.Lines.HighestEvict(i, usage.Metric(resource.String()))
		if !ok || line <= 0 {
			line = 100
		}
		highest = max(highest, *percent/line)
	}
	return highest
}

// compareHeat puts the hotter node first.
func compareHeat(a, b *Node) int {
	if a.rank != b.rank {
		return a.rank - b.rank
	}
	return cmp.Or(cmp.Compare(b.heat, a.heat), cmp.Compare(a.Name, b.Name))
}

// sortHottest sorts pointers to the nodes by heat, once for all uses.
func (p *Page) sortHottest() {
	p.hottest = make([]*Node, len(p.Nodes))
	for i := range p.Nodes {
		p.hottest[i] = &p.Nodes[i]
	}
	slices.SortFunc(p.hottest, compareHeat)
}

// lines returns the lines of a node.
func (f *Facts) lines(i int) (all []Line) {
	metrics := append([]usage.Metric{usage.CPU, usage.Memory, thresholds.MemoryAvailable}, f.View.Signals...)
	for _, metric := range metrics {
		for _, window := range f.View.Windows {
			if l, ok := f.Lines.Of(i, metric, window); ok {
				all = append(all, Line{Pool: f.Lines.Pool(i), Metric: string(metric), Window: window.String(), Lines: status.LinesOf(l)})
			}
		}
	}
	return all
}

// count returns the number of nodes at each level.
func (p *Page) count() []LevelCount {
	counts := make([]LevelCount, len(levels))
	for k, l := range levels {
		counts[k] = LevelCount{Level: l, Means: meanings[l]}
	}
	for i := range p.Nodes {
		counts[p.Nodes[i].rank].Nodes++
	}
	return counts
}

// isHot reports whether a node is at one of the levels of a hot node.
func (n *Node) isHot() bool { return n.Level == Hot || n.Level == Cooling }

// Uses describes the usage of a node.
func (n *Node) Uses() string {
	return "cpu " + percent(n.CPU) + ", memory " + percent(n.Memory)
}

func percent(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*v, 'f', 1, 64) + "%"
}

// Why explains why the node is not hot, or not cool, if its usage suggests that it is.
func (n *Node) Why() string {
	switch {
	case n.NotHot != nil:
		return status.Sentence(n.NotHot.NotHot())
	case n.NotCool != nil:
		return "Not cool: " + n.NotCool.Text + "."
	}
	return ""
}

// LevelText describes the level of a node.
func (n *Node) LevelText() string {
	switch {
	case n.Provisional:
		return string(n.Level) + " now"
	case n.Unknown != "":
		return string(n.Level) + " (" + n.Unknown + ")"
	}
	return string(n.Level)
}

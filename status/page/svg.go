package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/status"
)

// The heat map shows the nodes from left to right in order of their names.
const (
	// pitch is the distance between two cells in SVG units, and cell their size.
	pitch, cell = 10, 9
	// widthToHeight is the aspect ratio of the map.
	widthToHeight = 3.2
	// largest is the maximum width of a cell in pixels.
	largest = 48
)

// heatMap is the map of nodes as SVG: one path for the nodes of each level.
type heatMap struct {
	Columns, Width, Height, Pixels int
	Paths                          []levelPath
	// First is the initially selected node, which is the hottest.
	First *Node
	X, Y  int
	// Cells holds name, level and usage of each node for the script.
	Cells template.JS
}

// levelPath draws the nodes of one level. Class is their style.
type levelPath struct{ Class, D string }

// drawMap draws the nodes.
func drawMap(p *Page) *heatMap {
	m := &heatMap{Columns: max(int(math.Ceil(math.Sqrt(widthToHeight*float64(len(p.Nodes))))), 1)}
	rows := (len(p.Nodes) + m.Columns - 1) / m.Columns
	m.Width, m.Height, m.Pixels = m.Columns*pitch, max(rows, 1)*pitch, m.Columns*largest
	paths := make([][]byte, len(levels))
	shape := fmt.Sprintf("h%dv%dh-%dz", cell, cell, cell)
	for i := range p.Nodes {
		n, x, y := &p.Nodes[i], i%m.Columns*pitch, i/m.Columns*pitch
		d := append(paths[n.rank], 'M')
		d = append(strconv.AppendInt(d, int64(x), 10), ' ')
		d = strconv.AppendInt(d, int64(y), 10)
		paths[n.rank] = append(d, shape...)
		if n == p.hottest[0] {
			m.First, m.X, m.Y = n, x, y
		}
	}
	for k, d := range paths {
		if len(d) > 0 {
			m.Paths = append(m.Paths, levelPath{Class: levels[k].Class(), D: string(d)})
		}
	}
	m.Cells = cells(p)
	return m
}

// Class is the style of a level.
func (l Level) Class() string { return strings.ReplaceAll(string(l), " ", "-") }

// cells returns the name, level and usage of each node in the format that the script
// reads.
func cells(p *Page) template.JS {
	rows := make([][3]string, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		rows[i] = [3]string{n.Name, n.LevelText(), n.Uses()}
	}
	data, err := json.Marshal(rows)
	if err != nil { // impossible: strings can be encoded
		return "[]"
	}
	return template.JS(data) // safe: Go escapes tags in JSON
}

// timeLine is the maximum age of the moves that are drawn and listed.
const timeLine = time.Hour

const (
	// drawn is the maximum number of moves that are drawn.
	drawn = 24
	// lineWidth is the width of the time line in SVG units, and barPitch the distance
	// between two bars.
	lineWidth, barPitch = 1000, 16
	// thinnest is the minimum width of a bar.
	thinnest = 6
)

// moveLine is the time line. It has a bar for each move, from the time at which the move
// was recorded to its end.
type moveLine struct {
	Height int
	Bars   []bar
	// Ticks are the positions at which each quarter of an hour begins.
	Ticks []int
}

type bar struct {
	X, Y, Width          int
	Class, Label, Target string
}

// drawMoves draws the newest moves.
func drawMoves(p *Page) *moveLine {
	line := &moveLine{}
	for i := range p.Moves[:min(len(p.Moves), drawn)] {
		m := &p.Moves[i]
		if m.Recorded == nil {
			continue
		}
		end := p.now
		if m.Ended != nil {
			end = *m.Ended
		}
		x := min(p.across(*m.Recorded), lineWidth-thinnest)
		line.Bars = append(line.Bars, bar{
			X: x, Y: len(line.Bars) * barPitch, Width: max(p.across(end)-x, thinnest), Class: "move-" + strings.ToLower(m.State),
			Label: told(m), Target: target(m),
		})
	}
	line.Height = (len(line.Bars) + 1) * barPitch
	for quarter := range 5 {
		line.Ticks = append(line.Ticks, quarter*lineWidth/4)
	}
	return line
}

// across returns the position of a time on the time line.
func (p *Page) across(at time.Time) int {
	past := min(max(p.now.Sub(at), 0), timeLine)
	return lineWidth - int(past*lineWidth/timeLine)
}

// target is the path that explains a move's pod.
func target(m *status.RecordedMove) string { return "/explain/pod/" + m.Namespace + "/" + m.Pod }

// told describes a move in words.
func told(m *status.RecordedMove) string {
	to := cmp.Or(m.Node, m.To, "a node that kube-scheduler chooses")
	text := fmt.Sprintf("%s/%s from %s to %s: %s", m.Namespace, m.Pod, m.From, to, m.State)
	if m.State == string(ledger.Landed) && m.To != "" && m.Node != m.To {
		text += ", planned to " + m.To
	}
	if m.Outcome != nil {
		if m.Outcome.Helped {
			return text + ", helped"
		}
		return text + ", did not help"
	}
	return text
}

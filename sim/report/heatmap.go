package report

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/png"
	"slices"

	"github.com/evenkeel/evenkeel/sim"
)

const (
	// maxRows and maxColumns limit a heat map.
	maxRows    = 200
	maxColumns = 288
)

// grid holds usage by node, highest first, and time. If there are many nodes or steps,
// its cells are means over several of each.
type grid struct {
	cells [][]float64
	// nodes and steps are the numbers of nodes and steps that a cell averages.
	nodes, steps int
}

func gridOf(r *sim.Result) grid {
	order := byMean(r)
	g := grid{nodes: groups(len(order), maxRows), steps: groups(len(r.Usage), maxColumns)}
	for rank := 0; rank < len(order); rank += g.nodes {
		members := order[rank:min(rank+g.nodes, len(order))]
		var row []float64
		for step := 0; step < len(r.Usage); step += g.steps {
			row = append(row, meanCell(r.Usage[step:min(step+g.steps, len(r.Usage))], members))
		}
		g.cells = append(g.cells, row)
	}
	return g
}

// groups returns how many of n items share one of the given number of places.
func groups(n, places int) int { return max(1, (n+places-1)/places) }

// byMean lists the nodes by their mean over the scored steps, highest first.
func byMean(r *sim.Result) []int {
	sums, order := make([]float64, r.Nodes), make([]int, r.Nodes)
	for _, row := range scored(r) {
		for node, v := range row {
			sums[node] += v
		}
	}
	for node := range order {
		order[node] = node
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sums[b], sums[a]) })
	return order
}

// scored returns the usage of the scored steps.
func scored(r *sim.Result) [][]float64 { return r.Usage[max(0, len(r.Usage)-r.Steps):] }

func meanCell(rows [][]float64, nodes []int) float64 {
	sum := 0.0
	for _, row := range rows {
		for _, node := range nodes {
			sum += row[node]
		}
	}
	return sum / float64(len(rows)*len(nodes))
}

// heatMap is the heat map of a variant.
type heatMap struct {
	frame
	style

	Facts   string
	Cells   string
	Image   template.URL
	Columns int
	Rows    int
	Times   []tick
	// WarmUp is the width of the steps that were not scored.
	WarmUp px
}

func heatMaps(results []sim.Result, looks []style, colours scale) (maps []heatMap, err error) {
	f := frame{Width: 470, Height: 214, Left: 18, Top: 4, Right: 450, Bottom: 190}
	for i := range results {
		r := &results[i]
		if len(r.Usage) == 0 || r.Nodes == 0 {
			continue
		}
		g := gridOf(r)
		m := heatMap{
			frame: f, style: looks[i], Columns: len(g.cells[0]), Rows: len(g.cells), Times: timeTicks(f, len(r.Usage)),
			WarmUp: px(float64(len(r.Usage)-r.Steps)/float64(len(r.Usage))) * f.InnerWidth(),
			Facts:  fmt.Sprintf("%s%% hot, deviation %s points", share(r.HotPercent), points(r.CPUDeviation)),
			Cells:  cellsInWords(g),
		}
		if m.Image, err = g.draw(colours); err != nil {
			return nil, fmt.Errorf("drawing the heat map of %q: %w", r.Variant, err)
		}
		maps = append(maps, m)
	}
	return maps, nil
}

func cellsInWords(g grid) string {
	nodes, steps := "one node", "one step of 5 minutes"
	if g.nodes > 1 {
		nodes = fmt.Sprintf("%d nodes that stand next to each other", g.nodes)
	}
	if g.steps > 1 {
		steps = fmt.Sprintf("%d steps of 5 minutes", g.steps)
	}
	if g.nodes == 1 && g.steps == 1 {
		return "Each cell is " + nodes + " in " + steps + "."
	}
	return "Each cell is the mean of " + nodes + " over " + steps + ", so short or single peaks fade."
}

// draw makes an image with one pixel per cell, which compresses a hundred times better
// than shapes.
func (g grid) draw(s scale) (template.URL, error) {
	picture := image.NewPaletted(image.Rect(0, 0, len(g.cells[0]), len(g.cells)), s.palette())
	for y, row := range g.cells {
		for x, v := range row {
			picture.SetColorIndex(x, y, s.level(v))
		}
	}
	var buffer bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&buffer, picture); err != nil {
		return "", err
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(buffer.Bytes())), nil
}

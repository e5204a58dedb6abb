package report

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/sim"
)

// element is a part of a page.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// walk calls see for every element, outer ones first.
func (e *element) walk(see func(*element)) {
	see(e)
	for i := range e.Children {
		e.Children[i].walk(see)
	}
}

func (e *element) all(name string) (found []*element) {
	e.walk(func(one *element) {
		if one.XMLName.Local == name {
			found = append(found, one)
		}
	})
	return found
}

// drawings returns the drawings of a class.
func (e *element) drawings(class string) (found []*element) {
	for _, svg := range e.all("svg") {
		if svg.attr("class") == class {
			found = append(found, svg)
		}
	}
	return found
}

func render(t *testing.T, h Heading, results []sim.Result) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, h, results); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// parse reads a page, which is well-formed XML except for its script.
func parse(t *testing.T, page []byte) *element {
	t.Helper()
	page = regexp.MustCompile(`(?s)<script>.*</script>`).ReplaceAll(page, nil)
	var root element
	if err := xml.Unmarshal(page, &root); err != nil {
		t.Fatalf("the page is not well-formed: %v", err)
	}
	return &root
}

func TestPageHasEveryPlot(t *testing.T) {
	root := parse(t, render(t, heading(), replay()))
	if root.attr("lang") != "en" || root.all("title")[0].Text != "Evenkeel: replay of made-up" {
		t.Errorf("the page is in %q and called %q", root.attr("lang"), root.all("title")[0].Text)
	}
	// upstream-metrics and evenkeel evict; the oracle's moves are not evictions
	for class, want := range map[string]int{"scale": 1, "heatmap": 4, "distribution": 1, "timeline": 2, "landings": 2} {
		if got := len(root.drawings(class)); got != want {
			t.Errorf("%d drawings of class %q, want %d", got, class, want)
		}
	}
	if curves := root.drawings("distribution")[0].all("g"); len(curves) != 4 {
		t.Errorf("%d curves, want one per variant", len(curves))
	}
	for _, line := range root.drawings("timeline") {
		if bars := line.all("g")[0].all("rect"); len(bars) < 6 {
			t.Errorf("%d bars over time, want at least 6", len(bars))
		}
	}
	verdict := root.all("section")[0].all("p")[0].Text
	if !strings.Contains(verdict, "Best: evenkeel. Nodes are hot 0% of the time (27.5%") {
		t.Errorf("the page begins with %q", verdict)
	}
}

// Drawings have text alternatives.
func TestDrawingsHaveTextAlternatives(t *testing.T) {
	root := parse(t, render(t, heading(), replay()))
	texts := map[string]string{}
	root.walk(func(e *element) {
		id := e.attr("id")
		if _, twice := texts[id]; id != "" && twice {
			t.Errorf("two elements are called %q", id)
		}
		if id != "" {
			texts[id] = strings.TrimSpace(e.Text)
		}
	})
	for _, svg := range root.all("svg") {
		if svg.attr("role") != "img" {
			t.Errorf("a drawing of class %q has the role %q", svg.attr("class"), svg.attr("role"))
		}
		for id := range strings.FieldsSeq(svg.attr("aria-labelledby")) {
			if texts[id] == "" {
				t.Errorf("a drawing of class %q is labelled by %q, which is empty", svg.attr("class"), id)
			}
		}
		if svg.attr("aria-labelledby") == "" {
			t.Errorf("a drawing of class %q has no label", svg.attr("class"))
		}
	}
}

// A page opened from disk loads nothing.
func TestPageIsSelfContained(t *testing.T) {
	page := string(render(t, heading(), replay()))
	root := parse(t, []byte(page))
	root.walk(func(e *element) {
		for _, a := range e.Attrs {
			switch a.Name.Local {
			case "href", "src", "action", "data", "srcset", "poster":
				if !strings.HasPrefix(a.Value, "data:image/png;base64,") {
					t.Errorf("<%s %s=%q> leads out of the page", e.XMLName.Local, a.Name.Local, a.Value)
				}
			}
		}
	})
	for _, bad := range []string{"http://", "https://", "url(", "@import", "fetch(", "ZgotmplZ", "NaN", "Inf "} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

func picture(t *testing.T, heatmap *element) image.Image {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(heatmap.all("image")[0].attr("href"), "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return drawn
}

// The first of the nodes in made has the highest usage, so it is on top. Cells above the line have
// the colours that start at the line.
func TestHeatMapShowsUsage(t *testing.T) {
	results := replay()
	for node := range 6 { // the fullest are moved to the end, so that sorting matters
		for _, row := range results[0].Usage {
			row[node], row[11-node] = row[11-node], row[node]
		}
	}
	root := parse(t, render(t, heading(), results))
	drawn := picture(t, root.drawings("heatmap")[0])
	if size := drawn.Bounds().Size(); size != image.Pt(72, 12) {
		t.Fatalf("the heat map has %v cells, want 72 steps of 12 nodes", size)
	}
	s := newScale(70)
	for rank := range 12 {
		for step := range 72 {
			want := s.colour(int(s.level(results[0].Usage[step][11-rank])))
			r, g, b, _ := drawn.At(step, rank).RGBA()
			if got := [3]uint32{r >> 8, g >> 8, b >> 8}; got != [3]uint32{uint32(want.R), uint32(want.G), uint32(want.B)} {
				t.Fatalf("step %d of rank %d has the colour %v, want %v", step, rank, got, want)
			}
		}
	}
}

func TestScale(t *testing.T) {
	for name, tc := range map[string]struct {
		line    float64
		percent float64
		from    float64
	}{
		"nothing is used":                {line: 70, percent: 0, from: 0},
		"just below a level":             {line: 70, percent: 4.99, from: 0},
		"on a level":                     {line: 70, percent: 5, from: 5},
		"on the line is not above it":    {line: 70, percent: 70, from: 65},
		"above the line":                 {line: 70, percent: 70.01, from: 70},
		"above all there is":             {line: 70, percent: 300, from: 100},
		"a line between two levels":      {line: 72, percent: 71, from: 70},
		"just above such a line":         {line: 72, percent: 72.5, from: 72},
		"a line at the end":              {line: 100, percent: 99, from: 95},
		"more than there is, line 100":   {line: 100, percent: 101, from: 100},
		"a line that nobody stays under": {line: 0.5, percent: 3, from: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScale(tc.line)
			if got := s.from[s.level(tc.percent)]; got != tc.from {
				t.Errorf("%v%% is in the level from %v%%, want %v", tc.percent, got, tc.from)
			}
			if len(s.palette()) != len(s.from) {
				t.Errorf("%d colours for %d levels", len(s.palette()), len(s.from))
			}
		})
	}
}

// The curves and bars add up to the values that they show.
func TestDistributionAndTimelineAddUp(t *testing.T) {
	for _, r := range replay() {
		sum := 0.0
		for _, share := range binned(&r, 100) {
			sum += share
		}
		if math.Abs(sum-100) > 1e-6 {
			t.Errorf("%s: the distribution adds up to %v%%", r.Variant, sum)
		}
		for _, per := range []int{1, 5, 7, 100} {
			evictions := 0
			for _, count := range summed(r.EvictionsAt, per) {
				evictions += count
			}
			if evictions != r.Evictions {
				t.Errorf("%s: %d evictions in bars of %d steps, want %d", r.Variant, evictions, per, r.Evictions)
			}
		}
	}
}

// The page of a large replay still opens at once.
func TestLargePageStaysSmall(t *testing.T) {
	const nodes, steps, most = 5000, 288, 3 << 20
	usage := make([][]float64, steps)
	state := uint32(1)
	for step := range usage {
		usage[step] = make([]float64, nodes)
		for node := range usage[step] {
			state = state*1664525 + 1013904223 // noise compresses worst
			usage[step][node] = float64(node)/nodes*60 + float64(state>>24)/256*60
		}
	}
	var results []sim.Result
	for k := range 8 {
		at := make([]int, steps)
		for step := range at {
			at[step] = step * k
		}
		results = append(results, sim.Result{
			Variant: fmt.Sprintf("variant-%d", k), Nodes: nodes, Pods: 150_000, Steps: steps - 12, Usage: usage, EvictionsAt: at, Evictions: 100 * k,
		})
	}
	page := render(t, heading(), results)
	if len(page) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(page), most)
	}
	root := parse(t, page)
	first := root.drawings("heatmap")[0]
	if size := picture(t, first).Bounds().Size(); size != image.Pt(288, 200) {
		t.Errorf("the heat map has %v cells, want 288 by 200", size)
	}
	if text := first.all("desc")[0].Text; !strings.Contains(text, "the mean of 25 nodes that stand next to each other over one step") {
		t.Errorf("the heat map describes its cells as %q", text)
	}
}

func TestSameResultsSamePage(t *testing.T) {
	if !bytes.Equal(render(t, heading(), replay()), render(t, heading(), replay())) {
		t.Error("two pages of the same results differ")
	}
}

// failing is a writer that accepts only this many bytes.
type failing int

var errFull = errors.New("the disk is full")

func (f *failing) Write(p []byte) (int, error) {
	if *f -= failing(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestFailingWritersAreReported(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"csv":  func(w io.Writer) error { return CSV(w, replay()) },
		"json": func(w io.Writer) error { return JSON(w, heading(), replay()) },
		"html": func(w io.Writer) error { return HTML(w, heading(), replay()) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := write(new(failing)); !errors.Is(err, errFull) {
				t.Errorf("the error is %v, want %v", err, errFull)
			}
		})
	}
}

package report

import (
	"fmt"
	"image/color"
	"slices"
)

// scale maps usage to colors: blues up to the hot line and, after a sharp change, yellow
// to red above it. Color-blind readers can distinguish them, too, because lightness rises
// up to the line and falls above it.
type scale struct {
	line float64
	// from holds the start of each level. The last level is open-ended.
	from []float64
	// cool is the number of levels below the line.
	cool int
}

const levelWidth = 5 // in percentage points

func newScale(line float64) scale {
	s := scale{line: line}
	for at := 0.0; at < line; at += levelWidth {
		s.from = append(s.from, at)
	}
	s.cool = len(s.from)
	for at := line; at < 100; at += levelWidth {
		s.from = append(s.from, at)
	}
	s.from = append(s.from, 100)
	return s
}

// level returns the level of a usage. Usage equal to the line is not above it.
func (s scale) level(percent float64) uint8 {
	at, found := slices.BinarySearch(s.from, percent)
	if !found || percent == s.line {
		at--
	}
	return uint8(max(0, at)) // there are at most 22 levels
}

var (
	idle, warm, hot, full = color.RGBA{12, 35, 64, 255}, color.RGBA{158, 202, 225, 255}, color.RGBA{255, 196, 77, 255}, color.RGBA{178, 24, 24, 255}
	beyond                = color.RGBA{92, 0, 20, 255}
)

func (s scale) palette() color.Palette {
	palette := make(color.Palette, 0, len(s.from))
	for i := range s.from {
		palette = append(palette, s.colour(i))
	}
	return palette
}

func (s scale) colour(level int) color.RGBA {
	above := len(s.from) - s.cool - 1 // levels from the line to 100
	switch {
	case level < s.cool:
		return blend(idle, warm, level, s.cool)
	case level < len(s.from)-1:
		return blend(hot, full, level-s.cool, above)
	}
	return beyond
}

// blend returns the i-th of n colors from one color to another.
func blend(from, to color.RGBA, i, n int) color.RGBA {
	share := float64(i) / float64(max(1, n-1))
	mix := func(a, b uint8) uint8 { return uint8(float64(a) + share*(float64(b)-float64(a))) }
	return color.RGBA{mix(from.R, to.R), mix(from.G, to.G), mix(from.B, to.B), 255}
}

// swatch is a level in the legend.
type swatch struct {
	X, LabelX px
	Fill      string
	Title     string
	// Label is the text below the swatch; most swatches have none.
	Label string
}

// legend arranges the levels next to each other.
func (s scale) legend() (swatches []swatch) {
	for i, from := range s.from {
		c := s.colour(i)
		one := swatch{X: px(i * 22), LabelX: px(i * 22), Fill: fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)}
		if i+1 < len(s.from) {
			one.Title = fmt.Sprintf("%g to %g%%", from, s.from[i+1])
		} else {
			one.Title = fmt.Sprintf("above %g%%", from)
		}
		switch {
		case i == s.cool && from < 100:
			one.Label = fmt.Sprintf("%g%% hot line", from)
		case i == 0 && s.cool > 6, i == len(s.from)-1:
			one.Label = fmt.Sprintf("%g%%", from)
		}
		swatches = append(swatches, one)
	}
	return swatches
}

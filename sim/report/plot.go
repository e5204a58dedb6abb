package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/evenkeel/evenkeel/sim"
)

// px is a length or position in a drawing, in the drawing's units.
type px float64

// String rounds to a tenth of a unit, which is finer than any screen shows.
func (p px) String() string { return strconv.FormatFloat(math.Round(float64(p)*10)/10, 'f', -1, 64) }

// frame is a drawing and the bounds of its data.
type frame struct{ Width, Height, Left, Top, Right, Bottom px }

// x converts a share (0 to 1) of the data's width, counted from the left, to a position.
// y does the same for the height, counted from the bottom.
func (f frame) x(share float64) px { return f.Left + px(share)*(f.Right-f.Left) }

func (f frame) y(share float64) px { return f.Bottom - px(share)*(f.Bottom-f.Top) }

// InnerWidth returns the width of the data.
func (f frame) InnerWidth() px { return f.Right - f.Left }

// InnerHeight returns the height of the data.
func (f frame) InnerHeight() px { return f.Bottom - f.Top }

// Middle returns the horizontal center of the data.
func (f frame) Middle() px { return (f.Left + f.Right) / 2 }

// tick is a mark on an axis.
type tick struct {
	At    px
	Label string
}

// timeTicks marks the time since the first step along the frame's width.
func timeTicks(f frame, steps int) (ticks []tick) {
	total := time.Duration(steps) * sim.Step
	if total <= 0 {
		return nil
	}
	const most = 8
	every := sim.Step
	for _, hours := range []int{1, 2, 3, 6, 12, 24, 48, 7 * 24} {
		if every = time.Duration(hours) * time.Hour; total/every <= most {
			break
		}
	}
	for total/every > most {
		every *= 2
	}
	for at := time.Duration(0); at <= total; at += every {
		ticks = append(ticks, tick{At: f.x(float64(at) / float64(total)), Label: sinceStart(at, every)})
	}
	return ticks
}

func sinceStart(at, every time.Duration) string {
	const day = 24 * time.Hour
	if every%day == 0 {
		return fmt.Sprintf("%d d", at/day)
	}
	return fmt.Sprintf("%d h", at/time.Hour)
}

// style determines how all plots draw a variant: in a color of the page and, for
// color-blind readers, with dashes.
type style struct {
	// Colour is the index of a color in page.css.
	Colour int
	// Dashes is a value of stroke-dasharray.
	Dashes string
	// Name is the variant's name.
	Name string
}

// Class returns the CSS class of the color.
func (s style) Class() string { return "c" + strconv.Itoa(s.Colour) }

const (
	baselineColour = 0
	boundColour    = 1
	bestColour     = 2
	otherColour    = 3
	otherColours   = 5
)

// styles assigns a color to every variant, in the order of the results. The best variant
// always has the same color and a solid line.
func styles(results []sim.Result, best string) []style {
	dashes := []string{"7 3", "2 3", "9 3 2 3"}
	made := make([]style, len(results))
	next := 0
	for i := range results {
		made[i].Name = results[i].Variant
		switch results[i].Variant {
		case Baseline:
			made[i].Colour = baselineColour
		case Bound:
			made[i].Colour, made[i].Dashes = boundColour, "1 3"
		case best:
			made[i].Colour = bestColour
		default:
			made[i].Colour, made[i].Dashes = otherColour+next%otherColours, dashes[next%len(dashes)]
			next++
		}
	}
	return made
}

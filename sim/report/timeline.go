package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/sim"
)

// maxBars is the maximum number of bars in a timeline.
const maxBars = 96

// timeline shows when a variant evicted. Its bars have a square-root scale, so that tens
// remain visible next to thousands.
type timeline struct {
	frame
	style

	Facts string
	Bars  []bar
	Times []tick
	// Counts marks round numbers of evictions.
	Counts []tick
}

type bar struct {
	X, Y, Width, Height px
	Title               string
}

// timelines draws all evicting variants on the same scale. It also returns the duration
// of a bar.
func timelines(results []sim.Result, looks []style) (lines []timeline, span string) {
	f := frame{Width: 960, Height: 96, Left: 48, Top: 8, Right: 930, Bottom: 74}
	steps, highest := 0, 0
	for i := range results {
		steps = max(steps, len(results[i].EvictionsAt))
	}
	per := groups(steps, maxBars)
	for i := range results {
		if evicts(&results[i]) {
			highest = max(highest, slices.Max(summed(results[i].EvictionsAt, per)))
		}
	}
	for i := range results {
		r := &results[i]
		if !evicts(r) || highest <= 0 {
			continue
		}
		lines = append(lines, timeline{
			frame: f, style: looks[i], Times: timeTicks(f, len(r.EvictionsAt)), Counts: countTicks(f, highest), Bars: bars(f, r.EvictionsAt, per, highest),
			Facts: fmt.Sprintf("%d evictions, %s per pod per day", r.Evictions, rate(r.EvictionsPerPodAndDay)),
		})
	}
	return lines, inWords(time.Duration(per) * sim.Step)
}

// evicts reports whether there are evictions to show. The oracle's moves do not count.
func evicts(r *sim.Result) bool {
	return r.Variant != Bound && r.Evictions > 0 && len(r.EvictionsAt) > 0
}

func inWords(d time.Duration) string {
	if d > 2*time.Hour {
		return fmt.Sprintf("%.2g hours", d.Hours())
	}
	return fmt.Sprintf("%d minutes", d/time.Minute)
}

func summed(counts []int, per int) (sums []int) {
	for from := 0; from < len(counts); from += per {
		sum := 0
		for _, count := range counts[from:min(from+per, len(counts))] {
			sum += count
		}
		sums = append(sums, sum)
	}
	return sums
}

func height(count, highest int) float64 { return math.Sqrt(float64(count) / float64(highest)) }

func bars(f frame, counts []int, per, highest int) (made []bar) {
	for k, count := range summed(counts, per) {
		if count <= 0 {
			continue
		}
		from := float64(k*per) / float64(len(counts))
		to := float64(min((k+1)*per, len(counts))) / float64(len(counts))
		b := bar{X: f.x(from), Width: max(1, f.x(to)-f.x(from)-1), Y: f.y(height(count, highest))}
		b.Height = f.Bottom - b.Y
		b.Title = fmt.Sprintf("%d from %s on", count, clock(time.Duration(k*per)*sim.Step))
		made = append(made, b)
	}
	return made
}

// clock formats a time since the start.
func clock(at time.Duration) string {
	return fmt.Sprintf("%d:%02d h", at/time.Hour, at%time.Hour/time.Minute)
}

// countTicks marks the highest count, and the powers of ten that are far enough from the
// next mark.
func countTicks(f frame, highest int) []tick {
	ticks := []tick{{At: f.y(0), Label: "0"}}
	for at := 1; at < highest; at *= 10 {
		y := f.y(height(at, highest))
		if last := ticks[len(ticks)-1].At; last-y > 14 && y-f.Top > 14 {
			ticks = append(ticks, tick{At: y, Label: fmt.Sprint(at)})
		}
	}
	return append(ticks, tick{At: f.Top, Label: fmt.Sprint(highest)})
}

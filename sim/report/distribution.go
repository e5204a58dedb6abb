package report

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/sim"
)

const (
	binPoints = 2   // in percentage points of usage
	maxUsage  = 150 // higher usage is counted in the last bin
	keys      = 16  // entries per column of the legend
)

// distribution shows how node-time is distributed over usage, with one curve per variant.
type distribution struct {
	frame

	Curves  []curve
	Usages  []tick
	Shares  []tick
	HotLine px
	Hot     string
	// HotWidth is the width between the line and the right end.
	HotWidth px
}

type curve struct {
	style

	Path string
	// Facts describes the curve in words. Best is true for the variant of the verdict.
	Facts string
	Best  bool
	// KeyX and KeyY are the curve's position in the legend.
	KeyX, KeyY px
}

// KeyEnd returns where the dash in the legend ends.
func (c curve) KeyEnd() px { return c.KeyX + 30 }

// KeyText returns where the name in the legend begins.
func (c curve) KeyText() px { return c.KeyX + 36 }

// KeyBase returns the baseline of the name in the legend.
func (c curve) KeyBase() px { return c.KeyY + 4 }

func distributionOf(results []sim.Result, looks []style, line float64, best string) *distribution {
	d := &distribution{Hot: fmt.Sprintf("%g%%", line)}
	end := usageEnd(results, line)
	var bins [][]float64
	highest := 0.0
	for i := range results {
		shares := binned(&results[i], end)
		bins = append(bins, shares)
		for _, s := range shares {
			highest = max(highest, s)
		}
	}
	if highest == 0 {
		return nil // node usage was not kept
	}
	d.frame = frame{Width: 960, Height: 360, Left: 48, Top: 14, Right: 930, Bottom: 318}
	d.HotLine = d.x(line / end)
	d.HotWidth = d.Right - d.HotLine
	for at := 0.0; at <= end; at += 10 {
		d.Usages = append(d.Usages, tick{At: d.x(at / end), Label: fmt.Sprintf("%g%%", at)})
	}
	d.Shares = shareTicks(d.frame, highest*1.05)
	for i, shares := range bins {
		if shares == nil {
			continue
		}
		r := &results[i]
		d.Curves = append(d.Curves, curve{
			style: looks[i], Path: d.path(shares, highest*1.05), Best: r.Variant == best,
			Facts: fmt.Sprintf("%s%% above the line, deviation %s points, peak %s%%", share(r.HotPercent), points(r.CPUDeviation), points(r.PeakCPUPercent)),
			KeyX:  d.Left + 12 + px(190*(len(d.Curves)/keys)), KeyY: d.Top + 12 + px(18*(len(d.Curves)%keys)),
		})
	}
	return d
}

// usageEnd returns the end of the usage axis.
func usageEnd(results []sim.Result, line float64) float64 {
	peak := line
	for i := range results {
		peak = max(peak, results[i].PeakCPUPercent)
	}
	end := 100.0
	for end < peak && end < maxUsage {
		end += 10
	}
	return end
}

// binned returns the share of node-time per bin of usage, in percent.
func binned(r *sim.Result, end float64) []float64 {
	if len(r.Usage) == 0 || r.Steps == 0 || r.Nodes == 0 {
		return nil
	}
	shares := make([]float64, int(end)/binPoints)
	each := 100 / float64(r.Steps*r.Nodes)
	for _, row := range scored(r) {
		for _, v := range row {
			shares[int(min(v/binPoints, float64(len(shares)-1)))] += each
		}
	}
	return shares
}

func (d *distribution) path(shares []float64, top float64) string {
	var path strings.Builder
	for i, s := range shares {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%v %v", command, d.x((float64(i)+0.5)/float64(len(shares))), d.y(s/top))
	}
	return path.String()
}

// shareTicks marks round shares up to top.
func shareTicks(f frame, top float64) (ticks []tick) {
	every := roundStep(top / 4)
	for at := 0.0; at <= top; at += every {
		ticks = append(ticks, tick{At: f.y(at / top), Label: fmt.Sprintf("%g%%", at)})
	}
	return ticks
}

// roundStep returns the smallest number that is not less than least and is 1, 2 or 5
// times a power of ten.
func roundStep(least float64) float64 {
	step := 1e-3
	for i := 0; step < least; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	return step
}

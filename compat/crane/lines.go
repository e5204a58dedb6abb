package crane

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/policy"
)

const (
	// gapPercent is the distance of the evict line above the reject line, minGapPercent the
	// minimum distance.
	gapPercent    = 5
	minGapPercent = 3
	// coolPercent is how far below the leave line a node must be to count as cool.
	coolPercent = 15
)

// limit is a predicate's limit in percent.
type limit struct {
	metric
	percent float64
}

// limits returns the limits of the predicates that Crane applies.
func (c *conversion) limits() []limit {
	var limits []limit
	for i, given := range c.in.Spec.Predicate {
		switch {
		case given.MaxLimitPercent == 0:
			c.out.Add("scoring.measured.limits", fmt.Sprintf("predicate[%d] (%s) is left out: a limit of 0 means no limit", i, given.Name))
		case !c.in.Spec.synced(given.Name):
			c.out.Add("scoring.measured.limits", fmt.Sprintf("predicate[%d] (%s) is left out: Crane ignores predicates that are not in syncPolicy", i, given.Name))
		default:
			limits = append(limits, limit{metrics[given.Name], inPercent(given.MaxLimitPercent)})
		}
	}
	return limits
}

// inPercent converts a fraction to percent without the rounding error of the
// multiplication: 0.29 becomes 29.
func inPercent(limit float64) float64 {
	if unitOf(limit) == fraction {
		limit *= 100
	}
	const digits = 1e9
	return math.Round(limit*digits) / digits
}

func measuredLimits(limits []limit) []any {
	list := make([]any, len(limits))
	for i, l := range limits {
		list[i] = map[string]any{"metric": l.name, "window": l.window, "abovePercent": policy.Number(l.percent)}
	}
	return list
}

// lines returns the lines for planned moves. Only metrics with a limit are judged. If
// there are no limits, the synced metrics get the default lines.
func (c *conversion) lines(limits []limit) map[string]any {
	lines := map[string]any{}
	for _, name := range []string{"cpu", "memory"} {
		own := slices.DeleteFunc(slices.Clone(limits), func(l limit) bool { return l.name != name })
		if len(own) > 0 {
			lines[name] = linesOf(own)
		}
	}
	if len(lines) > 0 {
		c.out.Add("lines", "Crane did not move pods; Evenkeel moves them to nodes below the limits, off nodes that exceed the five-minute limit by more than "+
			fmt.Sprint(gapPercent)+"; levels are in percent of allocatable, annotations in percent of capacity")
		return lines
	}
	for _, sync := range c.in.Spec.SyncPolicy {
		lines[metrics[sync.Name].name] = map[string]any{}
	}
	c.out.Add("lines", "Crane did not move pods; Evenkeel does, by the default lines because there are no limits")
	return lines
}

// linesOf sets the reject lines of a metric to its limits, and the other lines around
// them. The lowest limit bounds low and leave, because those two apply to every window.
func linesOf(limits []limit) map[string]any {
	least := slices.MinFunc(limits, func(a, b limit) int { return cmp.Compare(a.percent, b.percent) }).percent
	now, windows := least, map[string]any{}
	for _, l := range limits {
		if l.window == avg5m {
			now = l.percent
			continue
		}
		windows[l.window] = map[string]any{"reject": policy.Number(l.percent), "evict": policy.Number(l.percent)}
	}
	reject := min(now, 100-minGapPercent)
	leave := min(least, reject)
	low := leave - coolPercent
	if low < 0 {
		low = leave / 2
	}
	levels := map[string]any{
		"low": policy.Number(low), "reject": policy.Number(reject), "evict": policy.Number(min(reject+gapPercent, 100)), "leave": policy.Number(leave),
	}
	if len(windows) > 0 {
		levels["windows"] = windows
	}
	return levels
}

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/sim"
)

// enough is the minimum hot time that the best variant must remove, as a share of what
// the most effective variant removes. The best variant is the one with the fewest
// evictions among those that reach it.
const enough = 0.8

// Rule describes the criteria of Conclude.
const Rule = "The best variant is the one with the fewest evictions among those that take away at least four fifths of the hot " +
	"time that any of them takes away. none and oracle do not compete."

// Conclusion names the best variant and its cost.
type Conclusion struct {
	// Best is a variant's name.
	Best      string   `json:"best"`
	Sentences []string `json:"sentences"`
}

// Conclude compares the variants. If there are none, the conclusion is empty.
func Conclude(results []sim.Result) Conclusion {
	base, bound := find(results, Baseline), find(results, Bound)
	rivals := competing(results)
	if len(rivals) == 0 {
		return alone(base, bound)
	}
	from := reference(base, rivals)
	best := choose(rivals, from)
	if base != nil && best.HotPercent >= base.HotPercent && base.HotPercent > 0 {
		return Conclusion{Best: Baseline, Sentences: []string{fmt.Sprintf(
			"No variant leaves fewer nodes hot than kube-scheduler alone, which leaves them hot for %s%% of their time; the nearest is %s with %s%%.",
			share(base.HotPercent), layout.Printable(best.Variant), share(best.HotPercent),
		)}}
	}
	v := Conclusion{Best: best.Variant, Sentences: []string{cost(best, base)}}
	for _, rival := range notable(rivals, best) {
		v.Sentences = append(v.Sentences, against(rival, best))
	}
	if base != nil {
		v.Sentences = append(v.Sentences, gains(best, base))
	}
	if bound != nil {
		v.Sentences = append(v.Sentences, fmt.Sprintf("The oracle, which knows the coming hour and moves as it likes, reaches %s%%.", share(bound.HotPercent)))
	}
	return v
}

// alone returns the conclusion if no variant competes.
func alone(base, bound *sim.Result) (v Conclusion) {
	if base != nil {
		v.Best = Baseline
		v.Sentences = append(v.Sentences, fmt.Sprintf("With kube-scheduler alone nodes are hot for %s%% of their time.", share(base.HotPercent)))
	}
	if bound != nil {
		v.Sentences = append(v.Sentences, fmt.Sprintf("The oracle, which knows the coming hour and moves as it likes, reaches %s%%.", share(bound.HotPercent)))
	}
	return v
}

func competing(results []sim.Result) (rivals []*sim.Result) {
	for i := range results {
		if name := results[i].Variant; name != Baseline && name != Bound {
			rivals = append(rivals, &results[i])
		}
	}
	return rivals
}

// reference returns the hot time that can be removed.
func reference(base *sim.Result, rivals []*sim.Result) float64 {
	if base != nil {
		return base.HotPercent
	}
	return slices.MaxFunc(rivals, byHeat).HotPercent
}

func choose(rivals []*sim.Result, from float64) *sim.Result {
	least := slices.MinFunc(rivals, byHeat).HotPercent
	most := max(least, from-enough*(from-least))
	return slices.MinFunc(without(rivals, func(r *sim.Result) bool { return r.HotPercent > most }), func(a, b *sim.Result) int {
		return cmp.Or(byRate(a, b), byHeat(a, b))
	})
}

func byHeat(a, b *sim.Result) int { return cmp.Compare(a.HotPercent, b.HotPercent) }

func byRate(a, b *sim.Result) int {
	return cmp.Compare(a.EvictionsPerPodAndDay, b.EvictionsPerPodAndDay)
}

func without(rivals []*sim.Result, drop func(*sim.Result) bool) []*sim.Result {
	return slices.DeleteFunc(slices.Clone(rivals), drop)
}

// notable returns, of the other variants, the one with the least hot time and, if that is
// a different one, the one with the most evictions.
func notable(rivals []*sim.Result, best *sim.Result) []*sim.Result {
	others := without(rivals, func(r *sim.Result) bool { return r == best })
	if len(others) == 0 {
		return nil
	}
	coolest, busiest := slices.MinFunc(others, byHeat), slices.MaxFunc(others, byRate)
	if busiest != coolest && byRate(busiest, best) > 0 {
		return []*sim.Result{coolest, busiest}
	}
	return []*sim.Result{coolest}
}

func cost(best, base *sim.Result) string {
	instead := ""
	if base != nil {
		instead = fmt.Sprintf(" (%s%% with kube-scheduler alone)", share(base.HotPercent))
	}
	return fmt.Sprintf("Best: %s. Nodes are hot %s%% of the time%s, with %s.", layout.Printable(best.Variant), share(best.HotPercent), instead, evictions(best))
}

func evictions(r *sim.Result) string {
	if r.Evictions == 0 {
		return "no eviction at all"
	}
	return rate(r.EvictionsPerPodAndDay) + " evictions per pod per day"
}

func against(rival, best *sim.Result) string {
	times := ""
	if best.EvictionsPerPodAndDay > 0 {
		if more := rival.EvictionsPerPodAndDay / best.EvictionsPerPodAndDay; more >= 2 {
			times = fmt.Sprintf(", %.0f times as many", more)
		}
	}
	return fmt.Sprintf("With %s it is %s%%, for %s%s.", layout.Printable(rival.Variant), share(rival.HotPercent), evictions(rival), times)
}

func gains(best, base *sim.Result) string {
	text := fmt.Sprintf("Nodes differ by %s points of CPU instead of %s.", points(best.CPUDeviation), points(base.CPUDeviation))
	if worth := 0.01; max(best.UnservedPercent, base.UnservedPercent) >= worth {
		text += fmt.Sprintf(" The CPU demand that its node cannot serve is %s%% instead of %s%%.", share(best.UnservedPercent), share(base.UnservedPercent))
	}
	const noise = 1.02
	if best.Memory && best.MemoryDeviation > base.MemoryDeviation*noise {
		text += fmt.Sprintf(" Memory is spread worse than before: by %s points instead of %s.", points(best.MemoryDeviation), points(base.MemoryDeviation))
	}
	return text
}

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// landing is a pod on a destination, with its undo.
type landing struct {
	pod  *strategies.Pod
	to   *destination
	undo func()
	from cluster.NodeIndex // the pod's node, once the landing is in the plan
}

// land puts every pod on a destination, the largest first. If one finds no
// place, it puts none and returns that pod. If the preferred order of
// destinations leaves a pod without a place, the other order is tried.
func (p *destinations) land(pods []*strategies.Pod) (landed []landing, stuck *strategies.Pod) {
	if landed, stuck = p.landBy(pods, p.first); stuck == nil {
		return landed, nil
	}
	if landed, stuckAgain := p.landBy(pods, !p.first); stuckAgain == nil {
		return landed, nil
	}
	return nil, stuck
}

func (p *destinations) landBy(pods []*strategies.Pod, by order) (landed []landing, stuck *strategies.Pod) {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b *strategies.Pod) int {
		return cmp.Or(-cmp.Compare(p.size(a), p.size(b)), compareKey(a, b))
	})
	for _, pod := range pods {
		one, ok := p.landOne(pod, by)
		if !ok {
			p.takeBack(landed)
			return nil, pod
		}
		landed = append(landed, one)
	}
	return landed, nil
}

// takes reports whether any destination would take the pod now.
func (p *destinations) takes(pod *strategies.Pod) bool {
	for to := range p.withRoom(pod.Usage, coolestFirst) {
		if ok, _ := p.placement.Fits(pod.Pod, to.name); ok {
			return true
		}
	}
	return false
}

func (p *destinations) landOne(pod *strategies.Pod, by order) (landing, bool) {
	for to := range p.withRoom(pod.Usage, by) {
		if ok, _ := p.placement.Fits(pod.Pod, to.name); !ok {
			continue
		}
		undo, err := p.placement.Move(pod.Pod, to.name)
		if err != nil {
			continue
		}
		p.shift(to, pod.Usage)
		return landing{pod: pod, to: to, undo: undo}, true
	}
	return landing{}, false
}

// takeBack undoes landings, newest first.
func (p *destinations) takeBack(landed []landing) {
	for _, l := range slices.Backward(landed) {
		l.undo()
		p.shift(l.to, cluster.Amounts{}.Minus(l.pod.Usage))
	}
}

// refusals sums up why no destination takes a pod, for a reader.
func (p *destinations) refusals(pod *strategies.Pod) string {
	if len(p.cool) == 0 {
		return "no node is cool"
	}
	counts, full := map[string]int{}, len(p.cool)
	for d := range p.withRoom(pod.Usage, coolestFirst) {
		full--
		if ok, why := p.placement.Fits(pod.Pod, d.name); !ok {
			counts[why]++
		}
	}
	if full > 0 {
		counts["its predicted usage would exceed the reject line"] = full
	}
	parts := make([]string, 0, len(counts))
	for why, n := range counts {
		parts = append(parts, fmt.Sprintf("%d: %s", n, why))
	}
	slices.Sort(parts)
	return fmt.Sprintf("of %d cool nodes, %s", len(p.cool), strings.Join(parts, "; "))
}

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
)

// destination is a cool node with what the plan has landed on it so far.
type destination struct {
	name        string
	allocatable cluster.Amounts
	predicted   cluster.Amounts
}

// fill returns how much of its ceiling the destination would use with an additional pod, 1 being all of it.
func (d *destination) fill(lines *Lines, pod cluster.Amounts) float64 {
	percents := d.predicted.Plus(pod).PercentOf(d.allocatable)
	highest := 0.0
	for r := range percents {
		highest = max(highest, percents[r]/lines.Reject[r])
	}
	return highest
}

// ports are the destinations of a plan in the order of their fill, coolest first.
type ports struct {
	lines     *Lines
	placement Placement
	cool      []*destination
}

func newPorts(in *Input) *ports {
	p := &ports{lines: &in.Lines, placement: in.Placement}
	for i := range in.Nodes {
		if n := &in.Nodes[i]; n.State == Cool && n.Closed == "" {
			p.cool = append(p.cool, &destination{n.Name, n.Allocatable, n.Predicted})
		}
	}
	slices.SortStableFunc(p.cool, p.compare)
	return p
}

func (p *ports) compare(a, b *destination) int {
	none := cluster.Amounts{}
	return cmp.Or(cmp.Compare(a.fill(p.lines, none), b.fill(p.lines, none)), cmp.Compare(a.name, b.name))
}

// order says in which order destinations are tried.
type order bool

const (
	coolestFirst  order = true
	tightestFirst order = false
)

// landing is a pod on a destination, with the way back.
type landing struct {
	pod  *Pod
	to   *destination
	undo func()
}

// land puts every pod on a destination, the largest first, or none: then it returns the first pod that found no place.
func (p *ports) land(pods []*Pod, by order) (landed []landing, stuck *Pod) {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b *Pod) int {
		return cmp.Or(-cmp.Compare(p.size(a), p.size(b)), strings.Compare(a.Key(), b.Key()))
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

// size orders pods across resources by the share of the first destination that they would take.
func (p *ports) size(pod *Pod) float64 {
	if len(p.cool) == 0 {
		return 0
	}
	return (&destination{allocatable: p.cool[0].allocatable}).fill(p.lines, pod.Usage)
}

// takes says whether any destination would take the pod now.
func (p *ports) takes(pod *Pod) bool {
	return slices.ContainsFunc(p.cool, func(to *destination) bool { return p.accepts(to, pod) })
}

func (p *ports) accepts(to *destination, pod *Pod) bool {
	if to.fill(p.lines, pod.Usage) > 1 {
		return false
	}
	ok, _ := p.placement.Fits(pod.Pod, to.name)
	return ok
}

func (p *ports) landOne(pod *Pod, by order) (landing, bool) {
	for i := range p.cool {
		if by == tightestFirst {
			i = len(p.cool) - 1 - i
		}
		to := p.cool[i]
		if !p.accepts(to, pod) {
			continue
		}
		undo, err := p.placement.Move(pod.Pod, to.name)
		if err != nil {
			continue
		}
		p.shift(to, pod.Usage)
		return landing{pod, to, undo}, true
	}
	return landing{}, false
}

// takeBack undoes landings, newest first.
func (p *ports) takeBack(landed []landing) {
	for _, l := range slices.Backward(landed) {
		l.undo()
		p.shift(l.to, cluster.Amounts{}.Minus(l.pod.Usage))
	}
}

// shift changes what is on a destination and brings it to its place in the order.
func (p *ports) shift(d *destination, by cluster.Amounts) {
	at, _ := slices.BinarySearchFunc(p.cool, d, p.compare)
	d.predicted = d.predicted.Plus(by)
	p.cool = slices.Delete(p.cool, at, at+1)
	at, _ = slices.BinarySearchFunc(p.cool, d, p.compare)
	p.cool = slices.Insert(p.cool, at, d)
}

// refusals sums up, for a person, why no destination takes a pod.
func (p *ports) refusals(pod *Pod) string {
	if len(p.cool) == 0 {
		return "no node is cool"
	}
	counts := map[string]int{}
	for _, d := range p.cool {
		why := "its predicted usage would exceed the reject line"
		if d.fill(p.lines, pod.Usage) <= 1 {
			if _, refused := p.placement.Fits(pod.Pod, d.name); refused != "" {
				why = refused
			}
		}
		counts[why]++
	}
	parts := make([]string, 0, len(counts))
	for why, n := range counts {
		parts = append(parts, fmt.Sprintf("%d: %s", n, why))
	}
	slices.Sort(parts)
	return fmt.Sprintf("of %d cool nodes, %s", len(p.cool), strings.Join(parts, "; "))
}

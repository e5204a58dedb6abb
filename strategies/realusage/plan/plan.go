package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
)

// New makes the plan: hot nodes in the order of how far they are above the line, each cooled with the fewest pods of the
// lowest sufficient priorities that have a landing, or left alone with the reason: relief that leaves a node hot costs
// evictions and room that a node which can be cooled needs.
func New(in Input) Plan {
	p := &planner{in: &in, ports: newPorts(&in), before: map[string]cluster.Amounts{}, after: map[string]cluster.Amounts{}}
	p.start()
	slices.SortStableFunc(p.hot, func(a, b *Node) int {
		return cmp.Or(-cmp.Compare(p.heat(a), p.heat(b)), strings.Compare(a.Name, b.Name))
	})
	p.notes = make(map[string]Reason, len(p.hot))
	for _, n := range p.hot {
		p.cool(n)
	}
	return p.plan()
}

// start notes how the nodes are before the first move.
func (p *planner) start() {
	for i := range p.in.Nodes {
		n := &p.in.Nodes[i]
		used := n.Predicted
		if n.State == Hot {
			used = n.Current
			p.hot = append(p.hot, n)
		}
		p.before[n.Name], p.after[n.Name] = used, used
	}
}

type planner struct {
	in            *Input
	ports         *ports
	hot           []*Node
	notes         map[string]Reason
	moves         []Move
	declined      []Declined
	before, after map[string]cluster.Amounts
}

// heat is how far above its evict line a node is, as a factor, by its hottest resource.
func (p *planner) heat(n *Node) float64 {
	percents := n.Current.PercentOf(n.Allocatable)
	highest := 0.0
	for r := range percents {
		highest = max(highest, percents[r]/p.in.Lines.Evict[r])
	}
	return highest
}

// need is what has to leave a node: the amounts above its evict line, zero or less where it is under.
func (p *planner) need(n *Node) cluster.Amounts {
	need := n.Current
	for r := range need {
		if line := p.in.Lines.Evict[r] / 100 * float64(n.Allocatable[r]); line < float64(need[r]) {
			need[r] -= int64(line)
		} else {
			need[r] = 0
		}
	}
	return need
}

// cool plans the moves of one hot node.
func (p *planner) cool(n *Node) {
	need := p.need(n)
	if !positive(need) {
		return // held hot by its leave line alone: state, no cause for a move
	}
	movable := p.movable(n)
	if !covers(sum(movable), need) {
		p.leave(n, HotThroughImmovable, need)
		return
	}
	landable, stuck := p.landable(movable)
	if !covers(sum(landable), need) {
		p.declineStuck(n, stuck)
		p.leave(n, NoLanding, need)
		return
	}
	for _, priority := range priorities(landable) {
		band := upTo(landable, priority)
		if !covers(sum(band), need) {
			continue
		}
		if landed := p.fewest(band, need); landed != nil {
			p.commit(n, landed)
			return
		}
	}
	p.declineCrowded(n, landable)
}

// movable returns the pods that may be moved and declines those whose refusal matters to a person.
func (p *planner) movable(n *Node) []*Pod {
	var movable []*Pod
	for i := range n.Pods {
		pod := &n.Pods[i]
		if pod.Refused != "" {
			p.declined = append(p.declined, Declined{Pod: *pod, Node: n.Name, Reason: pod.Refused})
			continue
		}
		movable = append(movable, pod)
	}
	slices.SortFunc(movable, func(a, b *Pod) int { return strings.Compare(a.Key(), b.Key()) })
	return movable
}

// landable separates the pods that have a landing, were they the only move, from those that have none.
func (p *planner) landable(pods []*Pod) (landable, stuck []*Pod) {
	for _, pod := range pods {
		if p.ports.takes(pod) {
			landable = append(landable, pod)
		} else {
			stuck = append(stuck, pod)
		}
	}
	return landable, stuck
}

// fewest finds the smallest set of pods that covers the need and lands. A pod that finds no place beside the others is
// left out and the search repeated.
func (p *planner) fewest(band []*Pod, need cluster.Amounts) []landing {
	for covers(sum(band), need) {
		chosen := smallest(band, need)
		landed, stuck := p.ports.land(chosen, coolestFirst)
		if stuck == nil {
			return landed
		}
		if landed, stuckAgain := p.ports.land(chosen, tightestFirst); stuckAgain == nil {
			return landed
		}
		band = without(band, stuck)
	}
	return nil
}

func (p *planner) budget() int {
	budget := math.MaxInt
	if p.in.MaxMoves > 0 {
		budget = max(p.in.MaxMoves-len(p.moves), 0)
	}
	if p.in.MaxPerNode > 0 {
		budget = min(budget, p.in.MaxPerNode)
	}
	return budget
}

// leave notes why a node is left alone and declines the pods that might have been moved.
func (p *planner) leave(n *Node, why Reason, need cluster.Amounts) {
	p.notes[n.Name] = why
	for i := range n.Pods {
		if pod := &n.Pods[i]; pod.Refused == "" && relief(pod, need) > 0 && !p.isDeclined(pod) {
			p.declined = append(p.declined, Declined{
				Pod: *pod, Node: n.Name, Reason: HotThroughImmovable,
				Detail: "the node would stay above its evict line without every pod that can be moved",
			})
		}
	}
}

func (p *planner) declineStuck(n *Node, pods []*Pod) {
	for _, pod := range pods {
		p.declined = append(p.declined, Declined{Pod: *pod, Node: n.Name, Reason: NoLanding, Detail: p.ports.refusals(pod)})
	}
}

// declineCrowded notes that the pods of a node have landings each, but not enough of them together.
func (p *planner) declineCrowded(n *Node, pods []*Pod) {
	p.notes[n.Name] = NoLanding
	for _, pod := range pods {
		p.declined = append(p.declined, Declined{
			Pod: *pod, Node: n.Name, Reason: NoLanding,
			Detail: "the cool nodes have no room for as many pods as cooling the node takes",
		})
	}
}

func (p *planner) isDeclined(pod *Pod) bool {
	return slices.ContainsFunc(p.declined, func(d Declined) bool { return d.UID == pod.UID })
}

// commit enters moves in the plan, as many as the limits leave; what is cut off waits for a later cycle.
func (p *planner) commit(n *Node, landed []landing) {
	if budget := p.budget(); len(landed) > budget {
		p.ports.takeBack(landed[budget:])
		landed = landed[:budget]
		p.notes[n.Name] = MoveLimit
	}
	for _, l := range landed {
		move := Move{Pod: *l.pod, From: n.Name, To: l.to.name, Reason: HotNode}
		move.FromBefore, move.FromAfter = p.change(n.Name, n.Allocatable, cluster.Amounts{}.Minus(l.pod.Usage))
		move.ToBefore, move.ToAfter = p.change(l.to.name, l.to.allocatable, l.pod.Usage)
		p.moves = append(p.moves, move)
	}
}

func (p *planner) change(node string, allocatable, by cluster.Amounts) (before, after cluster.Percents) {
	used := p.after[node]
	p.after[node] = used.Plus(by)
	return used.PercentOf(allocatable), p.after[node].PercentOf(allocatable)
}

func (p *planner) plan() Plan {
	plan := Plan{Moves: p.moves, Declined: p.declined, Nodes: make([]NodeReport, len(p.in.Nodes))}
	for i := range p.in.Nodes {
		n := &p.in.Nodes[i]
		plan.Nodes[i] = NodeReport{
			Name: n.Name, State: n.State, Reason: p.notes[n.Name],
			Before: p.before[n.Name].PercentOf(n.Allocatable),
			After:  p.after[n.Name].PercentOf(n.Allocatable),
		}
	}
	return plan
}

// Idle is the plan that does nothing, with the nodes as they are.
func Idle(in Input) Plan {
	in.MaxMoves, in.Placement = 0, nil
	for i := range in.Nodes {
		in.Nodes[i].Pods = nil
	}
	p := &planner{in: &in, before: map[string]cluster.Amounts{}, after: map[string]cluster.Amounts{}}
	p.start()
	return p.plan()
}

package preferred

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// mostTried bounds how many nodes are tried for a pod by kube-scheduler's filters.
const mostTried = 20

// planner makes one plan.
type planner struct {
	args  *Args
	round *plugin.Round
	nodes map[string]*node
	// open are the nodes that take pods, coolest first.
	open []*node
	plan strategies.Plan
	// ratings are the preferences of pods by who they are like; nil for none.
	ratings map[kin]*nodeaffinity.PreferredSchedulingTerms
	// ofOwner and ofNamespace count planned moves.
	ofOwner     map[cluster.Owner]int
	ofNamespace map[string]int
}

// kin are pods of one template, which have the same preferences.
type kin struct{ namespace, owner, template string }

func kinOf(pod *cluster.Pod) kin {
	return kin{pod.Namespace, pod.Owner.UID, cmp.Or(pod.TemplateHash, pod.UID)}
}

// node is a node of the plan.
type node struct {
	basis  strategies.NodeBasis
	object *v1.Node
	at     cluster.NodeIndex
	domain string
	// before and now are its predicted usage without and with the plan's moves.
	before, now, allocatable cluster.Amounts
}

func (n *node) percent(of cluster.Amounts) cluster.Percents { return of.PercentOf(n.allocatable) }

// candidate is a pod that prefers other nodes to its own.
type candidate struct {
	pod strategies.Pod
	// to are the nodes that it prefers, best first; gains is what the best one gains.
	to    []*node
	gains int64
}

// observe collects the nodes, as far as their usage is known.
func (p *planner) observe() {
	o := &p.round.Observed
	for _, object := range p.round.Nodes {
		i := o.View.Snapshot.Index(object.Name)
		if i < 0 {
			continue
		}
		info := &o.View.Snapshot.Nodes[i].Node
		predicted, known := o.Board.Predicted(cluster.NodeIndex(i))
		n := &node{
			basis:  strategies.NodeBasis{Name: info.Name, State: o.States[info.Name].State, Closed: info.Closed()},
			object: object, at: cluster.NodeIndex(i), before: predicted, now: predicted, allocatable: info.Allocatable,
		}
		n.domain, _ = p.round.Options.Within(info.Site())
		p.nodes[info.Name] = n
		if known && n.basis.State == thresholds.Cool && n.basis.Closed == "" && !o.Begun[info.Name] {
			p.open = append(p.open, n)
		}
	}
	slices.SortStableFunc(p.open, func(a, b *node) int { return cmp.Compare(a.fullest(), b.fullest()) })
}

// fullest returns the larger share of CPU and memory, in percent.
func (n *node) fullest() float64 {
	of := n.percent(n.now)
	return slices.Max(of[:])
}

// prefers returns a pod's preferred node affinity; nil if it has none.
func (p *planner) prefers(object *v1.Pod, like kin) *nodeaffinity.PreferredSchedulingTerms {
	rating, known := p.ratings[like]
	if known {
		return rating
	}
	if affinity := object.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		terms := affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		if parsed, err := nodeaffinity.NewPreferredSchedulingTerms(terms); err == nil && len(terms) > 0 { // kube-scheduler refuses others
			rating = parsed
		}
	}
	p.ratings[like] = rating
	return rating
}

// better returns the open nodes that a pod on a node prefers by enough, best first.
func (p *planner) better(rating *nodeaffinity.PreferredSchedulingTerms, from *node) (to []*node, gains int64) {
	if rating == nil {
		return nil, 0
	}
	own, scores := rating.Score(from.object), map[*node]int64{}
	for _, n := range p.open {
		if score := rating.Score(n.object); n != from && n.domain == from.domain && score-own >= p.args.MinWeightGained {
			scores[n], to, gains = score, append(to, n), max(gains, score-own)
		}
	}
	slices.SortStableFunc(to, func(a, b *node) int { return -cmp.Compare(scores[a], scores[b]) })
	return to, gains
}

// candidates returns the pods that prefer other nodes and may be moved, those first
// that gain most. It declines the others.
func (p *planner) candidates(ctx context.Context, pods *plugin.Pods) (all []candidate, err error) {
	o := &p.round.Observed
	for _, object := range p.round.Nodes {
		from := p.nodes[object.Name]
		if from == nil || from.basis.State == thresholds.Unknown || len(p.open) == 0 {
			continue
		}
		info := o.View.Snapshot.Nodes[from.at]
		found := map[kin]candidate{}
		of, _, err := pods.Of(ctx, info, &o.View.Nodes[from.at], func(record *cluster.Pod, object *v1.Pod) bool {
			like := kinOf(record)
			if _, asked := found[like]; !asked {
				c := candidate{}
				c.to, c.gains = p.better(p.prefers(object, like), from)
				found[like] = c
			}
			return len(found[like].to) > 0
		})
		if err != nil {
			return nil, err
		}
		for _, pod := range of {
			if pod.Refused != "" {
				p.decline(&pod, pod.Refused, "")
				continue
			}
			c := found[kinOf(pod.Pod)]
			c.pod = pod
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(-cmp.Compare(a.gains, b.gains), cmp.Compare(a.pod.Disruption.Cost(), b.pod.Disruption.Cost()), strings.Compare(a.pod.Key(), b.pod.Key()))
	})
	return all, nil
}

// place plans the move of a pod to the node that it prefers most of those that take
// it, or declines it.
func (p *planner) place(c candidate, session plugin.Placement) error {
	pod, from := &c.pod, p.nodes[c.pod.Node]
	if most := p.most(); most >= 0 && len(p.plan.Moves) >= most {
		p.decline(pod, reasons.MoveLimit, "")
		return nil
	}
	if beside := p.round.Observed.Beside; beside != nil {
		if reason, detail := beside(pod.Pod, p.ofOwner[pod.Owner], p.ofNamespace[pod.Namespace]); reason != "" {
			p.decline(pod, reason, detail)
			return nil
		}
	}
	why := ""
	for i, to := range c.to {
		if i == mostTried {
			break
		}
		if !p.takes(to, pod) {
			why = cmp.Or(why, to.basis.Name+" would come above its reject line")
			continue
		}
		if ok, refused := session.Fits(pod.Pod, to.basis.Name); !ok {
			why = cmp.Or(why, to.basis.Name+": "+refused)
			continue
		}
		if _, err := session.Move(pod.Pod, to.basis.Name); err != nil {
			return err
		}
		p.move(pod, from, to)
		return nil
	}
	p.decline(pod, reasons.NoLanding, "the nodes that it prefers do not take it: "+why)
	return nil
}

// most is how many moves may be planned; below 0 for no bound.
func (p *planner) most() int {
	most := -1
	for _, bound := range []int{p.round.Options.MaxMoves, p.round.Observed.MaxMoves} {
		if bound > 0 && (most < 0 || bound < most) {
			most = bound
		}
	}
	return most
}

// takes reports whether a node stays below its reject line with a pod at its peak.
func (p *planner) takes(to *node, pod *strategies.Pod) bool {
	arriving := to.now.Minus(to.before).Plus(pod.Usage)
	arriving[cluster.CPU] += max(0, pod.PeakMilliCores-pod.Usage[cluster.CPU])
	return p.round.Observed.Board.Lands(to.at, arriving)
}

func (p *planner) move(pod *strategies.Pod, from, to *node) {
	rating := p.ratings[kinOf(pod.Pod)]
	m := strategies.Move{
		Pod: *pod, From: from.basis.Name, To: to.basis.Name, Reason: reasons.PreferredNode,
		Why: fmt.Sprintf("Node %s matches preferred node affinity of weight %d, node %s of weight %d.",
			to.basis.Name, rating.Score(to.object), from.basis.Name, rating.Score(from.object)),
		FromBefore: from.percent(from.now), ToBefore: to.percent(to.now),
	}
	from.now, to.now = from.now.Minus(pod.Usage).AtLeastZero(), to.now.Plus(pod.Usage)
	m.FromAfter, m.ToAfter = from.percent(from.now), to.percent(to.now)
	p.plan.Moves = append(p.plan.Moves, m)
	p.ofOwner[pod.Owner]++
	p.ofNamespace[pod.Namespace]++
}

func (p *planner) decline(pod *strategies.Pod, why reasons.Reason, detail string) {
	p.plan.Declined = append(p.plan.Declined, strategies.Declined{Pod: *pod, Node: pod.Node, Reason: why, Detail: detail})
}

// landings judges every other node as a destination of the pod asked about.
func (p *planner) landings(pod *strategies.Pod, session plugin.Placement) (all []strategies.Landing) {
	from := p.nodes[pod.Node]
	if from == nil {
		return nil
	}
	rating := p.prefers(p.round.AskedObject(), kinOf(pod.Pod))
	better, _ := p.better(rating, from)
	for _, object := range p.round.Nodes {
		n := p.nodes[object.Name]
		if n == nil || n == from {
			continue
		}
		l := strategies.Landing{Node: n.basis.Name, State: n.basis.State, Before: n.percent(n.before), After: n.percent(n.before.Plus(pod.Usage))}
		switch {
		case n.basis.Closed != "":
			l.Refused, l.Detail = reasons.NodeClosed, n.basis.Closed
		case n.basis.State != thresholds.Cool:
			l.Refused, l.Detail = reasons.NodeNotCool, "it is "+string(n.basis.State)
		case n.domain != from.domain:
			l.Refused, l.Detail = reasons.OtherDomain, fmt.Sprintf("it is of %s, the pod's node of %s", n.domain, from.domain)
		case !slices.Contains(better, n):
			l.Refused = reasons.NotPreferred
		case !p.takes(n, pod):
			l.Refused = reasons.AboveRejectLine
		default:
			if ok, why := session.Fits(pod.Pod, n.basis.Name); !ok {
				l.Refused, l.Detail = reasons.FilterRefuses, why
			}
		}
		all = append(all, l)
	}
	return all
}

// Node implements strategies.Basis.
func (p *planner) Node(name string) *strategies.NodeBasis {
	if n := p.nodes[name]; n != nil {
		return &n.basis
	}
	return nil
}

// Stays implements strategies.Basis: a pod stays unless a node that takes pods is
// preferred to its own.
func (p *planner) Stays(pod *cluster.Pod) (reasons.Reason, string) {
	from := p.nodes[pod.Node]
	if from == nil {
		return "", ""
	}
	rating := p.ratings[kinOf(pod)]
	if rating == nil {
		return reasons.NotPreferred, "it has no preferred node affinity"
	}
	if better, _ := p.better(rating, from); len(better) > 0 {
		return "", ""
	}
	return reasons.NotPreferred, fmt.Sprintf("no cool node that takes pods is preferred to its node %s", pod.Node)
}

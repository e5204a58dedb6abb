package hosted

import (
	"cmp"
	"iter"
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
)

// find finds the node on which kube-scheduler's filters and scores would place the
// replacement of a pod. If several nodes share the highest score, find takes the first
// one in order, because steering can place the replacement on any of them.
func (p *planner) find(w *wish) {
	own, why := w.pod.Node, ""
	refuse := func(name, by string) {
		if name != own {
			why = cmp.Or(why, name+": "+by)
		}
	}
	to := ""
	names, scores := p.score(w)
	if scores == nil {
		for name := range p.order(w) {
			if ok, by := p.session.Fits(w.pod.Pod, name); !ok {
				refuse(name, by)
				continue
			}
			if name != own && !p.takes(name, w.pod.Usage) {
				refuse(name, aboveRejectLine)
				continue
			}
			to = name
			break
		}
	}
	best := int64(placement.Refused)
	for i, score := range scores {
		name := names[i]
		switch {
		case score < 0:
			if why == "" && name != own {
				_, by := p.session.Fits(w.pod.Pod, name)
				refuse(name, by)
			}
		case score <= best:
		case name != own && !p.takes(name, w.pod.Usage):
			refuse(name, aboveRejectLine)
		default:
			best, to = score, name
		}
	}
	switch to {
	case "":
		w.decline(reasons.NoLanding, why)
	case own:
		w.decline(reasons.WouldComeBack, why)
	default:
		w.to = to
	}
}

const aboveRejectLine = "it would exceed its reject line"

// score scores nodes for the replacement of a pod. scores is nil if kube-scheduler has no
// preference among them. Like kube-scheduler, it scores only a sample of a large cluster:
// the first nodes in order, those that the pod prefers most, and the pod's own node. If
// too few of them accept the pod, it scores all nodes.
func (p *planner) score(w *wish) (names []string, scores []int64) {
	left, preferred, more := sampled(len(p.nodes)), p.preferred(w), fewestSampled
	names = make([]string, 0, left+1)
	for name := range p.order(w) {
		if left--; left < 0 {
			if len(preferred) == 0 || more == 0 {
				break
			}
			if !preferred[name] {
				continue
			}
			more--
		}
		names = append(names, name)
	}
	if own := w.pod.Node; p.position(own) >= 0 && (len(names) == 0 || names[len(names)-1] != own) { // the last one in order
		names = append(names, own)
	}
	scores = p.session.Scores(w.pod.Pod, names)
	if scores == nil || len(names) == len(p.nodes) {
		return names, scores
	}
	accept := 0
	for _, score := range scores {
		if score >= 0 {
			accept++
		}
	}
	if accept >= fewestSampled {
		return names, scores
	}
	names = slices.Collect(p.order(w))
	return names, p.session.Scores(w.pod.Pod, names)
}

// preferred returns the nodes that a pod's node affinity prefers. They are usually few,
// and the best candidates.
func (p *planner) preferred(w *wish) map[string]bool {
	affinity := w.ask.pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || sampled(len(p.nodes)) == len(p.nodes) {
		return nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil
	}
	preferred, most := map[string]bool{}, int64(0)
	for _, node := range p.round.Ready {
		switch score := terms.Score(node); {
		case score <= 0 || score < most:
		case score > most:
			preferred, most = map[string]bool{node.Name: true}, score
		default:
			preferred[node.Name] = true
		}
	}
	return preferred
}

// fewestSampled is the number of nodes up to which kube-scheduler scores every node.
const fewestSampled = 100

// sampled returns how many of the given number of nodes kube-scheduler scores by default
// (percentageOfNodesToScore): half in a small cluster, a twentieth in a large one.
func sampled(nodes int) int {
	percent := max(50-nodes/125, 5)
	return min(nodes, max(nodes*percent/100, fewestSampled))
}

// order yields the nodes from the best to the worst destination for a pod's replacement.
// Nodes other than its own come first, then nodes with fewer pods of its owner, as
// kube-scheduler spreads pods by default, then emptier nodes. For a plugin that fills
// nodes, fuller nodes come first, whatever else runs there.
func (p *planner) order(w *wish) iter.Seq[string] {
	own, siblings := w.pod.Node, p.siblings[w.of]
	if p.plugin.rule.fills {
		siblings = nil
	}
	return func(yield func(string) bool) {
		var crowded []int
		for _, n := range p.ranked {
			switch name := p.nodes[n]; {
			case name == own:
			case siblings[n] > 0:
				crowded = append(crowded, n)
			case !yield(name):
				return
			}
		}
		slices.SortStableFunc(crowded, func(a, b int) int { return cmp.Compare(siblings[a], siblings[b]) })
		for _, n := range crowded {
			if !yield(p.nodes[n]) {
				return
			}
		}
		if p.position(own) >= 0 {
			yield(own)
		}
	}
}

// position returns the position of a node in nodes; -1 if the plan is not for it.
func (p *planner) position(name string) int {
	if n, known := p.at[name]; known {
		return n
	}
	return -1
}

func (p *planner) rank() {
	for n, name := range p.nodes {
		p.filled, p.ranked = append(p.filled, p.session.Filled(name)), append(p.ranked, n)
	}
	slices.SortFunc(p.ranked, p.compare)
}

// rerank updates a node's rank after a move.
func (p *planner) rerank(name string) {
	n := p.position(name)
	if n < 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(p.ranked, n, p.compare)
	p.ranked = slices.Delete(p.ranked, i, i+1)
	p.filled[n] = p.session.Filled(name)
	i, _ = slices.BinarySearchFunc(p.ranked, n, p.compare)
	p.ranked = slices.Insert(p.ranked, i, n)
}

func (p *planner) compare(a, b int) int {
	by := cmp.Compare(p.filled[a], p.filled[b])
	if p.plugin.rule.fills {
		by = -by
	}
	return cmp.Or(by, cmp.Compare(p.nodes[a], p.nodes[b]))
}

// takes reports whether a node stays at or below its reject line with the planned moves
// and another pod. It also returns true if the node's usage is unknown.
func (p *planner) takes(name string, used cluster.Amounts) bool {
	view, board := p.round.Observed.View, p.round.Observed.Board
	if view == nil || board == nil {
		return true
	}
	i := view.Snapshot.Index(name)
	if i < 0 {
		return true
	}
	if view.Snapshot.Nodes[i].Node.Closed() != "" {
		return false
	}
	if _, known := board.Predicted(cluster.NodeIndex(i)); !known {
		return true
	}
	return board.Lands(cluster.NodeIndex(i), p.arriving[name].Plus(used))
}

package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// maxCounted is the maximum number of pods that are counted anew for each replacement.
// With more pods than that, single moves hardly change a score.
const maxCounted = 1000

// maxKeys is the maximum number of topologies by which nodes are compared
// before they are scored. It bounds the work, because any pod may have terms
// that match all others, each with its own key.
const maxKeys = 16

// Refused is the score of a node that filters refuse.
const Refused = -1

// Scores returns how much kube-scheduler would prefer each node for a replacement of the
// pod, using its preference plugins with their default weights: soft taints, preferred
// affinity and soft spread constraints. Scores range from 0 to 900, where higher is
// better, or are Refused. It returns nil if the pod has no preference among the nodes.
func (s *Session) Scores(pod *v1.Pod, nodes []string) []int64 {
	p := s.entry(pod)
	if s.closed || p == nil || p.moved {
		return nil
	}
	s.prepare(p)
	t := s.last.template
	if t.preferred == nil {
		t.preferred = s.filters.snapshot.preferencesOf(t, p.group)
	}
	if s.alike(p, t.preferred, nodes) {
		return nil
	}
	infos, at := make([]fwk.NodeInfo, 0, len(nodes)), make([]int, 0, len(nodes))
	scores := make([]int64, len(nodes))
	for i, name := range nodes {
		scores[i] = Refused
		if s.Fits(pod, name).OK {
			infos, at = append(infos, s.infoIn(gone, s.filters.snapshot.nodes[name])), append(at, i)
		}
	}
	if len(infos) == 0 {
		return scores
	}
	found, ok := s.filters.score(s.preScore(t, p, infos), t.replacement, infos)
	if !ok {
		return nil // without preferences, any node that fits is equally good
	}
	for k := range found {
		scores[at[k]] = found[k]
	}
	return scores
}

// alike reports whether kube-scheduler is certain to have no preference among the nodes,
// usually because they are in one zone or none of them has a pod that counts. This check
// is much faster than scoring.
func (s *Session) alike(p *podEntry, by *preferences, names []string) bool {
	snap := s.filters.snapshot
	if !by.nodes && len(by.keys) == 0 && snap.softTainted == 0 {
		return true
	}
	nodes := make([]*v1.Node, 0, len(names))
	for _, name := range names {
		if n := snap.nodes[name]; n != nil {
			nodes = append(nodes, n.node)
		}
	}
	if by.nodes || len(by.keys) > maxKeys || slices.ContainsFunc(nodes, softTainted) {
		return false
	}
	p.hidden = true
	defer func() { p.hidden = false }()
	for key, spreads := range by.keys {
		if by.apart(key, spreads, nodes) {
			return false
		}
	}
	return true
}

// apart reports whether the nodes are in several domains of a topology key and
// at least one of these domains contains a pod that counts. For the hostname
// key, each node is its own domain, whatever its label.
func (p *preferences) apart(key string, spreads bool, nodes []*v1.Node) bool {
	domains, outside := make(sets.Set[string], len(nodes)), 0
	for _, node := range nodes {
		domain, ok := node.Labels[key]
		if !ok {
			outside++
			continue
		}
		domains.Insert(domain)
	}
	switch several := len(domains) > 1 || len(domains) == 1 && (outside > 0 || key == v1.LabelHostname && len(nodes) > 1); {
	case !several:
		return false
	case spreads && outside > 0 || p.pods > maxCounted:
		return true
	}
	for _, g := range p.groups {
		for _, member := range g.members {
			if member.visible(gone) && domains.Has(member.node.node.Labels[key]) {
				return true
			}
		}
	}
	return false
}

// score does what RunScorePlugins does, but without goroutines, which cost more
// than scoring a few nodes.
func (f *Filters) score(cycle fwk.CycleState, pod *v1.Pod, infos []fwk.NodeInfo) (total []int64, ok bool) {
	total = make([]int64, len(infos))
	list := make(fwk.NodeScoreList, len(infos))
	for _, plugin := range f.scorers {
		if cycle.GetSkipScorePlugins().Has(plugin.Name()) {
			continue
		}
		for k, info := range infos {
			score, status := plugin.Score(f.ctx, cycle, pod, info)
			if !status.IsSuccess() {
				return nil, false
			}
			list[k] = fwk.NodeScore{Name: info.Node().Name, Score: score}
		}
		if extensions := plugin.ScoreExtensions(); extensions != nil {
			if status := extensions.NormalizeScore(f.ctx, cycle, pod, list); !status.IsSuccess() {
				return nil, false
			}
		}
		for k := range list {
			total[k] += plugin.weight * list[k].Score
		}
	}
	return total, true
}

// preScore runs PreScore without counting the pod that is replaced.
func (s *Session) preScore(t *template, p *podEntry, infos []fwk.NodeInfo) fwk.CycleState {
	f := s.filters
	if t.preferred.pods > maxCounted {
		if t.preferred.state == nil {
			t.preferred.state = f.preScore(t, f.snapshot.views)
		}
		return t.preferred.state
	}
	p.hidden = true
	defer func() { p.hidden = false }()
	return f.preScore(t, infos)
}

func (f *Filters) preScore(t *template, infos []fwk.NodeInfo) fwk.CycleState {
	f.snapshot.focusPreferred(t)
	cycle := framework.NewCycleState()
	f.scores.RunPreScorePlugins(f.ctx, cycle, t.replacement, infos) // an error surfaces again when scoring
	return cycle
}

// focusPreferred brings the pods that count for preferences into view.
func (s *snapshot) focusPreferred(t *template) {
	s.lens.blur()
	s.lens.buffer = s.lens.buffer[:0]
	for _, g := range t.preferred.groups {
		s.focusPods(g, gone)
	}
	if s.lens.nodes = s.lens.buffer; len(s.lens.nodes) == 0 {
		s.lens.nodes = s.views[:min(1, len(s.views))] // without any node, nothing is scored
	}
}

func (s *snapshot) preferencesOf(t *template, of *group) *preferences {
	p, seen := &preferences{keys: map[string]bool{}}, map[*group]struct{}{}
	collect := func(g *group) {
		if _, ok := seen[g]; !ok {
			seen[g] = struct{}{}
			p.groups, p.pods = append(p.groups, g), p.pods+len(g.members)
		}
	}
	spec := &t.replacement.Spec
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		if selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector); err == nil && c.WhenUnsatisfiable == v1.ScheduleAnyway {
			p.keys[c.TopologyKey] = true
			s.index.match(t.replacement.Namespace, selector, collect)
		}
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		p.nodes = true
	}
	for _, terms := range [][]fwk.WeightedAffinityTerm{of.terms.PreferredAffinityTerms, of.terms.PreferredAntiAffinityTerms} {
		for i := range terms {
			if of.unreadable {
				break // kube-scheduler then uses no term for scoring
			}
			p.counts(terms[i].TopologyKey)
			s.index.matchTerm(&terms[i].AffinityTerm, collect)
		}
	}
	s.index.soft.match(t.replacement.Namespace, t.replacement.Labels, func(soft groupTerm) {
		collect(soft.group)
		p.counts(soft.term.TopologyKey)
	})
	return p
}

// counts adds a topology in which pods count.
func (p *preferences) counts(key string) {
	if !p.keys[key] {
		p.keys[key] = false
	}
}

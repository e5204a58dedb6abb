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
	snap := s.filters.snapshot
	if snap.indifferent(t.preferred) {
		return nil
	}
	all := s.buffers.all[:0] // nil if unknown
	for _, name := range nodes {
		all = append(all, snap.nodes[name])
	}
	s.buffers.all = all
	if s.alike(p, t.preferred, all) {
		return nil
	}
	scores := make([]int64, len(nodes))
	found := s.buffers.candidates[:0]
	for i, n := range all {
		scores[i] = Refused
		if n != nil && s.fits(p, n).OK {
			found = append(found, candidate{node: n, at: i})
		}
	}
	s.buffers.candidates = found
	if len(found) == 0 {
		return scores
	}
	unlike, ok := s.score(t, p, found)
	if !ok {
		return nil // without preferences, any node that fits is equally good
	}
	for i := range found {
		scores[found[i].at] = unlike[found[i].twin]
	}
	return scores
}

// candidate is a node that accepts a pod: its position among all nodes that are
// scored, and that of the node that it scores like among those that may score
// differently.
type candidate struct {
	node     *nodeEntry
	at, twin int
}

// buffers are used again for the next pod, because scoring thousands of pods
// would allocate a lot.
type buffers struct {
	all        []*nodeEntry
	candidates []candidate
	unlike     []fwk.NodeInfo
	infos      []fwk.NodeInfo
}

// indifferent reports whether a pod with these preferences certainly prefers no
// node of the snapshot.
func (s *snapshot) indifferent(by *preferences) bool {
	return !by.nodes && len(by.keys) == 0 && s.softTainted == 0
}

// alike reports whether kube-scheduler certainly has no preference among the
// nodes, usually because they are in one zone or none of them has a pod that
// counts. This check is much faster than scoring.
func (s *Session) alike(p *podEntry, by *preferences, nodes []*nodeEntry) bool {
	if by.nodes || len(by.keys) > maxKeys {
		return false
	}
	if s.filters.snapshot.softTainted > 0 && slices.ContainsFunc(nodes, func(n *nodeEntry) bool { return n != nil && softTainted(n.node) }) {
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
func (p *preferences) apart(key string, spreads bool, nodes []*nodeEntry) bool {
	occupied, first := p.occupied(key), ""
	inside, outside, several, counts := 0, 0, false, p.pods > maxCounted
	for _, n := range slices.Backward(nodes) { // callers put nodes with such pods last
		if n == nil {
			continue
		}
		domain, ok := n.node.Labels[key]
		switch {
		case !ok:
			outside++
		case inside == 0:
			inside, first = 1, domain
		default:
			inside++
			several = several || domain != first
		}
		counts = counts || ok && occupied.Has(domain) || !ok && spreads
		several = several || inside > 0 && (outside > 0 || key == v1.LabelHostname && inside > 1)
		if several && counts {
			return true
		}
	}
	return false
}

// occupied returns the domains with pods that count, unless these are too many.
func (p *preferences) occupied(key string) sets.Set[string] {
	if p.pods > maxCounted {
		return nil
	}
	occupied := sets.Set[string]{}
	for _, g := range p.groups {
		for _, member := range g.members {
			if member.visible(gone) {
				occupied.Insert(member.node.node.Labels[key])
			}
		}
	}
	return occupied
}

// score scores those of the nodes that may score differently. Pods are counted
// without the replaced one, if they are not too many.
func (s *Session) score(t *template, p *podEntry, nodes []candidate) (scores []int64, ok bool) {
	f := s.filters
	if t.preferred.pods > maxCounted {
		if t.preferred.state == nil {
			f.snapshot.focusPreferred(t)
			t.preferred.state = f.preScore(t, f.snapshot.views)
		}
		return f.score(t.preferred.state, t.replacement, s.unlike(t.preferred, nodes))
	}
	p.hidden = true
	defer func() { p.hidden = false }()
	f.snapshot.focusPreferred(t)
	unlike, all := s.unlike(t.preferred, nodes), s.buffers.infos[:0]
	for i := range nodes {
		all = append(all, unlike[nodes[i].twin]) // its domains and the number of nodes are all that is read
	}
	s.buffers.infos = all
	return f.score(f.preScore(t, all), t.replacement, unlike)
}

// unlike returns one node of each kind: nodes in the same domains score alike,
// unless they have pods that count, which are in focus, or soft taints, or
// labels are preferred.
func (s *Session) unlike(by *preferences, nodes []candidate) []fwk.NodeInfo {
	snap, first, unlike := s.filters.snapshot, map[string]int{}, s.buffers.unlike[:0]
	_, byHost := by.keys[v1.LabelHostname]
	all := by.nodes || by.pods > maxCounted || len(by.keys) > maxKeys || byHost && !s.ownHosts()
	for i := range nodes {
		n := nodes[i].node
		if !all && n.view.pods.epoch != snap.lens.epoch && (snap.softTainted == 0 || !softTainted(n.node)) {
			if domains, inAll := by.domainsOf(n.node); inAll {
				if twin, known := first[domains]; known {
					nodes[i].twin = twin
					continue
				}
				first[domains] = len(unlike)
			}
		}
		nodes[i].twin, unlike = len(unlike), append(unlike, s.infoIn(gone, n))
	}
	s.buffers.unlike = unlike
	return unlike
}

// ownHosts reports whether each node has a hostname label of its own.
func (s *Session) ownHosts() bool {
	if s.hosts == nil {
		s.hosts = sets.Set[string]{}
		for _, n := range s.filters.snapshot.nodes {
			if host, ok := n.node.Labels[v1.LabelHostname]; ok {
				s.hosts.Insert(host)
			}
		}
	}
	return len(s.hosts) == len(s.filters.snapshot.nodes)
}

// domainsOf joins the node's domains, except that of its own name, if it is in a
// domain of each topology.
func (p *preferences) domainsOf(node *v1.Node) (joined string, inAll bool) {
	for i, key := range p.domains {
		domain, ok := node.Labels[key]
		if !ok {
			return "", false
		}
		if i > 0 {
			joined += "\x00" // no label value contains it
		}
		joined += domain
	}
	return joined, true
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

func (f *Filters) preScore(t *template, infos []fwk.NodeInfo) fwk.CycleState {
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
	for key := range p.keys {
		if key != v1.LabelHostname {
			p.domains = append(p.domains, key)
		}
	}
	return p
}

// counts adds a topology in which pods count.
func (p *preferences) counts(key string) {
	if !p.keys[key] {
		p.keys[key] = false
	}
}

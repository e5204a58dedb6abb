package placement

import (
	"hash/maphash"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	fwk "k8s.io/kube-scheduler/framework"
)

// podIndex finds the groups that a selector matches, and the groups whose
// required anti-affinity may match a pod, without visiting the others.
type podIndex struct {
	seed   maphash.Seed
	byHash map[uint64][]*group
	spaces map[string]*space
	// anti holds required anti-affinity terms, soft those that score a pod:
	// preferred ones and required affinity.
	anti, soft termIndex
}

// termIndex indexes affinity terms by a label that they require. other holds the terms
// that require none.
type termIndex struct {
	byLabel map[label][]groupTerm
	other   []groupTerm
}

type label struct{ key, value string }

type groupTerm struct {
	group *group
	term  *fwk.AffinityTerm
}

// space holds the groups of a namespace. byLabel is built for a label key when a selector
// first needs it.
type space struct {
	groups  []*group
	byLabel map[string]map[string][]*group
}

func newPodIndex() *podIndex {
	return &podIndex{
		seed:   maphash.MakeSeed(),
		byHash: make(map[uint64][]*group),
		spaces: make(map[string]*space),
		anti:   termIndex{byLabel: make(map[label][]groupTerm)},
		soft:   termIndex{byLabel: make(map[label][]groupTerm)},
	}
}

// groupOf returns the group of the pod, creating it for the first one.
func (x *podIndex) groupOf(pod *v1.Pod) *group {
	h := x.hash(pod)
	for _, g := range x.byHash[h] {
		if g.holds(pod) {
			return g
		}
	}
	g := newGroup(pod)
	x.insert(h, g)
	return g
}

// hash sums the hashes of the labels, because labels have no order.
func (x *podIndex) hash(pod *v1.Pod) uint64 {
	h := maphash.String(x.seed, pod.Namespace)
	for k, v := range pod.Labels {
		h += maphash.Comparable(x.seed, label{k, v})
	}
	return h
}

func (x *podIndex) insert(h uint64, g *group) {
	x.byHash[h] = append(x.byHash[h], g)
	s := x.spaces[g.namespace]
	if s == nil {
		s = &space{byLabel: make(map[string]map[string][]*group)}
		x.spaces[g.namespace] = s
	}
	s.groups = append(s.groups, g)
	for key, values := range s.byLabel {
		if v, ok := g.labels[key]; ok {
			values[v] = append(values[v], g)
		}
	}
	for i := range g.terms.RequiredAntiAffinityTerms {
		x.anti.insert(groupTerm{g, &g.terms.RequiredAntiAffinityTerms[i]})
	}
	for i := range g.terms.RequiredAffinityTerms {
		x.soft.insert(groupTerm{g, &g.terms.RequiredAffinityTerms[i]})
	}
	for _, terms := range [][]fwk.WeightedAffinityTerm{g.terms.PreferredAffinityTerms, g.terms.PreferredAntiAffinityTerms} {
		for i := range terms {
			x.soft.insert(groupTerm{g, &terms[i].AffinityTerm})
		}
	}
}

func (x *termIndex) insert(t groupTerm) {
	key, values := required(t.term.Selector)
	if key == "" {
		x.other = append(x.other, t)
		return
	}
	for _, v := range values {
		x.byLabel[label{key, v}] = append(x.byLabel[label{key, v}], t)
	}
}

// required returns a label key and the values of which a matching pod must have one. The
// key is empty if the selector has no such requirement.
func required(selector labels.Selector) (string, []string) {
	requirements, _ := selector.Requirements()
	for i := range requirements {
		op := requirements[i].Operator()
		if op == selection.Equals || op == selection.DoubleEquals || op == selection.In {
			return requirements[i].Key(), requirements[i].ValuesUnsorted()
		}
	}
	return "", nil
}

// match visits the groups of a namespace that the selector matches.
func (x *podIndex) match(namespace string, selector labels.Selector, visit func(*group)) {
	if s := x.spaces[namespace]; s != nil {
		s.match(selector, visit)
	}
}

func (s *space) match(selector labels.Selector, visit func(*group)) {
	if _, selectable := selector.Requirements(); !selectable {
		return
	}
	visitMatching := func(groups []*group) {
		for _, g := range groups {
			if selector.Matches(g.labels) {
				visit(g)
			}
		}
	}
	key, values := required(selector)
	if key == "" {
		visitMatching(s.groups)
		return
	}
	byValue := s.labelled(key)
	for _, v := range values {
		visitMatching(byValue[v])
	}
}

func (s *space) labelled(key string) map[string][]*group {
	if byValue, ok := s.byLabel[key]; ok {
		return byValue
	}
	byValue := make(map[string][]*group)
	for _, g := range s.groups {
		if v, ok := g.labels[key]; ok {
			byValue[v] = append(byValue[v], g)
		}
	}
	s.byLabel[key] = byValue
	return byValue
}

// matchTerm visits the groups that an affinity term of an incoming pod may
// match. A term with a namespace selector may match in every namespace.
func (x *podIndex) matchTerm(term *fwk.AffinityTerm, visit func(*group)) {
	if _, selectable := term.NamespaceSelector.Requirements(); selectable {
		for _, s := range x.spaces {
			s.match(term.Selector, visit)
		}
		return
	}
	for namespace := range term.Namespaces {
		x.match(namespace, term.Selector, visit)
	}
}

// match visits the terms that may match a pod with this namespace and these
// labels.
func (x *termIndex) match(namespace string, podLabels labels.Set, visit func(groupTerm)) {
	visitMatching := func(terms []groupTerm) {
		for _, t := range terms {
			if mayApply(t.term, namespace) && t.term.Selector.Matches(podLabels) {
				visit(t)
			}
		}
	}
	visitMatching(x.other)
	if len(x.byLabel) == 0 {
		return
	}
	for k, v := range podLabels {
		visitMatching(x.byLabel[label{k, v}])
	}
}

func mayApply(term *fwk.AffinityTerm, namespace string) bool {
	if _, selectable := term.NamespaceSelector.Requirements(); selectable {
		return true
	}
	return term.Namespaces.Has(namespace)
}

// compacted returns the index without its empty groups if most are empty, or
// else the index itself.
func (x *podIndex) compacted() *podIndex {
	total, empty := 0, 0
	for _, groups := range x.byHash {
		for _, g := range groups {
			total++
			if len(g.members) == 0 {
				empty++
			}
		}
	}
	if empty <= total/2 || total < minCompaction {
		return x
	}
	y := newPodIndex()
	y.seed = x.seed
	for h, groups := range x.byHash {
		for _, g := range groups {
			if len(g.members) > 0 {
				y.insert(h, g)
			}
		}
	}
	return y
}

// minCompaction is the number of groups below which compaction is not worthwhile.
const minCompaction = 256

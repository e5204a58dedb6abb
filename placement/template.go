package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// template represents pods whose replacements are equal for the filters, and keeps what
// PreFilter computed for them. A pod with its own volumes or claims has its own template.
type template struct {
	replacement *v1.Pod
	requests    *fwk.PodResource // the replacement's requests; nil until it is moved
	shared      bool
	refused     *Result // result if every node is refused

	// spread and affinity hold the groups that the replacement's own constraints match, anti
	// holds those whose required anti-affinity may match the replacement.
	spread, affinity, anti []*group
	groups                 map[*group]struct{} // all groups in spread, affinity and anti
	spreads                bool                // has hard spread constraints
	refers                 bool                // has required pod affinity, or affinity that cannot be parsed
	// domains holds the topology keys of those constraints; nil if something else also
	// determines which nodes count.
	domains []string
	// subtractable is true if the plugins' RemovePod can derive the state
	// without one pod from the state with it.
	subtractable bool

	// like is the template whose states this template uses, usually its own.
	like *template

	base    [2]*state // by world
	version uint64    // version of the groups when base was computed

	preferred *preferences // nil until requested
}

// preferences holds a template's reasons for preferring nodes, apart from taints.
type preferences struct {
	nodes bool // prefers nodes by their labels
	// keys holds the topology keys by which pods count. The value is true for a spread
	// constraint, which gives nodes outside the topology the lowest score.
	keys map[string]bool
	// domains are the keys except that of nodes' names.
	domains []string
	// groups holds the groups whose pods count: those that match the template's soft
	// constraints, and those whose soft terms match the template.
	groups []*group
	pods   int // number of pods in the groups when these were found
	// state is shared by all pods of the template if too many pods count to be counted anew
	// for each pod; nil until requested.
	state fwk.CycleState
}

// plain reports whether the filters read nothing of the replacement except what
// sameOnNode compares. Such pods get equal results whatever their labels and preferences.
func (t *template) plain() bool {
	return t.shared && t.refused == nil && len(t.groups) == 0 && !t.spreads && !t.refers
}

// newTemplate finds which pods the filters will count for the replacement.
func newTemplate(x *podIndex, g *group, pod *v1.Pod, dynamicResources bool) *template {
	t := &template{replacement: replacementOf(pod), subtractable: true}
	t.like = t
	if len(pod.Spec.ResourceClaims) > 0 && !dynamicResources {
		t.refused = &noDynamicResources
		return t
	}
	t.findSpread(x)
	t.domains = domainsOf(&t.replacement.Spec)
	t.findAffinity(x, g)
	collect := t.collector(&t.anti)
	x.anti.match(pod.Namespace, pod.Labels, func(anti groupTerm) { collect(anti.group) })
	return t
}

// collector returns a function that appends each group to the list once.
func (t *template) collector(list *[]*group) func(*group) {
	var listed map[*group]struct{}
	return func(g *group) {
		if _, ok := listed[g]; ok {
			return
		}
		if listed == nil {
			listed = make(map[*group]struct{})
		}
		if t.groups == nil {
			t.groups = make(map[*group]struct{})
		}
		listed[g], t.groups[g] = struct{}{}, struct{}{}
		*list = append(*list, g)
	}
}

func (t *template) findSpread(x *podIndex) {
	collect := t.collector(&t.spread)
	for i := range t.replacement.Spec.TopologySpreadConstraints {
		c := &t.replacement.Spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		t.spreads = true
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			continue // PreFilter refuses the pod
		}
		// PodTopologySpread counts no pods for an empty selector, but its
		// RemovePod subtracts them. (MatchLabelKeys only narrow the selector:
		// the groups found without them include all that count.)
		if selector.Empty() {
			t.subtractable = false
		}
		x.match(t.replacement.Namespace, selector, collect)
	}
}

// findAffinity reads the terms of the pod's group, which the replacement shares.
func (t *template) findAffinity(x *podIndex, g *group) {
	required := [][]fwk.AffinityTerm{g.terms.RequiredAffinityTerms, g.terms.RequiredAntiAffinityTerms}
	if t.refers = g.unreadable || len(required[0])+len(required[1]) > 0; g.unreadable {
		return // PreFilter refuses the pod
	}
	collect := t.collector(&t.affinity)
	for _, terms := range required {
		for i := range terms {
			x.matchTerm(&terms[i], collect)
		}
	}
}

// currentVersion returns a number that changes with every move of a pod that the states
// depend on, and the number of pods that are currently moved.
func (t *template) currentVersion() (version uint64, away int) {
	for g := range t.groups {
		version, away = version+g.version, away+g.away
	}
	return version, away
}

// domainsOf returns the topology keys of the constraints that filter. It returns nil if
// these labels alone do not determine which nodes count.
func domainsOf(spec *v1.PodSpec) []string {
	if len(spec.NodeSelector) > 0 || spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		return nil
	}
	var keys []string
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		if c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy != v1.NodeInclusionPolicyIgnore {
			return nil
		}
		keys = append(keys, c.TopologyKey)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// state is PreFilter's result, which Filter uses.
type state struct {
	cycle   fwk.CycleState   // may be shared with other states
	skip    sets.Set[string] // plugins that refuse no node
	refused *Result          // result if every node is refused
	// nodes holds the nodes that PreFilter allows; nil means all. plugins holds the plugins
	// that narrowed them down.
	nodes   sets.Set[string]
	plugins string
}

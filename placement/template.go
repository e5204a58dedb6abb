package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// template represents pods whose replacements the filters cannot tell apart,
// and keeps what PreFilter computed for them. A pod with its own volumes or
// claims has its own template.
type template struct {
	replacement *v1.Pod
	requests    *fwk.PodResource // of the replacement, nil until it is moved
	shared      bool
	refused     *Result // on every node

	// spread and affinity are the groups that the replacement's own constraints
	// match, anti those whose required anti-affinity may match the replacement.
	spread, affinity, anti []*group
	groups                 map[*group]struct{} // all of these
	spreads                bool                // has constraints that filter
	refers                 bool                // has required affinity to pods, or affinity that cannot be read
	// domains are the topology keys of those constraints; nil if something else
	// also determines which nodes count.
	domains []string
	// subtractable is true if the plugins' RemovePod can derive the state
	// without one pod from the state with it.
	subtractable bool

	// like is the template whose states this template uses, usually its own.
	like *template

	base    [2]*state // by world
	version uint64    // of the groups, when base was computed

	preferred *preferences // nil until requested
}

// preferences are a template's reasons for preferring nodes, apart from taints.
type preferences struct {
	nodes bool // it prefers some by their labels
	// keys are the topologies in which pods count, and whether they count for a
	// spread, which scores nodes outside the topology worst.
	keys map[string]bool
	// groups hold the pods that count: those that match the template's soft
	// constraints, and those whose soft terms match the template.
	groups []*group
	pods   int // of the groups, when they were found
	// state is that of all such pods if they are too many to be counted again for
	// each pod; nil until requested.
	state fwk.CycleState
}

// plain reports whether the filters see nothing of the replacement but what
// sameOnNode compares. Such pods get equal results whatever their labels and
// preferences.
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

// collector returns a function that appends a group to the list once.
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

// findAffinity reads the terms of the pod's group, which are the replacement's.
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

// currentVersion changes with every move of a pod that the states depend on;
// away is the number of pods that are currently moved.
func (t *template) currentVersion() (version uint64, away int) {
	for g := range t.groups {
		version, away = version+g.version, away+g.away
	}
	return version, away
}

// domainsOf returns the topology keys of the constraints that filter. It
// returns nil if a node needs more than these labels to count.
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

// state is the result of PreFilter for Filter.
type state struct {
	cycle   fwk.CycleState   // may be another state's as well
	skip    sets.Set[string] // plugins that refuse no node
	refused *Result          // on every node
	// nodes are the nodes that PreFilter leaves, nil for all. plugins are the
	// plugins that narrowed them down.
	nodes   sets.Set[string]
	plugins string
}

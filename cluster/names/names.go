// Package names defines how a pod is restricted to nodes by name: which pods can be
// restricted, how the names are added where the policy evenkeel-steer in
// deploy/components does not do it, and how they are removed again. A pod keeps the names
// for its lifetime, so code that determines where else the pod could run must remove them
// first.
package names

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Annotation states how a pod was steered. Its value is Gate, or the names of the nodes
	// to which the pod may go, the planned one first.
	Annotation = "evenkeel.io/steered"
	// Gate is the annotation's value on a pod that was held by a scheduling
	// gate.
	Gate = "gate"

	weight    = 100 // weight of the preference for the first node
	separator = ","
	// maxTerms is the maximum number of affinity terms with the names of a pod's nodes.
	maxTerms = 2500
)

// Of returns the nodes that a pod was restricted to, the planned one first; nil if it was
// not restricted.
func Of(pod *v1.Pod) []string {
	if by := pod.Annotations[Annotation]; by != "" && by != Gate {
		return strings.Split(by, separator)
	}
	return nil
}

// Restricted reports whether a pod's affinity looks exactly as the API server
// writes it for the nodes in its annotation.
func Restricted(pod *v1.Pod) bool {
	nodes, own := Of(pod), required(pod)
	if len(nodes) == 0 || own == nil {
		return false
	}
	_, ok := without(own.NodeSelectorTerms, nodes)
	return ok
}

// Restrictable reports whether the API server restricts a pod like this one to nodes by name. It
// does not if the pod's own terms match no node, or if the names would change what a
// topology spread counts. pod must be unchanged since its owner created it.
func Restrictable(pod *v1.Pod) bool {
	own := required(pod)
	if own != nil && !slices.ContainsFunc(own.NodeSelectorTerms, func(t v1.NodeSelectorTerm) bool { return !empty(t) }) {
		return false
	}
	return len(pod.Spec.TopologySpreadConstraints) == 0 || own == nil && len(pod.Spec.NodeSelector) == 0
}

// Add restricts a pod to nodes, the planned one first, as the policy does. It returns
// false and changes nothing if the pod cannot be restricted by names or if too many terms
// would be needed.
func Add(pod *v1.Pod, nodes []string) bool {
	terms := []v1.NodeSelectorTerm{{}}
	if own := required(pod); own != nil {
		terms = slices.DeleteFunc(slices.Clone(own.NodeSelectorTerms), empty)
	}
	if len(nodes) == 0 || !Restrictable(pod) || len(terms)*len(nodes) > maxTerms {
		return false
	}
	named := make([]v1.NodeSelectorTerm, 0, len(terms)*len(nodes))
	for _, term := range terms {
		for _, node := range nodes {
			both := term
			both.MatchFields = append(slices.Clone(term.MatchFields), is(node))
			named = append(named, both)
		}
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	affinity := pod.Spec.Affinity.NodeAffinity
	affinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: named}
	affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution, prefers(nodes[0]))
	for i := range pod.Spec.TopologySpreadConstraints {
		pod.Spec.TopologySpreadConstraints[i].NodeAffinityPolicy = new(v1.NodeInclusionPolicyIgnore)
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, Annotation, strings.Join(nodes, separator))
	return true
}

// Remove removes the names from a pod's affinity. It changes only an affinity that looks
// exactly as the API server writes it, because anyone can set the annotation. A topology
// spread counts the same afterwards, whatever its nodeAffinityPolicy.
func Remove(pod *v1.Pod) {
	nodes, own := Of(pod), required(pod)
	if len(nodes) == 0 || own == nil {
		return
	}
	terms, ok := without(own.NodeSelectorTerms, nodes)
	if !ok {
		return
	}
	affinity := pod.Spec.Affinity.NodeAffinity
	if own.NodeSelectorTerms = terms; len(terms) == 0 {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
	preferred := affinity.PreferredDuringSchedulingIgnoredDuringExecution
	if last := len(preferred) - 1; last >= 0 && equality.Semantic.DeepEqual(preferred[last], prefers(nodes[0])) {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = nonEmpty(preferred[:last])
	}
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil && affinity.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		pod.Spec.Affinity.NodeAffinity = nil
	}
	if *pod.Spec.Affinity == (v1.Affinity{}) {
		pod.Spec.Affinity = nil
	}
}

// without returns the pod's own terms, which were combined with each node; none
// if the pod had no terms of its own.
func without(named []v1.NodeSelectorTerm, nodes []string) (terms []v1.NodeSelectorTerm, ok bool) {
	if len(named) == 0 || len(named)%len(nodes) != 0 {
		return nil, false
	}
	for i := range named {
		term, node := named[i], nodes[i%len(nodes)]
		last := len(term.MatchFields) - 1
		if last < 0 || !equality.Semantic.DeepEqual(term.MatchFields[last], is(node)) {
			return nil, false
		}
		term.MatchFields = nonEmpty(term.MatchFields[:last])
		switch {
		case i%len(nodes) == 0:
			terms = append(terms, term)
		case !equality.Semantic.DeepEqual(term, terms[len(terms)-1]):
			return nil, false
		}
	}
	if len(terms) == 1 && empty(terms[0]) {
		return nil, true
	}
	return terms, !slices.ContainsFunc(terms, empty)
}

func is(node string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}
}

func prefers(node string) v1.PreferredSchedulingTerm {
	return v1.PreferredSchedulingTerm{Weight: weight, Preference: v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{is(node)}}}
}

func required(pod *v1.Pod) *v1.NodeSelector {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func empty(t v1.NodeSelectorTerm) bool {
	return len(t.MatchExpressions) == 0 && len(t.MatchFields) == 0
}

func nonEmpty[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return slices.Clip(s)
}

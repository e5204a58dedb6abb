package recording

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// validate returns an error for anything that kube-scheduler's plugins could not process.
func (n *Node) validate() error {
	for _, resource := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if amount := n.Allocatable[resource]; amount.Sign() <= 0 {
			return fmt.Errorf("%s of %s is allocatable", amount.String(), resource)
		}
	}
	return errors.Join(validateList(n.Allocatable), validateList(n.Capacity))
}

func (t *Template) validate() error {
	switch t.Stays {
	case "", DaemonSet, Mirror, NoOwner, Critical, LocalStorage, Protected:
	default:
		return fmt.Errorf("stays is %q, which is not a known reason", t.Stays)
	}
	if err := errors.Join(validateList(t.Requests), validateList(t.Limits)); err != nil {
		return err
	}
	for i := range t.Spread {
		if err := validateTerm(t.Spread[i].LabelSelector, t.Spread[i].TopologyKey); err != nil {
			return fmt.Errorf("topologySpreadConstraints[%d]: %w", i, err)
		}
		if t.Spread[i].MaxSkew < 1 {
			return fmt.Errorf("topologySpreadConstraints[%d]: maxSkew is %d", i, t.Spread[i].MaxSkew)
		}
	}
	return t.validateAffinity()
}

func validateTerm(selector *metav1.LabelSelector, topologyKey string) error {
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return err
	}
	if topologyKey == "" {
		return errors.New("no topology key")
	}
	return nil
}

func (t *Template) validateAffinity() error {
	if t.Affinity == nil {
		return nil
	}
	if on := t.Affinity.NodeAffinity; on != nil {
		if _, err := nodeaffinity.NewPreferredSchedulingTerms(on.PreferredDuringSchedulingIgnoredDuringExecution); err != nil {
			return fmt.Errorf("preferred node affinity: %w", err)
		}
		if required := on.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			if _, err := nodeaffinity.NewNodeSelector(required); err != nil {
				return fmt.Errorf("required node affinity: %w", err)
			}
		}
	}
	for i, term := range podTerms(t.Affinity) {
		if err := validateTerm(term.LabelSelector, term.TopologyKey); err != nil {
			return fmt.Errorf("term %d of pod affinity: %w", i, err)
		}
		if _, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector); err != nil {
			return fmt.Errorf("term %d of pod affinity: namespaces: %w", i, err)
		}
	}
	return nil
}

// podTerms returns all terms of pod affinity and anti-affinity.
func podTerms(affinity *v1.Affinity) []*v1.PodAffinityTerm {
	var terms []*v1.PodAffinityTerm
	add := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
		for i := range required {
			terms = append(terms, &required[i])
		}
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
	}
	if to := affinity.PodAffinity; to != nil {
		add(to.RequiredDuringSchedulingIgnoredDuringExecution, to.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if from := affinity.PodAntiAffinity; from != nil {
		add(from.RequiredDuringSchedulingIgnoredDuringExecution, from.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}

// Upper limits for what a node has or a pod requests, in whole units: cores, bytes,
// pieces.
const (
	maxCores = 1e6
	maxOther = 1e15
)

func validateList(list v1.ResourceList) error {
	for name, amount := range list {
		limit := maxOther
		if name == v1.ResourceCPU {
			limit = maxCores
		}
		if amount.Sign() < 0 || amount.AsApproximateFloat64() > limit {
			return fmt.Errorf("%s of %q: must be 0 to %g", amount.String(), name, limit)
		}
	}
	return nil
}

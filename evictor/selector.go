package evictor

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func labelSelector(pdb *policyv1.PodDisruptionBudget) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of PodDisruptionBudget %q: %w", pdb.Namespace+"/"+pdb.Name, err)
	}
	return selector, nil
}

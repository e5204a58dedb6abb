package evictor

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
)

// Clientset returns the clientset for the framework's PodEvictor: the given one, with the eviction call led through the
// Gate.
func (g *Gate) Clientset() kubernetes.Interface { return gatedClientset{g.config.Client, g} }

type gatedClientset struct {
	kubernetes.Interface
	gate *Gate
}

func (c gatedClientset) PolicyV1() policyv1client.PolicyV1Interface {
	return gatedPolicy{c.Interface.PolicyV1(), c.gate}
}

type gatedPolicy struct {
	policyv1client.PolicyV1Interface
	gate *Gate
}

func (p gatedPolicy) Evictions(namespace string) policyv1client.EvictionInterface {
	return gatedEvictions{p.PolicyV1Interface.Evictions(namespace), p.gate}
}

type gatedEvictions struct {
	policyv1client.EvictionInterface
	gate *Gate
}

func (e gatedEvictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return e.gate.evict(ctx, eviction)
}

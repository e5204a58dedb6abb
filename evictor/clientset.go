package evictor

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
)

// Clientset returns a clientset for the framework's PodEvictor. It is the client's own
// clientset, except that evictions pass the gate of a policy, and then get a destination
// from place. dryRun is for plugins in dry run: their evictions are only logged.
func (c *Client) Clientset(e *Evictor, dryRun bool, place Place) kubernetes.Interface {
	return checkedClientset{c.config.Kube, checked{e, dryRun, place}}
}

// checked asks the gate of a policy before each eviction.
type checked struct {
	evictor *Evictor
	dryRun  bool
	place   Place
}

type checkedClientset struct {
	kubernetes.Interface
	checked
}

func (c checkedClientset) PolicyV1() policyv1client.PolicyV1Interface {
	return checkedPolicy{c.Interface.PolicyV1(), c.checked}
}

type checkedPolicy struct {
	policyv1client.PolicyV1Interface
	checked
}

func (p checkedPolicy) Evictions(namespace string) policyv1client.EvictionInterface {
	return checkedEvictions{p.PolicyV1Interface.Evictions(namespace), p.checked}
}

type checkedEvictions struct {
	policyv1client.EvictionInterface
	checked
}

func (e checkedEvictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return e.evictor.evictUnplanned(ctx, eviction, e.dryRun, e.place)
}

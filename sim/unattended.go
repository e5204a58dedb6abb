package sim

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evenkeel/evenkeel/evictor"
)

// unattended is a run's evicting client. It is never paused, and stores nothing.
type unattended struct{ *evenkeel }

// Commit implements evictor.Evictions.
func (unattended) Commit(context.Context) error { return nil }

// Announced implements evictor.Evictions.
func (unattended) Announced(context.Context) {}

// Permits implements evictor.Evictions.
func (unattended) Permits(context.Context) error { return nil }

// Evicted implements evictor.Evictions. It returns false, because the watch never lags.
func (unattended) Evicted(string) bool { return false }

// DryRun implements evictor.Evictions.
func (unattended) DryRun() bool { return false }

// Made implements evictor.Evictions. It counts nothing, because a replay has no limits
// that depend on the counts.
func (unattended) Made(string, string) evictor.Made { return evictor.Made{} }

// NotifyFailure implements evictor.Evictions.
func (unattended) NotifyFailure(*v1.Pod, error) {}

// Read implements evictor.Evictions.
func (u unattended) Read(_ context.Context, namespace, name string) (*v1.Pod, error) {
	if pod := u.Pod(namespace, name); pod != nil {
		return pod, nil
	}
	return nil, fmt.Errorf("reading pod %q again: it is gone", namespace+"/"+name)
}

// Evict implements evictor.Evictions. It ends a pod and has its replacement placed, as
// the API server and the controllers would.
func (u unattended) Evict(_ context.Context, pod *v1.Pod, move *evictor.Move, _ *policyv1.Eviction) error {
	replica := u.world.byUID[pod.UID]
	node, err := u.world.evict(pod.UID, u.clock)
	switch {
	case err == nil:
		u.tally.moved(move.From, node, move.To, replica)
	case apierrors.IsTooManyRequests(err):
		u.tally.Refused++
	default:
		u.err = fmt.Errorf("evicting pod %q: %w", move.Pod, err)
	}
	return err
}

package evictor

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
)

// Scale is how many pods a Deployment wants, and which version of it says so.
type Scale struct {
	Replicas int32
	Version  string
}

// Scaler reads and sets how many pods Deployments want.
type Scaler interface {
	// Scale returns what a Deployment wants.
	Scale(ctx context.Context, namespace, deployment string) (Scale, error)
	// SetScale sets what it wants. It fails with a conflict if the Deployment is not of the given version any more.
	SetScale(ctx context.Context, namespace, deployment string, to Scale) error
	// Forbidden reports whether scaling was forbidden lately.
	Forbidden() bool
}

// scaleBack ends a surge: a Deployment that wants one more than before is brought back. One that wants anything else is left
// alone, because somebody else has scaled it since. It returns the scale that it found.
func scaleBack(ctx context.Context, scaler Scaler, namespace string, surge ledger.Surge) (found Scale, err error) {
	for range scaleAttempts {
		found, err = scaler.Scale(ctx, namespace, surge.Deployment)
		if apierrors.IsNotFound(err) {
			return Scale{}, nil
		}
		if err != nil {
			return Scale{}, fmt.Errorf("reading the scale of Deployment %q: %w", namespace+"/"+surge.Deployment, err)
		}
		if found.Replicas != surge.Replicas+1 {
			return found, nil
		}
		err = scaler.SetScale(ctx, namespace, surge.Deployment, Scale{Replicas: surge.Replicas, Version: found.Version})
		if err == nil || apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Info("Scaled back after a move", "deployment", klog.KRef(namespace, surge.Deployment))
			return found, nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
	}
	return found, fmt.Errorf("scaling Deployment %q back: %w", namespace+"/"+surge.Deployment, err)
}

// setScale makes the call and waits for its answer also when the process is told to end: what is scaled up has to be known.
func (c *Cycle) setScale(ctx context.Context, s *surge, to Scale) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scaleTimeout)
	defer cancel()
	return c.config.Scaler.SetScale(ctx, s.move.Namespace, s.move.Surge, to)
}

func (c *Cycle) scale(ctx context.Context, s *surge) (Scale, error) {
	ctx, cancel := context.WithTimeout(ctx, scaleTimeout)
	defer cancel()
	return c.config.Scaler.Scale(ctx, s.move.Namespace, s.move.Surge)
}

package evictor

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
)

// scaleAttempts is how often a scale is set after conflicts.
const scaleAttempts = 5

// ScaleBack ends a surge: it scales a Deployment that wants one more than
// before back. It leaves any other scale alone, because somebody else has set
// it since. It returns the scale that it found.
func ScaleBack(ctx context.Context, scaler Scaler, namespace string, surge ledger.Surge) (found Scale, err error) {
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

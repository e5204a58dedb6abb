package app

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// withoutLease says that this process runs its one cycle without the Lease, because it may not even read it. Descheduler's
// first Jobs had no right to it and no need: their plugins know of no other process. Whoever moves pods by real usage, or
// goes on evicting, needs it.
func (a *App) withoutLease(ctx context.Context) bool {
	if a.readsUsage() || a.options.loops() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := a.kube.Client.CoordinationV1().Leases(a.options.Namespace).Get(ctx, a.options.LeaseName, metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		return false
	}
	klog.FromContext(ctx).Info("Running without the Lease, so nothing keeps another process from evicting at the same time",
		"reason", err.Error())
	return true
}

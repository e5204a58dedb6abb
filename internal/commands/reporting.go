package commands

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// The names of the shipped pods that serve reports, and their port.
const (
	nameLabel    = "app.kubernetes.io/name"
	serveName    = "evenkeel"
	extenderName = "evenkeel-extender"
	reportPort   = 8889
)

// shippedNamespace is where the shipped manifests install.
const shippedNamespace = "evenkeel"

// candidates returns the pods that may serve reports. It searches only the namespaces
// that Evenkeel may run in, because anyone could use their label in other namespaces.
func candidates(ctx context.Context, client kubernetes.Interface, namespace string) (found []v1.Pod, err error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, in := range searched(namespace) {
		pods, failed := client.CoreV1().Pods(in).List(ctx, metav1.ListOptions{
			LabelSelector: nameLabel + " in (" + serveName + ", " + extenderName + ")", Limit: 100,
		})
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		found = append(found, pods.Items...)
	}
	return found, err
}

// searched returns the namespaces that candidates searches.
func searched(namespace string) []string {
	return slices.Compact([]string{namespace, shippedNamespace})
}

// reporting returns the first ready pod that serves reports, or nil.
func reporting(pods []v1.Pod) *v1.Pod {
	pods = slices.DeleteFunc(slices.Clone(pods), func(pod v1.Pod) bool {
		name := pod.Labels[nameLabel]
		return name != serveName && name != extenderName || pod.DeletionTimestamp != nil || !podutil.IsPodReady(&pod)
	})
	if len(pods) == 0 {
		return nil
	}
	first := slices.MinFunc(pods, func(a, b v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Labels[nameLabel], b.Labels[nameLabel]), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return &first
}

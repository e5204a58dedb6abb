package probe

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
)

// controllersTimeout bounds the list of ReplicationControllers.
const controllersTimeout = 10 * time.Second

// Unwatched returns the kinds, as Kind.group, that control ReplicationControllers but are not among those that a policy
// names. It returns none if ReplicationControllers cannot be listed, which the check of permissions reports.
func Unwatched(ctx context.Context, client kubernetes.Interface, named []string) (kinds []string) {
	ctx, cancel := context.WithTimeout(ctx, controllersTimeout)
	defer cancel()
	list, err := client.CoreV1().ReplicationControllers(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		ref := metav1.GetControllerOfNoCopy(&list.Items[i])
		if ref == nil {
			continue
		}
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind().String()
		if !slices.Contains(named, kind) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

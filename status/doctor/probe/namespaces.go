package probe

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/evictor/safeguards"
)

// namespacesTimeout bounds the list of Namespaces.
const namespacesTimeout = 10 * time.Second

// InvalidAnnotations returns the namespaces whose annotation evenkeel.io/evict is neither true nor false. It returns none if
// namespaces cannot be listed, which the check of permissions reports.
func InvalidAnnotations(ctx context.Context, client kubernetes.Interface) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, namespacesTimeout)
	defer cancel()
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		if safeguards.AnswerOf(list.Items[i].Annotations, safeguards.EvictAnnotation) == safeguards.Unreadable {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

// OtherNamespaces returns the namespaces, except one, that have a ConfigMap with any of the names; nil if listing ConfigMaps
// is not allowed.
func OtherNamespaces(ctx context.Context, client kubernetes.Interface, except string, names ...string) (namespaces []string) {
	ctx, cancel := context.WithTimeout(ctx, namespacesTimeout)
	defer cancel()
	for _, name := range names {
		list, err := client.CoreV1().ConfigMaps(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return nil
		}
		for i := range list.Items {
			if item := &list.Items[i]; item.Name == name && item.Namespace != except {
				namespaces = append(namespaces, item.Namespace)
			}
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

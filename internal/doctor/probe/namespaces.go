package probe

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/safeguards"
)

// namespacesTimeout bounds the list of Namespaces.
const namespacesTimeout = 10 * time.Second

// Unread returns the namespaces whose annotation evenkeel.io/evict is neither true
// nor false. It returns none if they cannot be listed, which is said of the rights.
func Unread(ctx context.Context, client kubernetes.Interface) (names []string) {
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

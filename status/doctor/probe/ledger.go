package probe

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/ledger/configmap"
)

// Ledger reads the stored ledger of a namespace. The error is a *configmap.Unreadable if the stored content is not a
// ledger.
func Ledger(ctx context.Context, client kubernetes.Interface, namespace string) (stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, kube.CallTimeout)
	defer cancel()
	object, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, evictor.ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		_, err = configmap.Inspect(object)
	}
	return true, err
}

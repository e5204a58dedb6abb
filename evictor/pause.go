package evictor

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/reasons"
)

// PauseAnnotation on Evenkeel's ConfigMap stops every eviction, with any value
// other than "false".
const PauseAnnotation = "evenkeel.io/paused"

// ConfigMapName is the name of Evenkeel's only ConfigMap, in its own namespace.
const ConfigMapName = "evenkeel-ledger"

// Paused returns why evicting is paused, nil if it is not. A missing ConfigMap
// pauses nothing; one that cannot be read pauses.
func Paused(ctx context.Context, client kubernetes.Interface, namespace string) error {
	object, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, ConfigMapName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return &reasons.Refusal{Reason: reasons.PauseUnreadable, Detail: err.Error()}
	}
	if value, ok := object.Annotations[PauseAnnotation]; ok && value != "false" {
		return &reasons.Refusal{
			Reason: reasons.Paused,
			Detail: fmt.Sprintf("annotation %s=%q on ConfigMap %s/%s", PauseAnnotation, value, namespace, ConfigMapName),
		}
	}
	return nil
}

package stage

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// PauseAnnotation is the kill switch, on the ConfigMap evenkeel-ledger of
// Evenkeel's namespace.
const PauseAnnotation = "evenkeel.io/paused"

// Pause sets or removes the kill switch.
func (f *Fixture) Pause(paused bool) {
	f.T.Helper()
	const name = "evenkeel-ledger"
	configMaps := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace)
	_, err := configMaps.Create(f.T.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		f.T.Fatal(err)
	}
	value := "null"
	if paused {
		value = `"by a test"`
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, PauseAnnotation, value)
	if _, err := configMaps.Patch(f.T.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		f.T.Fatal(err)
	}
}

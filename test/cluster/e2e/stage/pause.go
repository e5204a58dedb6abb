package stage

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// PauseName is the name of the kill switch, which is a ConfigMap in Evenkeel's namespace.
// PauseAnnotation on the ledger is the kill switch of earlier versions.
const (
	PauseName       = "evenkeel-pause"
	PauseAnnotation = "evenkeel.io/paused"
)

// Pause sets or removes the kill switch.
func (f *Fixture) Pause(paused bool) {
	f.T.Helper()
	configMaps := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace)
	var err error
	if paused {
		_, err = configMaps.Create(f.T.Context(), &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: PauseName}, Data: map[string]string{"reason": "by a test"},
		}, metav1.CreateOptions{})
	} else {
		err = configMaps.Delete(f.T.Context(), PauseName, metav1.DeleteOptions{})
	}
	if err != nil {
		f.T.Fatal(err)
	}
}

// PauseAsBefore sets or removes the kill switch of earlier versions.
func (f *Fixture) PauseAsBefore(paused bool) {
	f.T.Helper()
	configMaps := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace)
	_, err := configMaps.Create(f.T.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: LedgerName}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		f.T.Fatal(err)
	}
	value := "null"
	if paused {
		value = `"by a test"`
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, PauseAnnotation, value)
	if _, err := configMaps.Patch(f.T.Context(), LedgerName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		f.T.Fatal(err)
	}
}

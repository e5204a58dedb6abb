package configmap

import (
	"context"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Unreadable content is kept whole, each in a ConfigMap of its own: what fitted
// into one fits into another, but not beside the ledger. Nothing of Evenkeel's
// reads or deletes them.
const (
	// setAsideName is appended to the name of the ledger's ConfigMap, with a
	// number from 1 to maxSetAside.
	setAsideName = "-set-aside-"
	maxSetAside  = 8

	// foundAnnotation and whyAnnotation say when the content was found and what
	// is wrong with it. As data they might not fit beside it.
	foundAnnotation = "evenkeel.io/found"
	whyAnnotation   = "evenkeel.io/why"
)

// SetAside returns the names of all ConfigMaps that content of the one with this
// name may have been set aside in.
func SetAside(name string) []string {
	names := make([]string, 0, maxSetAside)
	for n := 1; n <= maxSetAside; n++ {
		names = append(names, name+setAsideName+strconv.Itoa(n))
	}
	return names
}

// aside keeps what cannot be read. It must not be used concurrently.
type aside struct {
	client  kubernetes.Interface
	timeout time.Duration
	now     func() time.Time
	// kept is the digest of what was kept last.
	kept string
}

// keep keeps what stands under the ledger's key, in the first ConfigMap that
// does not exist yet. It fails if there is no room: somebody has to look, and to
// delete what is kept already.
func (a *aside) keep(ctx context.Context, object *v1.ConfigMap, found *Unreadable) error {
	if _, ok := content(object); !ok || a.kept == found.Digest { // or kept, but the ledger was not written
		return nil
	}
	for _, name := range SetAside(object.Name) {
		err := a.create(ctx, object, found, name)
		if err == nil {
			a.kept = found.Digest
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("setting the unreadable ledger aside: %w", err)
		}
	}
	return fmt.Errorf("setting the unreadable ledger aside: %d are kept already, ConfigMaps %s%s1 to %d: look at them and delete them",
		maxSetAside, object.Name, setAsideName, maxSetAside)
}

func (a *aside) create(ctx context.Context, object *v1.ConfigMap, found *Unreadable, name string) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	what, _ := content(object)
	_, err := a.client.CoreV1().ConfigMaps(object.Namespace).Create(ctx, &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace, Name: name,
			Annotations: map[string]string{foundAnnotation: a.now().UTC().Format(time.RFC3339), whyAnnotation: found.cause()},
		},
		BinaryData: map[string][]byte{Key: what},
	}, metav1.CreateOptions{})
	return err
}

// empty takes out of the object what was kept, with its acknowledgement.
func empty(object *v1.ConfigMap) {
	delete(object.Data, Key)
	delete(object.BinaryData, Key)
	delete(object.Annotations, AcceptAnnotation)
}

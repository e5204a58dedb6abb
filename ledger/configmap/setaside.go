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

// Each piece of unreadable content is kept unchanged in a separate ConfigMap. Content
// that fitted into one ConfigMap fits into another one, but might not fit next to the
// ledger. Evenkeel neither reads nor deletes these ConfigMaps.
const (
	// setAsideName is appended to the name of the ledger's ConfigMap, with a
	// number from 1 to maxSetAside.
	setAsideName = "-set-aside-"
	maxSetAside  = 8

	// foundAnnotation holds the time at which the content was found, and whyAnnotation
	// what is wrong with it. They are annotations because, as data, they might not fit
	// next to the content.
	foundAnnotation = "evenkeel.io/found"
	whyAnnotation   = "evenkeel.io/why"
)

// SetAside returns the names of all ConfigMaps into which content of the named
// one may have been set aside.
func SetAside(name string) []string {
	names := make([]string, 0, maxSetAside)
	for n := 1; n <= maxSetAside; n++ {
		names = append(names, name+setAsideName+strconv.Itoa(n))
	}
	return names
}

// aside keeps unreadable content. It must not be used concurrently.
type aside struct {
	client  kubernetes.Interface
	timeout time.Duration
	now     func() time.Time
	// kept is the digest of the content that was kept last.
	kept string
}

// keep copies the value of the ledger's key into a new ConfigMap with the first free
// name. It fails if all names are taken; someone then has to look at the copies and
// delete them.
func (a *aside) keep(ctx context.Context, object *v1.ConfigMap, found *Unreadable) error {
	if _, ok := content(object); !ok || a.kept == found.Digest { // nothing to keep, or it was kept but the ledger was not written
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
	return fmt.Errorf("setting the unreadable ledger aside: %d copies are kept already, in ConfigMaps %s%s1 to %d: check and delete them",
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

// empty removes kept content and its acknowledgement from the object.
func empty(object *v1.ConfigMap) {
	delete(object.Data, Key)
	delete(object.BinaryData, Key)
	delete(object.Annotations, AcceptAnnotation)
}

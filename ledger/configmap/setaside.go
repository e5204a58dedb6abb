package configmap

import (
	"context"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// setAside keeps what stands under the ledger's key, which is then written
// over, and takes it out of the object. It fails if that cannot be kept:
// somebody has to look, and delete what is kept already.
func (s *Store) setAside(ctx context.Context, object *v1.ConfigMap) error {
	found := s.unreadable
	if s.kept != found.Digest {
		if err := s.keep(ctx, object, found); err != nil {
			return err
		}
	}
	delete(object.Data, Key)
	delete(object.BinaryData, Key)
	delete(object.Annotations, AcceptAnnotation)
	return nil
}

// keep creates the first ConfigMap that does not exist yet.
func (s *Store) keep(ctx context.Context, object *v1.ConfigMap, found *Unreadable) error {
	for n := 1; n <= maxSetAside; n++ {
		kept := &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: object.Namespace, Name: object.Name + setAsideName + strconv.Itoa(n),
				Annotations: map[string]string{foundAnnotation: s.config.Now().UTC().Format(time.RFC3339), whyAnnotation: found.cause()},
			},
			BinaryData: map[string][]byte{Key: content(object)},
		}
		switch err := s.put(ctx, kept, true); {
		case err == nil:
			s.kept = found.Digest
			return nil
		case !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("setting the unreadable ledger aside: %w", err)
		}
	}
	return fmt.Errorf("setting the unreadable ledger aside: %d are kept already, ConfigMaps %s%s1 to %d: look at them and delete them",
		maxSetAside, object.Name, setAsideName, maxSetAside)
}

package configmap

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/ledger"
)

// Follow calls adopt with every ledger that another process writes, until the
// context ends. Known moves stay until they expire, even if the ConfigMap is
// deleted.
func (s *Store) Follow(ctx context.Context, adopt func(ledger.Document)) {
	list := cache.NewListWatchFromClient(s.config.Client.CoreV1().RESTClient(), "configmaps", s.config.Namespace,
		fields.OneTermEqualSelector("metadata.name", s.config.Name))
	_, follower := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: list, ObjectType: &v1.ConfigMap{}, Handler: s.handler(adopt),
	})
	follower.RunWithContext(ctx)
}

func (s *Store) handler(adopt func(ledger.Document)) cache.ResourceEventHandler {
	take := func(object any) {
		configMap, ok := object.(*v1.ConfigMap)
		if !ok || configMap.Name != s.config.Name {
			return
		}
		if document, ok := s.seen(configMap); ok {
			adopt(document)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: take, UpdateFunc: func(_, object any) { take(object) }, DeleteFunc: s.gone}
}

// gone records that the object was deleted. Unreadable content in it is gone, too.
func (s *Store) gone(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	if configMap, ok := object.(*v1.ConfigMap); ok && configMap.Name == s.config.Name {
		s.mu.Lock()
		defer s.unlock()
		s.unreadable = nil
	}
}

// seen reads an object from the watch. It returns false if there is no ledger to adopt.
func (s *Store) seen(object *v1.ConfigMap) (ledger.Document, bool) {
	s.mu.Lock()
	defer s.unlock()
	document, err := s.read(object)
	if err != nil || document.Format == 0 {
		return document, false
	}
	s.newest = max(s.newest, document.Generation)
	return document, document.Writer != s.config.Writer // a process does not adopt its own ledger
}

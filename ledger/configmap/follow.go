package configmap

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/ledger"
)

// Follow calls adopt with every ledger that another process writes, until the
// context ends. A ConfigMap that is deleted changes nothing: what is known
// stays until its time is over.
func (s *Store) Follow(ctx context.Context, adopt func(ledger.Document)) {
	list := cache.NewListWatchFromClient(s.config.Client.CoreV1().RESTClient(), "configmaps", s.config.Namespace,
		fields.OneTermEqualSelector("metadata.name", s.config.Name))
	feed := feed{func(object *v1.ConfigMap) {
		if object.Name != s.config.Name {
			return
		}
		if document, ok := s.seen(object); ok {
			adopt(document)
		}
	}}
	cache.NewReflectorWithOptions(list, &v1.ConfigMap{}, feed, cache.ReflectorOptions{Name: "ledger"}).RunWithContext(ctx)
}

// seen reads an object that the watch delivered.
func (s *Store) seen(object *v1.ConfigMap) (ledger.Document, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	document, err := s.read(object)
	if err != nil || document.Format == 0 {
		return document, false
	}
	s.newest = max(s.newest, document.Generation)
	return document, document.Writer != s.config.Writer // what this process wrote it knows
}

// feed is a reflector's store that keeps nothing.
type feed struct{ seen func(*v1.ConfigMap) }

var _ cache.ReflectorStore = feed{}

func (f feed) Add(object any) error {
	configMap, ok := object.(*v1.ConfigMap)
	if !ok {
		return fmt.Errorf("following the ledger: got %T", object)
	}
	f.seen(configMap)
	return nil
}

func (f feed) Update(object any) error { return f.Add(object) }

func (f feed) Delete(any) error { return nil }

func (f feed) Replace(objects []any, _ string) error {
	for _, object := range objects {
		if err := f.Add(object); err != nil {
			return err
		}
	}
	return nil
}

func (f feed) Resync() error { return nil }

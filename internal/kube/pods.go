package kube

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Slimmer reduces pods to what is read. Decode decodes a pod or a list of pods from
// protobuf; it returns false for anything else. Transform reduces objects that were decoded
// otherwise.
type Slimmer interface {
	Decode(data []byte) (runtime.Object, bool)
	Transform(object any) (any, error)
}

// ListWatchPods lists and watches the pods of all namespaces, as the Slimmer decodes them.
func (c *Connection) ListWatchPods(slimmer Slimmer) (cache.ListerWatcher, error) {
	if c.config == nil {
		return c.ListWatch("pods"), nil
	}
	core := rest.CopyConfig(c.config)
	core.GroupVersion, core.APIPath = &v1.SchemeGroupVersion, "/api"
	core.NegotiatedSerializer = slimming{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion(), slimmer}
	client, err := rest.RESTClientForConfigAndClient(core, c.over)
	if err != nil {
		return nil, fmt.Errorf("making the client of pods: %w", err)
	}
	return listWatch(client, "pods"), nil
}

// WatchPods makes an unused factory watch pods with ListWatchPods. They are not indexed by
// namespace, because nobody lists those of one namespace.
func (c *Connection) WatchPods(factory informers.SharedInformerFactory, slimmer Slimmer) error {
	if c.config == nil {
		return nil // the factory transforms the pods of a fake
	}
	source, err := c.ListWatchPods(slimmer)
	if err != nil {
		return err
	}
	factory.InformerFor(&v1.Pod{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return slimmed{cache.NewSharedIndexInformer(source, &v1.Pod{}, resync, cache.Indexers{})}
	})
	return nil
}

// slimmed is an informer whose objects are slim when they are decoded. A factory would
// transform them again, twice in first lists.
type slimmed struct{ cache.SharedIndexInformer }

// SetTransform implements cache.SharedInformer.
func (slimmed) SetTransform(cache.TransformFunc) error { return nil }

// slimming decodes with a Slimmer.
type slimming struct {
	runtime.NegotiatedSerializer

	slimmer Slimmer
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s slimming) SupportedMediaTypes() []runtime.SerializerInfo {
	types := slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes())
	for i := range types {
		types[i].Serializer = slimSerializer{types[i].Serializer, s.slimmer}
	}
	return types
}

type slimSerializer struct {
	runtime.Serializer

	slimmer Slimmer
}

// Decode implements runtime.Decoder.
func (s slimSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if object, ok := s.slimmer.Decode(data); ok && into == nil {
		return object, defaults, nil
	}
	object, kind, err := s.Serializer.Decode(data, defaults, into)
	if err == nil {
		_, err = s.slimmer.Transform(object)
	}
	return object, kind, err
}

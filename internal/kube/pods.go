package kube

import (
	"net/http"
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

// watchedClient returns a client of core resources for lists and watches. It decodes what
// prune leaves of an object in protobuf.
func watchedClient(config *rest.Config, over *http.Client, prune func([]byte) []byte) (*rest.RESTClient, error) {
	core := rest.CopyConfig(config)
	core.GroupVersion, core.APIPath = &v1.SchemeGroupVersion, "/api"
	core.NegotiatedSerializer = pruning{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion(), prune}
	return rest.RESTClientForConfigAndClient(core, over)
}

// WatchPods makes an unused factory watch pods with ListWatch.
func (c *Connection) WatchPods(factory informers.SharedInformerFactory) {
	if c.watched == nil {
		return // the client is a fake
	}
	factory.InformerFor(&v1.Pod{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(c.ListWatch("pods"), &v1.Pod{}, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	})
}

// pruning prunes objects in protobuf before they are decoded.
type pruning struct {
	runtime.NegotiatedSerializer

	prune func([]byte) []byte
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (p pruning) SupportedMediaTypes() []runtime.SerializerInfo {
	types := slices.Clone(p.NegotiatedSerializer.SupportedMediaTypes())
	for i := range types {
		if types[i].MediaType == runtime.ContentTypeProtobuf {
			types[i].Serializer = prunedSerializer{types[i].Serializer, p.prune}
		}
	}
	return types
}

type prunedSerializer struct {
	runtime.Serializer

	prune func([]byte) []byte
}

// Decode implements runtime.Decoder.
func (p prunedSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return p.Serializer.Decode(p.prune(data), defaults, into)
}

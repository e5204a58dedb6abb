package kube

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// marking is a Slimmer that marks the pods that it sees.
type marking struct{}

func (marking) Decode(data []byte) (runtime.Object, bool) {
	object, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(data, nil, nil)
	switch o := object.(type) {
	case *v1.Pod:
		o.Status.HostIP = "decoded"
	case *v1.PodList:
		o.Items[0].Status.HostIP = "decoded"
	}
	return object, err == nil
}

func (marking) Transform(object any) (any, error) {
	if pod, ok := object.(*v1.Pod); ok {
		pod.Status.HostIP = "transformed"
	}
	return object, nil
}

func encoded(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	var data bytes.Buffer
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	if err := scheme.Codecs.EncoderForVersion(serializer, v1.SchemeGroupVersion).Encode(object, &data); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// A Slimmer decodes the pods that are listed and watched, and those that the informers of a factory
// watch. They are not transformed again.
func TestWatchedPodsAreSlim(t *testing.T) {
	pod := func(host string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", ResourceVersion: "1"}, Status: v1.PodStatus{HostIP: host}}
	}
	whole := encoded(t, pod("10.0.0.1"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			http.Error(w, "not supported", http.StatusBadRequest)
			return
		}
		if r.URL.Query().Get("watch") == "" {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			_, _ = w.Write(encoded(t, &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []v1.Pod{*pod("10.0.0.1")}}))
			return
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
		encoder := streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(w), scheme.Codecs.EncoderForVersion(info.StreamSerializer.Serializer, v1.SchemeGroupVersion))
		_ = encoder.Encode(&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: whole}})
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	c, err := Connect(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := c.ListWatchPods(marking{})
	if err != nil {
		t.Fatal(err)
	}
	source := cache.ToListerWatcherWithContext(pods)
	listed, err := source.ListWithContext(t.Context(), metav1.ListOptions{})
	if list, ok := listed.(*v1.PodList); err != nil || !ok || len(list.Items) != 1 || list.Items[0].Status.HostIP != "decoded" {
		t.Errorf("listed %v, error %v", listed, err)
	}
	watched, err := source.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	event := <-watched.ResultChan()
	watched.Stop()
	if got, ok := event.Object.(*v1.Pod); !ok || got.Name != "a" || got.Status.HostIP != "decoded" {
		t.Errorf("watched %+v", event)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(c.Client, 0, informers.WithTransform(marking{}.Transform))
	if err := c.WatchPods(factory, marking{}); err != nil {
		t.Fatal(err)
	}
	stored := factory.Core().V1().Pods().Lister().Pods("ns")
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	if got, err := stored.Get("a"); err != nil || got.Status.HostIP != "decoded" {
		t.Errorf("the informer has %+v, error %v", got, err)
	}
}

// A server that answers in JSON has its pods transformed.
func TestPodsInJSONAreSlim(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`))
	}))
	t.Cleanup(server.Close)
	c, err := Connect(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := c.ListWatchPods(marking{})
	if err != nil {
		t.Fatal(err)
	}
	object, err := cache.ToListerWatcherWithContext(pods).ListWithContext(t.Context(), metav1.ListOptions{})
	if got, ok := object.(*v1.Pod); err != nil || !ok || got.Status.HostIP != "transformed" {
		t.Errorf("got %v, error %v", object, err)
	}
}

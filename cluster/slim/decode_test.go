package slim_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/internal/testkit"
)

var wire = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

func encoded(t testing.TB, object runtime.Object) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := scheme.Codecs.EncoderForVersion(wire, v1.SchemeGroupVersion).Encode(object, &data); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func decoded(t testing.TB, data []byte) runtime.Object {
	t.Helper()
	object, _, err := wire.Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// withAllVolumes returns a pod with a value in every field and a volume of every kind.
func withAllVolumes() *v1.Pod {
	pod, sources := full("a"), full("a").Spec.Volumes[0]
	sources.VolumeSource = v1.VolumeSource{
		Secret:      &v1.SecretVolumeSource{SecretName: "s"},
		ConfigMap:   &v1.ConfigMapVolumeSource{Items: []v1.KeyToPath{{Key: "k"}}},
		Projected:   &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{}}},
		DownwardAPI: &v1.DownwardAPIVolumeSource{Items: []v1.DownwardAPIVolumeFile{{Path: "p"}}},
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, sources)
	return pod
}

// A pod that is decoded is stored like one that was decoded before, alone and in a list.
func TestDecodedPodsAreStoredLikeTransformedOnes(t *testing.T) {
	pods := map[string]*v1.Pod{"with all fields": withAllVolumes(), "usual": testkit.Pod(), "empty": {}}
	for name, pod := range pods {
		want := slimmed(t, slim.New(), pod.DeepCopy())
		want.TypeMeta = metav1.TypeMeta{}
		object, ok := slim.New().Decode(encoded(t, pod))
		if diff := cmp.Diff(runtime.Object(want), object); !ok || diff != "" {
			t.Errorf("%s: decoded %t (-transformed +decoded):\n%s", name, ok, diff)
		}
		list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []v1.Pod{*testkit.Pod(), *pod}}
		object, ok = slim.New().Decode(encoded(t, list))
		got, _ := object.(*v1.PodList)
		if !ok || got == nil || len(got.Items) != 2 || got.ResourceVersion != "7" {
			t.Fatalf("%s: decoded %t, got %+v", name, ok, got)
		}
		if diff := cmp.Diff(*want, got.Items[1]); diff != "" {
			t.Errorf("%s, in a list (-transformed +decoded):\n%s", name, diff)
		}
	}
}

// What is no pod, or is cut off, is left to the standard decoder, so that it reports the error.
func TestOnlyPodsAreDecoded(t *testing.T) {
	whole := encoded(t, withAllVolumes())
	for length := range len(whole) {
		cut := whole[:length]
		if _, _, err := wire.Decode(cut, nil, nil); err != nil {
			if _, ok := slim.New().Decode(cut); ok {
				t.Errorf("the first %d of %d bytes were decoded", length, len(whole))
			}
		}
	}
	for name, data := range map[string][]byte{
		"a node": encoded(t, &v1.Node{}), "JSON": []byte(`{"kind":"Pod","apiVersion":"v1"}`), "nothing": nil, "noise": []byte("k8s\x00\xff\xff\xff"),
	} {
		if got, ok := slim.New().Decode(data); ok {
			t.Errorf("%s was decoded: %v", name, got)
		}
	}
}

// The bookmark that ends a streamed list is recognized by an annotation.
func TestBookmarksKeepTheirAnnotation(t *testing.T) {
	bookmark := &v1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	object, ok := slim.New().Decode(encoded(t, bookmark))
	if diff := cmp.Diff(runtime.Object(bookmark), object); !ok || diff != "" {
		t.Errorf("decoded %t (-want +got):\n%s", ok, diff)
	}
}

// BenchmarkDecode decodes a replica as an informer does. For comparison, it also decodes the
// whole replica, which is what an informer without a Slimmer costs.
func BenchmarkDecode(b *testing.B) {
	data, s := encoded(b, testkit.Pod()), slim.New()
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = decoded(b, data)
		}
	})
	b.Run("slim", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := s.Decode(data); !ok {
				b.Fatal("not decoded")
			}
		}
	})
}

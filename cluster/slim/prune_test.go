package slim_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
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

// A pod that was pruned before it was decoded is stored like any other.
func TestPrunedPodsAreStoredLikeWholeOnes(t *testing.T) {
	for name, pod := range map[string]*v1.Pod{"with all fields": withAllVolumes(), "usual": testkit.Pod(), "empty": {}} {
		data := encoded(t, pod)
		pruned := slim.Prune(data)
		want, got := slimmed(t, slim.New(), decoded(t, data)), slimmed(t, slim.New(), decoded(t, pruned))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-whole +pruned):\n%s", name, diff)
		}
		if name == "usual" && len(pruned) > len(data)*2/3 {
			t.Errorf("of the usual pod's %d bytes, %d are left", len(data), len(pruned))
		}
	}
}

// Pruning removes all fields of a pod that are dropped whatever their values, so that decoding
// them costs nothing.
func TestPrunedFields(t *testing.T) {
	pod, ok := decoded(t, slim.Prune(encoded(t, withAllVolumes()))).(*v1.Pod)
	if !ok {
		t.Fatal("no pod")
	}
	stored := slimmed(t, slim.New(), pod.DeepCopy())
	pod.Annotations, stored.Annotations = nil, nil   // chosen by key
	pod.Spec.Volumes, stored.Spec.Volumes = nil, nil // chosen by kind
	for _, p := range []*v1.Pod{pod, stored} {
		for _, of := range [][]v1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses} {
			of[0].State.Running = nil // chosen by time
		}
	}
	if diff := cmp.Diff(stored, pod); diff != "" {
		t.Errorf("fields that should have been pruned (-stored +pruned):\n%s", diff)
	}
}

func TestListsArePruned(t *testing.T) {
	list := &v1.PodList{Items: []v1.Pod{*withAllVolumes(), *testkit.Pod()}}
	list.ResourceVersion = "7"
	data := encoded(t, list)
	got, ok := decoded(t, slim.Prune(data)).(*v1.PodList)
	if !ok || len(got.Items) != 2 || got.ResourceVersion != "7" {
		t.Fatalf("got %+v", got)
	}
	for i := range got.Items {
		alone, _ := decoded(t, slim.Prune(encoded(t, &list.Items[i]))).(*v1.Pod)
		alone.TypeMeta = got.Items[i].TypeMeta
		if diff := cmp.Diff(*alone, got.Items[i]); diff != "" {
			t.Errorf("pod %d (-alone +in a list):\n%s", i, diff)
		}
	}
}

// What is no pod, or is cut off, is returned unchanged, so that the decoder reports it.
func TestOnlyPodsArePruned(t *testing.T) {
	whole := encoded(t, withAllVolumes())
	for length := range len(whole) {
		cut := whole[:length]
		if _, _, err := wire.Decode(cut, nil, nil); err != nil && !bytes.Equal(slim.Prune(cut), cut) {
			t.Errorf("the first %d of %d bytes have changed", length, len(whole))
		}
	}
	for name, data := range map[string][]byte{
		"a node": encoded(t, &v1.Node{}), "JSON": []byte(`{"kind":"Pod","apiVersion":"v1"}`), "nothing": nil, "noise": []byte("k8s\x00\xff\xff\xff"),
	} {
		if got := slim.Prune(data); !bytes.Equal(got, data) {
			t.Errorf("%s has changed: %q", name, got)
		}
	}
}

// BenchmarkPrune decodes and transforms a replica as an informer does, whole and pruned.
func BenchmarkPrune(b *testing.B) {
	data, s := encoded(b, testkit.Pod()), slim.New()
	for name, prune := range map[string]func([]byte) []byte{"whole": func(data []byte) []byte { return data }, "pruned": slim.Prune} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := s.Transform(decoded(b, prune(data))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

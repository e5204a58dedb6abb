package slim

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Objects that no informer should deliver are passed on unchanged.
func TestUnexpectedObjectsArePassedOn(t *testing.T) {
	cases := map[string]any{
		"nothing": nil, "a word": "pod", "a tombstone": cache.DeletedFinalStateUnknown{Key: "a/b", Obj: &v1.Pod{}}, "no pod": v1.Pod{},
	}
	for name, object := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := New().Transform(object)
			if err != nil || fmt.Sprintf("%T", out) != fmt.Sprintf("%T", object) {
				t.Errorf("got %T, error %v; want %T", out, err, object)
			}
		})
	}
}

// Pods with hardly any fields, or with odd owners, are accepted.
func TestOddPods(t *testing.T) {
	yes, no := true, false
	cases := map[string]*v1.Pod{
		"an empty one":                        {},
		"an owner without a UID":              {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Controller: &yes}}}},
		"an owner that is not the controller": {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "a", Controller: &no}}}},
		"states without a state":              {Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{}}, Conditions: []v1.PodCondition{{}}}},
		"a huge name":                         {Spec: v1.PodSpec{NodeName: strings.Repeat("n", 1<<16)}},
	}
	s := New()
	for name, pod := range cases {
		t.Run(name, func(t *testing.T) {
			want := pod.Spec.NodeName
			for range 2 {
				out, err := s.Transform(pod)
				if err != nil || out != pod || pod.Spec.NodeName != want {
					t.Errorf("got %v, error %v", out, err)
				}
			}
		})
	}
}

// Whatever arrives, what is remembered is bounded, and sharing continues.
func TestMemoryIsBounded(t *testing.T) {
	var p pods
	for i := range mostShared + 10 {
		word := fmt.Sprint(i)
		got, err := p.labels.get([]byte(word), func(data []byte) (meta metav1.ObjectMeta, _ error) {
			meta.Name = string(data)
			return meta, nil
		})
		if node := p.node(word); err != nil || got.Name != word || node != word {
			t.Fatalf("got %q and %q for %s, error %v", got.Name, node, word, err)
		}
		if len(p.labels.known) > mostShared || len(p.nodes) > mostShared {
			t.Fatalf("%d labels and %d nodes are remembered", len(p.labels.known), len(p.nodes))
		}
	}
}

// Large parts are bounded by their size, not only by their number.
func TestMemoryOfLargePartsIsBounded(t *testing.T) {
	var p pods
	large := make([]byte, 1<<20)
	for i := range 2 * mostSharedBytes / len(large) {
		large[0], large[1] = byte(i), byte(i>>8)
		if _, err := p.labels.get(large, func([]byte) (meta metav1.ObjectMeta, _ error) { return meta, nil }); err != nil {
			t.Fatal(err)
		}
		if remembered := len(p.labels.known) * len(large); remembered > mostSharedBytes {
			t.Fatalf("parts of %d bytes are remembered", remembered)
		}
	}
}

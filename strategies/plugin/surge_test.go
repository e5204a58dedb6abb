package plugin

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

// The one check that a surge makes pointless lets a pod pass, and only that:
// held against the DefaultEvictor itself, because it is its way of counting
// that is made use of.
func TestSurgePassesMinReplicas(t *testing.T) {
	asks := map[string]string{"asks": "yes"}
	controlled := func(kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: "owner", UID: "owner", Controller: new(true)}}
	}
	cases := map[string]struct {
		change func(*v1.Pod)
		want   bool
	}{
		"a single pod":           {func(pod *v1.Pod) { pod.Annotations = nil }, false},
		"a single pod that asks": {func(*v1.Pod) {}, true},
		"that asks, with local storage": {func(pod *v1.Pod) {
			pod.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		}, false},
		"that asks, without an owner":           {func(pod *v1.Pod) { pod.OwnerReferences = nil }, false},
		"that asks, of a DaemonSet":             {func(pod *v1.Pod) { pod.OwnerReferences = controlled("DaemonSet") }, false},
		"that asks, and is terminating":         {func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, false},
		"that asks, of a critical priority":     {func(pod *v1.Pod) { pod.Spec.Priority = new(int32(2_000_000_000)) }, false},
		"that asks, with upstream's annotation": {func(pod *v1.Pod) { pod.Annotations[upstreamEvict] = "" }, true},
	}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	handle := &frameworkfake.HandleImpl{SharedInformerFactoryImpl: factory}
	evictor, err := defaultevictor.New(t.Context(), &defaultevictor.DefaultEvictorArgs{MinReplicas: 2}, handle)
	if err != nil {
		t.Fatal(err)
	}
	filter, ok := evictor.(frameworktypes.EvictorPlugin)
	if !ok {
		t.Fatalf("%T filters nothing", evictor)
	}
	handle.EvictorFilterImpl = filter
	p := &Plugin{handle: handle, deps: Deps{Half: surging{}}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", OwnerReferences: controlled("ReplicaSet"), Annotations: asks}}
			pod = pod.DeepCopy()
			tc.change(pod)
			owners := len(pod.OwnerReferences)
			if got := filter.Filter(p.filtered(pod)); got != tc.want {
				t.Errorf("passes %v, want %v", got, tc.want)
			}
			if len(pod.OwnerReferences) != owners {
				t.Errorf("the watch's pod has %d owners by now", len(pod.OwnerReferences))
			}
		})
	}
}

const upstreamEvict = "descheduler.alpha.kubernetes.io/evict"

// surging is an evicting half in which the pods surge that ask for it.
type surging struct{ Half }

func (surging) Surges(pod *v1.Pod) bool { return pod.Annotations["asks"] != "" }

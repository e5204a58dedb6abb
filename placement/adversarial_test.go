package placement

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// Whatever the objects contain, there is a result and no panic.
func TestStrangeObjectsGetResults(t *testing.T) {
	badSelector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
	strange := map[string]func(*v1.Pod){
		"no spec":                     func(p *v1.Pod) { p.Spec = v1.PodSpec{NodeName: p.Spec.NodeName} },
		"no UID":                      func(p *v1.Pod) { p.UID = "" },
		"no name":                     func(p *v1.Pod) { p.Name = "" },
		"no owner":                    func(p *v1.Pod) { p.OwnerReferences = nil },
		"empty affinity":              func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{} },
		"affinity without terms":      func(p *v1.Pod) { affinityOf(p).PodAffinity = &v1.PodAffinity{} },
		"anti-affinity, no selector":  antiAffinity(v1.LabelHostname, nil),
		"anti-affinity, no topology":  antiAffinity("", &metav1.LabelSelector{}),
		"anti-affinity, bad selector": antiAffinity(v1.LabelHostname, badSelector),
		"affinity, bad selector":      podsAffinity(v1.LabelHostname, badSelector),
		"namespaces, bad selector": antiAffinity(v1.LabelHostname, nil, func(t *v1.PodAffinityTerm) {
			t.NamespaceSelector = badSelector
		}),
		"spread, no selector":    spread(v1.LabelHostname, 1, nil),
		"spread, bad selector":   spread(v1.LabelHostname, 1, badSelector),
		"spread, no topology":    spread("", 0, &metav1.LabelSelector{}),
		"spread, negative skew":  spread(v1.LabelHostname, -5, &metav1.LabelSelector{}),
		"node affinity, empty":   func(p *v1.Pod) { affinityOf(p).NodeAffinity = &v1.NodeAffinity{} },
		"node affinity, no term": onNodesNamed(),
		"node affinity, bad operator": func(p *v1.Pod) {
			onNodesNamed("a")(p)
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Operator = "Like"
		},
		"negative requests": cpu("-4"),
		"gigantic requests": func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
		},
		"unknown resources":       func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["x.io/y"] = resource.MustParse("1") },
		"port out of range":       hostPort(-1),
		"a volume without a kind": func(p *v1.Pod) { p.Spec.Volumes = []v1.Volume{{}} },
		"a claim without a name":  claim(""),
		"resource claim":          resourceClaim,
		"empty claim":             func(p *v1.Pod) { p.Spec.ResourceClaims = []v1.PodResourceClaim{{}} },
		"ephemeral, no spec": func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
		},
		"scheduling group": func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{} },
		"being deleted":    beingDeleted,
		"nil ports":        func(p *v1.Pod) { p.Spec.Containers = append(p.Spec.Containers, v1.Container{}) },
	}
	nodes := []*v1.Node{
		aNode("a"),
		{ObjectMeta: metav1.ObjectMeta{Name: "bare"}},
		aNode("b", func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("-1") }),
		aNode("b"), // listed twice
	}
	for name, change := range strange {
		t.Run(name, func(t *testing.T) {
			f := offline(t)
			pods := []*v1.Pod{aPod("strange", "a", change), aPod("twin", "b", change), aPod("normal", "a", podLabel("app", "web"))}
			pods = append(pods, pods[0]) // listed twice
			syncAll(t, f, nodes, pods)
			s := f.Begin()
			defer s.Close()
			for _, pod := range pods {
				for _, node := range []string{"a", "b", "bare", "unknown", ""} {
					if v := s.Fits(pod, node); v.OK == (v.Reason != "") {
						t.Errorf("%s on %q: %+v, want a reason exactly when refused", pod.Name, node, v)
					}
				}
			}
			mustMove(t, s, pods[0], "bare")
			s.Fits(pods[1], "a")
			s.Fits(pods[2], "bare")
		})
	}
}

func TestSyncReportsWhatItLeavesOut(t *testing.T) {
	f := offline(t)
	pod := aPod("web-0", "a")
	err := f.Sync([]*v1.Node{nil, {}, aNode("a"), aNode("b")}, []*v1.Pod{nil, {}, pod, aPod("pending", ""), aPod("elsewhere", "z")})
	want := "synchronising snapshot: left out 2 nodes and 2 pods: nil or unnamed object"
	if err == nil || err.Error() != want {
		t.Errorf("Sync returned %v, want %q", err, want)
	}
	s := f.Begin()
	defer s.Close()
	if v := s.Fits(pod, "b"); !v.OK {
		t.Errorf("what was sound is not in the snapshot: %+v", v)
	}
}

func TestAnEmptySnapshotRefuses(t *testing.T) {
	s := offline(t).Begin()
	defer s.Close()
	if v := s.Fits(aPod("web-0", "a"), "a"); v.OK {
		t.Errorf("result of an empty snapshot: %+v", v)
	}
}

// New requests only the informers that the plugins read, because each informer costs memory and
// needs a permission.
func TestOnlyNeededInformersAreRequested(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  Config
		want map[string]bool
	}{
		"without DynamicResources": {want: needed()},
		"with DynamicResources": {
			cfg:  Config{DynamicResources: true},
			want: needed("*v1.ResourceClaim", "*v1.ResourceSlice", "*v1.DeviceClass"),
		},
	} {
		t.Run(name, func(t *testing.T) { compareInformers(t, tc.cfg, tc.want) })
	}
}

func needed(more ...string) map[string]bool {
	m := map[string]bool{}
	for _, kind := range append(more,
		// VolumeBinding needs the listers of pods and nodes, which the process has anyway.
		"*v1.Pod", "*v1.Node",
		"*v1.Namespace", "*v1.PersistentVolumeClaim", "*v1.PersistentVolume", "*v1.StorageClass",
		"*v1.CSINode", "*v1.CSIDriver", "*v1.CSIStorageCapacity", "*v1.VolumeAttachment") {
		m[kind] = true
	}
	return m
}

func compareInformers(t *testing.T, cfg Config, want map[string]bool) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	cfg.Informers = factory
	if _, err := New(t.Context(), cfg); err != nil {
		t.Fatalf("New: %v", err)
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	got := map[string]bool{}
	for kind := range factory.WaitForCacheSync(t.Context().Done()) {
		got[kind.String()] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("informers (-want +got):\n%s", diff)
	}
}

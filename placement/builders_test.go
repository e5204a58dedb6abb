package placement

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

const zoneKey = v1.LabelTopologyZone

// aNode returns a node with 4 cores, 16 GiB, space for 110 pods, and its hostname label.
func aNode(name string, change ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU:    resource.MustParse("4"),
			v1.ResourceMemory: resource.MustParse("16Gi"),
			v1.ResourcePods:   resource.MustParse("110"),
		}},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

func nodeLabel(key, value string) func(*v1.Node) {
	return func(n *v1.Node) { n.Labels[key] = value }
}

func nodeTaint(key string, effect v1.TaintEffect) func(*v1.Node) {
	return func(n *v1.Node) { n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Effect: effect}) }
}

func allocatable(name v1.ResourceName, quantity string) func(*v1.Node) {
	return func(n *v1.Node) { n.Status.Allocatable[name] = resource.MustParse(quantity) }
}

// aPod returns a ReplicaSet's pod on a node that requests 100m and 100Mi.
func aPod(name, node string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name),
			OwnerReferences: ownedBy("ReplicaSet", "web"),
		},
		Spec: v1.PodSpec{
			NodeName:   node,
			Containers: []v1.Container{{Name: "main", Resources: requesting("100m", "100Mi")}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func ownedBy(kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(kind + "/" + name), Controller: &yes}}
}

func requesting(cpu, memory string) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory),
	}}
}

func cpu(quantity string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers[0].Resources = requesting(quantity, "100Mi") }
}

// resized makes the kubelet report that the pod runs with requests that differ from its spec.
func resized(quantity string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		told := requesting(quantity, "100Mi")
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: p.Spec.Containers[0].Name, Resources: &told}}
	}
}

func podLabel(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

func inNamespace(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Namespace = name }
}

func statefulSet(p *v1.Pod) { p.OwnerReferences = ownedBy("StatefulSet", "db") }

func beingDeleted(p *v1.Pod) {
	at := metav1.NewTime(time.Unix(1, 0))
	p.DeletionTimestamp = &at
}

func nodeSelector(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func hostPort(port int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: port, ContainerPort: port}}
	}
}

func claim(name string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
}

func selecting(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func affinityOf(p *v1.Pod) *v1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	return p.Spec.Affinity
}

func antiAffinity(topology string, selector *metav1.LabelSelector, change ...func(*v1.PodAffinityTerm)) func(*v1.Pod) {
	return func(p *v1.Pod) {
		term := v1.PodAffinityTerm{LabelSelector: selector, TopologyKey: topology}
		for _, c := range change {
			c(&term)
		}
		affinityOf(p).PodAntiAffinity = &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term},
		}
	}
}

func podsAffinity(topology string, selector *metav1.LabelSelector) func(*v1.Pod) {
	return func(p *v1.Pod) {
		affinityOf(p).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{LabelSelector: selector, TopologyKey: topology},
		}}
	}
}

func onNodesNamed(names ...string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		var terms []v1.NodeSelectorTerm
		for _, name := range names {
			terms = append(terms, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{name}},
			}})
		}
		affinityOf(p).NodeAffinity = &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms},
		}
	}
}

func spread(topology string, maxSkew int32, selector *metav1.LabelSelector) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: maxSkew, TopologyKey: topology, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector,
		})
	}
}

// withFilters returns Filters for a cluster that serves the given objects.
func withFilters(t testing.TB, cfg Config, objects ...runtime.Object) *Filters {
	t.Helper()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	cfg.Client, cfg.Informers = client, factory
	f := newFilters(t, cfg)
	factory.Start(t.Context().Done())
	for kind, ok := range factory.WaitForCacheSync(t.Context().Done()) {
		if !ok {
			t.Fatalf("informer of %v did not sync", kind)
		}
	}
	if !cache.WaitForCacheSync(t.Context().Done(), f.HasSynced) {
		t.Fatal("the plugins' caches did not sync")
	}
	t.Cleanup(factory.Shutdown)
	return f
}

// offline returns Filters without a cluster.
func offline(t testing.TB) *Filters {
	t.Helper()
	return newFilters(t, Config{})
}

func newFilters(t testing.TB, cfg Config) *Filters {
	t.Helper()
	f, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return f
}

func syncAll(t testing.TB, f *Filters, nodes []*v1.Node, pods []*v1.Pod) {
	t.Helper()
	if err := f.Sync(nodes, pods); err != nil {
		t.Fatalf("Sync: %v", err)
	}
}

func mustMove(t testing.TB, s *Session, pod *v1.Pod, dest string) (undo func()) {
	t.Helper()
	undo, err := s.Move(pod, dest)
	if err != nil {
		t.Fatalf("Move(%s, %s): %v", pod.Name, dest, err)
	}
	return undo
}

func numbered(prefix string, i int) string { return fmt.Sprintf("%s-%d", prefix, i) }

package informed

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
)

func TestNodeRecord(t *testing.T) {
	whole := cluster.Node{Name: "n", Allocatable: cluster.Amounts{4000, 16 << 30}, Ready: true, Schedulable: true}
	with := func(change func(*cluster.Node)) cluster.Node {
		n := whole
		change(&n)
		return n
	}
	taint := func(key string) func(*v1.Node) {
		return func(n *v1.Node) { n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key}) }
	}
	cases := map[string]struct {
		change func(*v1.Node)
		want   cluster.Node
	}{
		"as usual": {func(*v1.Node) {}, whole},
		"cordoned": {func(n *v1.Node) { n.Spec.Unschedulable = true }, with(func(n *cluster.Node) { n.Schedulable = false })},
		"not ready": {
			func(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionUnknown },
			with(func(n *cluster.Node) { n.Ready = false }),
		},
		"without conditions": {func(n *v1.Node) { n.Status.Conditions = nil }, with(func(n *cluster.Node) { n.Ready = false })},
		"without a size":     {func(n *v1.Node) { n.Status.Allocatable = nil }, with(func(n *cluster.Node) { n.Allocatable = cluster.Amounts{} })},
		"of half a core": {
			func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1500001u") }, // rounded up to 1501 m
			with(func(n *cluster.Node) { n.Allocatable[cluster.CPU] = 1501 }),
		},
		"tainted": {taint("dedicated"), with(func(n *cluster.Node) { n.Taints = []string{"dedicated"} })},
		"tainted for some pods": {
			func(n *v1.Node) {
				n.Spec.Taints = []v1.Taint{
					{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule}, {Key: "hard", Effect: v1.TaintEffectNoSchedule}, {Key: "harder", Effect: v1.TaintEffectNoExecute},
				}
			},
			with(func(n *cluster.Node) {
				n.Taints, n.Repelling = []string{"soft", "hard", "harder"}, []string{"hard", "harder"}
			}),
		},
		"with the fields that usage sources need": {
			func(n *v1.Node) {
				n.Labels = map[string]string{"pool": "batch"}
				n.Annotations = map[string]string{
					"cpu_usage_avg_5m": "0.16500,2026-03-01T12:00:00Z", "mem_usage_avg_5m": "1.5,2026-03-01T12:00:00Z",
					cluster.ResourceMetricsPath: "/metrics/n", "node.alpha.kubernetes.io/ttl": "0",
				}
				n.Status.Capacity = v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("32Gi")}
				n.Status.Addresses = []v1.NodeAddress{
					{Type: v1.NodeHostName, Address: "host"}, {Type: v1.NodeInternalIP, Address: "10.0.0.1"}, {Type: v1.NodeInternalIP, Address: "fd00::1"},
				}
				n.Status.DaemonEndpoints.KubeletEndpoint.Port = 10250
			},
			with(func(n *cluster.Node) {
				n.Labels = map[string]string{"pool": "batch"}
				n.UsageAnnotations = map[string]string{
					"cpu_usage_avg_5m": "0.16500,2026-03-01T12:00:00Z", "mem_usage_avg_5m": "1.5,2026-03-01T12:00:00Z",
					cluster.ResourceMetricsPath: "/metrics/n",
				}
				n.Capacity = cluster.Amounts{8000, 32 << 30}
				n.InternalIP, n.Hostname, n.KubeletPort = "10.0.0.1", "host", 10250
			}),
		},
		"with huge pages": {
			func(n *v1.Node) {
				n.Status.Capacity = v1.ResourceList{
					v1.ResourceMemory: resource.MustParse("32Gi"), "hugepages-2Mi": resource.MustParse("4Gi"), "hugepages-1Gi": resource.MustParse("8Gi"), "hugepages-64Ki": resource.MustParse("-1"),
				}
			},
			with(func(n *cluster.Node) { n.Capacity, n.HugePages = cluster.Amounts{0, 32 << 30}, 12<<30 }),
		},
		"with more huge pages than memory": {
			func(n *v1.Node) {
				n.Status.Capacity = v1.ResourceList{v1.ResourceMemory: resource.MustParse("32Gi"), "hugepages-2Mi": resource.MustParse("8E"), "hugepages-1Gi": resource.MustParse("8E")}
			},
			with(func(n *cluster.Node) { n.Capacity, n.HugePages = cluster.Amounts{0, 32 << 30}, 32<<30 }),
		},
		"being deleted": {
			func(n *v1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
			with(func(n *cluster.Node) {
				n.Deleting, n.Since = true, map[string]time.Time{cluster.DeletionSign: time.Unix(1, 0)}
			}),
		},
		"with timed taints": {
			func(n *v1.Node) {
				n.Spec.Taints = []v1.Taint{
					{Key: cluster.CordonTaint, TimeAdded: &metav1.Time{Time: time.Unix(5, 0)}},
					{Key: "ToBeDeletedByClusterAutoscaler", Value: "7"}, {Key: "dedicated", Value: "7"},
				}
			},
			with(func(n *cluster.Node) {
				n.Taints = []string{cluster.CordonTaint, "ToBeDeletedByClusterAutoscaler", "dedicated"}
				n.Since = map[string]time.Time{cluster.CordonTaint: time.Unix(5, 0), "ToBeDeletedByClusterAutoscaler": time.Unix(7, 0)}
			}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := aNode("n", tc.change)
			if diff := cmp.Diff(tc.want, Node(object)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			// Fields that a reflector drops before storing do not affect the record.
			slimmed, err := nodeFeed{}.Transformer()(object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, Node(slimmed.(*v1.Node))); diff != "" {
				t.Errorf("slimmed record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodRecord(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	needs := func(cpu string) v1.ResourceRequirements {
		return v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}, Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")},
		}
	}
	priority := int32(1000)
	object := aPod("p", "n1", func(p *v1.Pod) {
		p.CreationTimestamp, p.Status.StartTime = metav1.Time{Time: time.Unix(100, 0)}, &metav1.Time{Time: time.Unix(110, 0)}
		p.Spec.Priority = &priority
		p.Spec.Containers = []v1.Container{{Name: "a", Resources: needs("100m")}, {Name: "b", Resources: needs("200m")}}
		// A sidecar counts in addition to the containers. The other init container needs less than
		// their sum.
		p.Spec.InitContainers = []v1.Container{{Name: "sidecar", RestartPolicy: &always, Resources: needs("50m")}, {Name: "init", Resources: needs("200m")}}
		p.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("10m")}
		p.Status.QOSClass = v1.PodQOSBurstable
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	})
	want := &cluster.Pod{
		UID: "uid-p", Namespace: "ns", Name: "p", Node: "n1",
		Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, TemplateHash: "h1",
		Requests: cluster.Amounts{360, 0}, Limits: cluster.Amounts{0, 3 << 30}, // an amount without a limit has none, with or without overhead
		Priority: 1000, Created: time.Unix(100, 0), Started: time.Unix(110, 0), Ready: true, Scheduled: true,
	}
	if diff := cmp.Diff(want, Pod(object)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	// The reflector stores only the record.
	held, err := podFeed{NewStore(nil)}.Transformer()(object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), held); diff != "" {
		t.Errorf("what a reflector holds (-want +got):\n%s", diff)
	}
}

// The CPU limits of a pod are those at which the kernel throttles: that of each container, and that
// of the pod as a whole.
func TestCPULimits(t *testing.T) {
	limited := func(name, cpu string) v1.Container {
		return v1.Container{Name: name, Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}
	}
	store := NewStore(nil)
	var shared []cluster.CPULimits
	for i := range 2 {
		object := aPod(fmt.Sprint("p", i), "n1", func(p *v1.Pod) {
			p.Spec.Containers = []v1.Container{limited("main", "1500m"), {Name: "free"}}
			p.Spec.InitContainers = []v1.Container{limited("sidecar", "1")}
			p.Spec.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}}
		})
		record := store.record(object)
		want := map[string]int64{"": 2000, "main": 1500, "free": 0, "sidecar": 1000}
		for name, limit := range want {
			if got := record.CPULimits.Of([]byte(name)); got != limit {
				t.Errorf("the limit of %q is %d, want %d", name, got, limit)
			}
		}
		shared = append(shared, record.CPULimits)
	}
	if unsafe.StringData(string(shared[0])) != unsafe.StringData(string(shared[1])) {
		t.Error("two records with separate limits")
	}
}

// The cases show which label distinguishes an owner's revisions, and what counts as an owner.
func TestPodOwners(t *testing.T) {
	both := map[string]string{"pod-template-hash": "h1", "controller-revision-hash": "web-7"}
	controller, not := true, false
	refTo := func(kind, name string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: name, UID: uid, Controller: &controller}}
	}
	long := strings.Repeat("x", 254)
	cases := map[string]struct {
		refs []metav1.OwnerReference
		want cluster.Pod
	}{
		"a ReplicaSet":         {[]metav1.OwnerReference{{Kind: "ReplicaSet", UID: "1", Controller: &controller}}, cluster.Pod{Owner: cluster.Owner{UID: "1", Kind: "ReplicaSet"}, TemplateHash: "h1"}},
		"a StatefulSet":        {[]metav1.OwnerReference{{Kind: "StatefulSet", UID: "1", Controller: &controller}}, cluster.Pod{Owner: cluster.Owner{UID: "1", Kind: "StatefulSet"}, TemplateHash: "web-7"}},
		"a DaemonSet":          {[]metav1.OwnerReference{{Kind: "DaemonSet", UID: "1", Controller: &controller}}, cluster.Pod{Owner: cluster.Owner{UID: "1", Kind: "DaemonSet"}, TemplateHash: "web-7"}},
		"nobody":               {},
		"the longest of names": {refTo("ReplicaSet", long[1:], "1"), cluster.Pod{Owner: cluster.Owner{UID: "1", Kind: "ReplicaSet", Name: long[1:]}, TemplateHash: "h1"}},
		"an invalid name":      {refs: refTo("ReplicaSet", long, "1")},
		"an invalid UID":       {refs: refTo("ReplicaSet", "web", types.UID(long))},
		"an invalid kind":      {refs: refTo(long, "web", "1")},
		"not its controller":   {refs: []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "1"}, {Kind: "Thing", UID: "2", Controller: &not}}},
		"the second of owners": {[]metav1.OwnerReference{{Kind: "Thing", UID: "1"}, {Kind: "ReplicaSet", UID: "2", Controller: &controller}}, cluster.Pod{Owner: cluster.Owner{UID: "2", Kind: "ReplicaSet"}, TemplateHash: "h1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Pod(aPod("p", "n1", func(p *v1.Pod) { p.OwnerReferences, p.Labels = tc.refs, both }))
			if got.Owner != tc.want.Owner || got.TemplateHash != tc.want.TemplateHash {
				t.Errorf("owner %+v of template %q, want %+v of %q", got.Owner, got.TemplateHash, tc.want.Owner, tc.want.TemplateHash)
			}
		})
	}
}

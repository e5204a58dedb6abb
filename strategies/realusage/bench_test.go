package realusage

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

const benchPods = 30

// fleet is a cluster of 32-core nodes with 30 pods each, as many workloads as nodes, in three zones. A tenth of the nodes
// is hot and cooled by 7 moves.
type fleet struct {
	nodes   []*v1.Node
	pods    []*v1.Pod
	input   plan.Input
	objects map[string]*v1.Pod
}

func newFleet(nodes int, decorate func(*v1.Pod)) *fleet {
	f := &fleet{objects: map[string]*v1.Pod{}}
	reject, evict := cluster.Percents{60, 75}, cluster.Percents{65, 80} // as shipped
	for i := range nodes {
		node := benchNode(i)
		f.nodes = append(f.nodes, node)
		n := plan.Node{Name: node.Name, Allocatable: informed.Amounts(node.Status.Allocatable), State: plan.Cool}
		n.Predicted = cluster.Amounts{12_000 - int64(i%30)*100, 60 << 30}
		hot := i%10 == 0
		for k := range benchPods {
			pod := benchPod(i, k, nodes)
			decorate(pod)
			f.pods = append(f.pods, pod)
			if hot {
				used := cluster.Amounts{900 + int64(k)*10, 2 << 30}
				n.Pods = append(n.Pods, plan.Pod{Pod: informed.Pod(pod), Usage: used, Disruption: int64(k % 3)})
				n.Current = n.Current.Plus(used)
				f.objects[string(pod.UID)] = pod
			}
		}
		if hot { // 65 % and what 7 pods of the largest use
			n.State, n.Current[cluster.CPU] = plan.Hot, 20_800+7*1100
			n.Predicted = n.Current
			n.Need = n.Current.Minus(evict.CeilingOf(n.Allocatable))
		}
		n.Ceiling = reject.CeilingOf(n.Allocatable)
		f.input.Nodes = append(f.input.Nodes, n)
	}
	return f
}

func benchNode(i int) *v1.Node {
	name := fmt.Sprintf("node-%05d", i)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3),
		}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("32"), v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

func benchPod(node, k, nodes int) *v1.Pod {
	controller, app := true, fmt.Sprintf("app-%05d", (node+nodes-k)%nodes)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("%s-%05d", app, node), UID: types.UID(fmt.Sprintf("uid-%05d-%02d", node, k)), ResourceVersion: "1",
			Labels:          map[string]string{"app": app, "pod-template-hash": app},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: &controller}},
		},
		Spec: v1.PodSpec{NodeName: fmt.Sprintf("node-%05d", node), Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("1Gi")},
		}}}},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
}

func plain(*v1.Pod) {}

// repelling keeps replicas on nodes of their own.
func repelling(p *v1.Pod) {
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
	}}}}
}

// spreading keeps replicas even over the zones.
func spreading(p *v1.Pod) {
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
	}}
}

// BenchmarkPlan plans on kube-scheduler's own filters: one session, one plan.
func BenchmarkPlan(b *testing.B) {
	for name, decorate := range map[string]func(*v1.Pod){"plain": plain, "anti-affinity": repelling, "zone-spread": spreading} {
		for _, nodes := range []int{100, 1000, 5000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", name, nodes), func(b *testing.B) {
				fleet := newFleet(nodes, decorate)
				filters, err := placement.New(b.Context(), placement.Config{})
				if err != nil {
					b.Fatal(err)
				}
				if err := filters.Sync(fleet.nodes, fleet.pods); err != nil {
					b.Fatal(err)
				}
				var made plan.Plan
				b.ReportAllocs()
				for b.Loop() {
					session := filters.Begin()
					fleet.input.Placement = sessionPlacement{session, fleet.objects}
					made = plan.New(fleet.input)
					session.Close()
				}
				b.ReportMetric(float64(len(made.Moves)), "moves")
			})
		}
	}
}

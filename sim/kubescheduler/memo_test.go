package kubescheduler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func newNode(i int, cores, gibibytes int64) *v1.Node {
	name := fmt.Sprintf("node-%03d", i)
	list := v1.ResourceList{
		v1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(gibibytes<<30, resource.BinarySI),
		v1.ResourcePods: *resource.NewQuantity(110, resource.DecimalSI),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, "zone": string(rune('a' + i%3))}},
		Status:     v1.NodeStatus{Capacity: list, Allocatable: list},
	}
}

func newPod(i int, milli, mebibytes int64) *v1.Pod {
	name := fmt.Sprintf("pod-%d", i)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": fmt.Sprint(i % 5)}},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
			},
		}}}},
	}
}

// oddities make the plugins consider more than requests, or several nodes together.
var oddities = []func(pod *v1.Pod){
	func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			}},
		}}
	},
	func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: v1.PodAffinityTerm{
				TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "1"}},
			}}},
		}}
	},
	func(pod *v1.Pod) {
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		}}
	},
	func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"zone": "b"} },
	func(pod *v1.Pod) { pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} },
	func(pod *v1.Pod) {
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	},
	func(pod *v1.Pod) { delete(pod.Spec.Containers[0].Resources.Requests, v1.ResourceMemory) },
	func(pod *v1.Pod) { pod.Spec.InitContainers = pod.Spec.Containers },
	func(pod *v1.Pod) { pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")} },
	func(pod *v1.Pod) { pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers...) },
	func(pod *v1.Pod) {
		pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	},
}

// pair is a Scheduler with a memo and one without.
type pair struct {
	t           *testing.T
	random      *rand.Rand
	with, anew  *Scheduler
	bound       []*v1.Pod
	made, alike int
}

// halved rejects every third node and scores by name.
type halved struct{}

func (halved) Filter(_ *v1.Pod, nodes []string) (kept []int) {
	for k, name := range nodes {
		if name[len(name)-1]%3 > 0 {
			kept = append(kept, k)
		}
	}
	return kept
}

func (halved) Prioritize(_ *v1.Pod, nodes []string) []int64 {
	points := make([]int64, len(nodes))
	for k, name := range nodes {
		points[k] = int64(name[len(name)-1] % 2)
	}
	return points
}

func newPair(t *testing.T, seed uint64) *pair {
	t.Helper()
	p := &pair{t: t, random: rand.New(rand.NewPCG(seed, 0))}
	var nodes []*v1.Node
	for i := range 5 + p.random.IntN(150) {
		node := newNode(i, 4+p.random.Int64N(3)*4, 8+p.random.Int64N(3)*8)
		if seed%4 == 3 && p.random.IntN(4) == 0 {
			node.Spec.Taints = []v1.Taint{{Key: "spot", Effect: v1.TaintEffectPreferNoSchedule}}
		}
		node.Spec.Unschedulable = seed%4 == 2 && p.random.IntN(10) == 0
		nodes = append(nodes, node)
	}
	config := Config{Seed: seed, Weight: 3}
	if seed%2 == 1 {
		config.Extender = halved{}
	}
	for _, s := range []**Scheduler{&p.with, &p.anew} {
		made, err := New(t.Context(), config, nodes)
		if err != nil {
			t.Fatal(err)
		}
		*s = made
	}
	p.anew.memo.maxKinds = 0
	return p
}

func (p *pair) place(odd bool) {
	p.t.Helper()
	p.made++
	pod := newPod(p.made, 100+p.random.Int64N(3)*200, 100+p.random.Int64N(2)*900)
	if odd {
		oddities[p.random.IntN(len(oddities))](pod)
	}
	want, wantErr := p.anew.Place(pod)
	got, err := p.with.Place(pod)
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, wantErr) {
		p.t.Fatalf("pod %d: error %v, without a memory %v (-without +with):\n%s", p.made, err, wantErr, diff)
	}
	if err != nil {
		return
	}
	p.alike++
	pod.Spec.NodeName = got
	p.bound = append(p.bound, pod)
	for _, s := range []*Scheduler{p.with, p.anew} {
		if err := s.Add(pod); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *pair) remove() {
	p.t.Helper()
	i := p.random.IntN(len(p.bound))
	pod := p.bound[i]
	p.bound = append(p.bound[:i], p.bound[i+1:]...)
	for _, s := range []*Scheduler{p.with, p.anew} {
		if err := s.Remove(pod); err != nil {
			p.t.Fatal(err)
		}
	}
}

// The memo changes no placement, neither after pods came and went, nor with odd pods in between,
// nor with taints.
func TestMemoryChangesNothing(t *testing.T) {
	for seed := range uint64(24) {
		p := newPair(t, seed)
		for range 300 {
			switch draw := p.random.IntN(10); {
			case draw < 2 && len(p.bound) > 0:
				p.remove()
			default:
				p.place(seed%3 > 0 && draw == 9)
			}
		}
		if p.alike < 100 {
			t.Errorf("seed %d: %d pods found a place, that shows nothing", seed, p.alike)
		}
	}
}

// Kinds of pods beyond the memo's limit are placed as well.
func TestMemoryIsBounded(t *testing.T) {
	p := newPair(t, 0)
	p.with.memo.maxKinds = 2
	for range 200 {
		p.place(false)
	}
	if got := len(p.with.memo.known); got != 2 {
		t.Errorf("%d kinds of pods are kept, want 2", got)
	}
}

// BenchmarkPlace fills nodes. In the case "anew", the plugins check every node for every pod.
func BenchmarkPlace(b *testing.B) {
	for _, count := range []int{500, 1500, 5000} {
		var nodes []*v1.Node
		for i := range count {
			nodes = append(nodes, newNode(i, 64, 256))
		}
		for _, how := range []string{"known", "anew"} {
			b.Run(fmt.Sprintf("nodes=%d/%s", count, how), func(b *testing.B) {
				scheduler, err := New(b.Context(), Config{}, nodes)
				if err != nil {
					b.Fatal(err)
				}
				if how == "anew" {
					scheduler.memo.maxKinds = 0
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					pod := newPod(i, 100, 100)
					if pod.Spec.NodeName, err = scheduler.Place(pod); err != nil {
						b.Fatal(err)
					}
					if err := scheduler.Add(pod); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

package placement

import (
	"fmt"
	"runtime"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const podsPerNode = 30

// fleet returns a cluster of 3 zones with 30 pods on each node and 30 replicas of each workload, so
// there are as many workloads as nodes. It calls decorate with each pod and the number of its
// workload.
func fleet(nodes int, decorate func(workload int, p *v1.Pod)) ([]*v1.Node, []*v1.Pod) {
	var ns []*v1.Node
	var ps []*v1.Pod
	for i := range nodes {
		ns = append(ns, aNode(fmt.Sprintf("node-%05d", i), nodeLabel(zoneKey, numbered("zone", i%3)),
			allocatable(v1.ResourceCPU, "32"), allocatable(v1.ResourceMemory, "256Gi")))
	}
	for w := range nodes {
		app := numbered("app", w)
		for r := range podsPerNode {
			// The 30 replicas are on different nodes, which alternate between all zones.
			node := ns[(w+r)%nodes]
			p := aPod(fmt.Sprintf("%s-%d", app, r), node.Name, podLabel("app", app), podLabel("pod-template-hash", app), cpu("500m"))
			p.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%06d%06d", w, r))
			p.ResourceVersion = "1"
			p.Spec.Tolerations = []v1.Toleration{
				{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute},
				{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute},
			}
			decorate(w, p)
			ps = append(ps, p)
		}
	}
	return ns, ps
}

func plain(int, *v1.Pod) {}

func spreading(_ int, p *v1.Pod) { spread(zoneKey, 1, selecting("app", p.Labels["app"]))(p) }

func spreadingByHost(_ int, p *v1.Pod) {
	spread(v1.LabelHostname, 1, selecting("app", p.Labels["app"]))(p)
}

func repelling(_ int, p *v1.Pod) {
	antiAffinity(v1.LabelHostname, selecting("app", p.Labels["app"]))(p)
}

// mixed gives 20 % of the workloads spread constraints and 20 % anti-affinity.
func mixed(w int, p *v1.Pod) {
	switch w % 5 {
	case 0:
		spreading(w, p)
	case 1:
		repelling(w, p)
	}
}

func kinds() map[string]func(int, *v1.Pod) {
	return map[string]func(int, *v1.Pod){
		"plain": plain, "zone spread": spreading, "host spread": spreadingByHost, "anti-affinity": repelling,
		"giant zone spread": giant(spreading), "giant anti-affinity": giant(repelling),
	}
}

// giant assigns a fifth of the pods to one workload.
func giant(decorate func(int, *v1.Pod)) func(int, *v1.Pod) {
	return func(w int, p *v1.Pod) {
		if w%5 == 0 {
			p.Labels["app"], p.Labels["pod-template-hash"] = "giant", "giant"
			decorate(w, p)
		}
	}
}

var sizes = []int{100, 1000, 5000}

// BenchmarkFits checks one pod after another on two nodes each.
func BenchmarkFits(b *testing.B) {
	for _, kind := range []string{"plain", "zone spread", "host spread", "anti-affinity"} {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/nodes=%d", kind, size), func(b *testing.B) {
				nodes, pods := fleet(size, kinds()[kind])
				f := offline(b)
				syncAll(b, f, nodes, pods)
				s := f.Begin()
				defer s.Close()
				i := 0
				for b.Loop() {
					pod := pods[(i*7)%len(pods)]
					s.Fits(pod, nodes[(i*13)%size].Name)
					s.Fits(pod, nodes[(i*13+size/2)%size].Name)
					i++
				}
			})
		}
	}
}

// BenchmarkFitsOneMoreNode checks one pod on one node after another.
func BenchmarkFitsOneMoreNode(b *testing.B) {
	for _, kind := range []string{"plain", "zone spread", "anti-affinity"} {
		b.Run(kind, func(b *testing.B) {
			nodes, pods := fleet(5000, kinds()[kind])
			f := offline(b)
			syncAll(b, f, nodes, pods)
			s := f.Begin()
			defer s.Close()
			i := 0
			for b.Loop() {
				i++
				s.Fits(pods[0], nodes[i%len(nodes)].Name)
			}
		})
	}
}

// BenchmarkPlan moves 7 pods off each of 10 % of the nodes. For each pod, it checks the nodes in
// turn until one accepts the pod, and starts at a different node each time.
func BenchmarkPlan(b *testing.B) {
	all := kinds()
	all["mixed"] = mixed
	for _, kind := range []string{"plain", "mixed", "giant zone spread", "giant anti-affinity"} {
		decorate := all[kind]
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/nodes=%d", kind, size), func(b *testing.B) {
				nodes, pods := fleet(size, decorate)
				f := offline(b)
				syncAll(b, f, nodes, pods)
				hot := map[string]int{}
				for i := 0; i < size; i += 10 {
					hot[nodes[i].Name] = 7
				}
				asked, moved := 0, 0
				for b.Loop() {
					asked, moved = planOnce(b, f, nodes, pods, hot)
				}
				b.ReportMetric(float64(asked), "asked")
				b.ReportMetric(float64(moved), "moved")
			})
		}
	}
}

func planOnce(b *testing.B, f *Filters, nodes []*v1.Node, pods []*v1.Pod, hot map[string]int) (asked, moved int) {
	s := f.Begin()
	defer s.Close()
	left := map[string]int{}
	for _, p := range pods {
		if left[p.Spec.NodeName] >= hot[p.Spec.NodeName] {
			continue
		}
		for try := range 20 {
			n := nodes[(moved*31+try*7+1)%len(nodes)]
			if hot[n.Name] > 0 {
				continue
			}
			asked++
			if s.Fits(p, n.Name).OK {
				mustMove(b, s, p, n.Name)
				left[p.Spec.NodeName]++
				moved++
				break
			}
		}
	}
	return asked, moved
}

func BenchmarkSync(b *testing.B) {
	for _, size := range sizes {
		nodes, pods := fleet(size, mixed)
		b.Run(fmt.Sprintf("cold/nodes=%d", size), func(b *testing.B) {
			for b.Loop() {
				f := newSnapshot()
				if err := f.sync(nodes, pods); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("churn=1%%/nodes=%d", size), func(b *testing.B) {
			f := newSnapshot()
			if err := f.sync(nodes, pods); err != nil {
				b.Fatal(err)
			}
			version := 1
			for b.Loop() {
				version++
				for i := version % 100; i < len(pods); i += 100 {
					p := *pods[i]
					p.ResourceVersion = fmt.Sprint(version)
					pods[i] = &p
				}
				if err := f.sync(nodes, pods); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("unchanged/nodes=%d", size), func(b *testing.B) {
			f := newSnapshot()
			if err := f.sync(nodes, pods); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := f.sync(nodes, pods); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMemory reports the memory per pod that the snapshot holds in addition to the pods
// themselves.
func BenchmarkMemory(b *testing.B) {
	nodes, pods := fleet(5000, mixed)
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		f := newSnapshot()
		if err := f.sync(nodes, pods); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(f)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(pods)), "B/pod")
	}
}

package schedulerplugin

import (
	"fmt"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// BenchmarkCycle is all that the plugin does for one pod at 5,000 nodes, of which kube-scheduler filters and scores 500.
func BenchmarkCycle(b *testing.B) {
	for name, hot := range map[string]int64{"cool": 3000, "some-hot": 8000} {
		b.Run(name, func(b *testing.B) {
			s := newStand(b)
			for i := range 5000 {
				used := int64(2000 + i%1000)
				if i%20 == 0 {
					used = hot
				}
				s.node(fmt.Sprintf("node-%04d", i), used)
			}
			s.observeFor(7)
			pod, sampled := strange("p", "100m"), s.nodes[:500]
			scores := make(fwk.NodeScoreList, len(sampled))
			b.ReportAllocs()
			for b.Loop() {
				cycle := &cycleState{}
				s.PreFilter(b.Context(), cycle, pod, s.nodes)
				for i, node := range sampled {
					s.Filter(b.Context(), cycle, pod, node)
					scores[i].Name = node.Node().Name
				}
				s.NormalizeScore(b.Context(), cycle, pod, scores)
				s.Reserve(b.Context(), cycle, pod, "node-0001")
				s.Unreserve(b.Context(), cycle, pod, "node-0001")
			}
		})
	}
}

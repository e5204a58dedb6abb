package plugin

import (
	"fmt"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// BenchmarkCycle measures all the work of the plugin for one pod, called as by kube-scheduler: it
// filters until enough nodes pass, and scores these. The case "unread" is that of a profile without
// preFilter and preScore, in which nodes are found by name.
func BenchmarkCycle(b *testing.B) {
	for _, size := range []struct{ nodes, enough int }{{1000, 420}, {5000, 500}} {
		for _, load := range []struct {
			name string
			hot  int64
		}{{"cool", 3000}, {"some-hot", 8000}} {
			s := benchStand(b, size.nodes, load.hot)
			name := fmt.Sprintf("%d-nodes/%s/", size.nodes, load.name)
			b.Run(name+"whole", func(b *testing.B) { s.cycles(b, size.enough, true) })
			b.Run(name+"unread", func(b *testing.B) { s.cycles(b, size.enough, false) })
		}
	}
}

// benchStand returns a stand with the given number of nodes, a tenth of which have the usage hot.
func benchStand(b *testing.B, nodes int, hot int64) *stand {
	b.Helper()
	s := newStand(b)
	for i := range nodes {
		used := int64(2000 + i%1000)
		if i%10 == 0 {
			used = hot
		}
		s.node(fmt.Sprintf("node-%04d", i), used)
	}
	s.observeFor(7)
	return s
}

func (s *stand) cycles(b *testing.B, enough int, whole bool) {
	pod, start := strange("p", "100m"), 0
	left, scores := make([]fwk.NodeInfo, 0, enough), make(fwk.NodeScoreList, enough)
	b.ReportAllocs()
	for b.Loop() {
		cycle, skipped := &cycleState{}, false
		if whole {
			_, status := s.PreFilter(b.Context(), cycle, pod, s.nodes)
			skipped = status.IsSkip()
		}
		for left = left[:0]; len(left) < enough; start = (start + 1) % len(s.nodes) {
			if skipped || s.Filter(b.Context(), cycle, pod, s.nodes[start]).IsSuccess() {
				left = append(left, s.nodes[start])
			}
		}
		if whole {
			s.PreScore(b.Context(), cycle, pod, left)
		}
		for i, node := range left {
			scores[i].Name = node.Node().Name
		}
		s.NormalizeScore(b.Context(), cycle, pod, scores)
		s.Reserve(b.Context(), cycle, pod, "node-0001")
		s.Unreserve(b.Context(), cycle, pod, "node-0001")
	}
}

package scorer

import (
	"fmt"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

func fleet(nodes int) *usage.View {
	view := &usage.View{Snapshot: &cluster.Snapshot{}, Siblings: map[string]cluster.Amounts{}}
	for i := range nodes {
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, &cluster.NodePods{
			Node: cluster.Node{Name: fmt.Sprintf("node-%05d", i), Allocatable: cluster.Amounts{32_000, 256 * gib}},
		})
		view.Nodes = append(view.Nodes, usage.NodeUsage{Predicted: usage.Every(cluster.Amounts{int64(i%70) * 320, 90 * gib})})
	}
	return view
}

func BenchmarkNewBoard(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			view := fleet(nodes)
			b.ReportAllocs()
			for b.Loop() {
				NewBoard(view, testConfig())
			}
		})
	}
}

// BenchmarkScore scores all nodes of a request, BenchmarkAccepts asks each.
func BenchmarkScore(b *testing.B) {
	for _, nodes := range []int{100, 500, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			board, request, scores := NewBoard(fleet(nodes), testConfig()), indices(nodes), make([]int8, nodes)
			b.ReportAllocs()
			for b.Loop() {
				board.Score(request, pod, scores)
			}
		})
	}
}

func BenchmarkAccepts(b *testing.B) {
	for _, nodes := range []int{100, 500, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			board := NewBoard(fleet(nodes), testConfig())
			b.ReportAllocs()
			for b.Loop() {
				for i := range int32(nodes) {
					board.Accepts(i, pod)
				}
			}
		})
	}
}

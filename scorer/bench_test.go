package scorer

import (
	"fmt"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

func fleet(nodes int) *usage.View {
	infos, reads := make([]cluster.Node, nodes), make([]usage.NodeUsage, nodes)
	for i := range nodes {
		infos[i] = cluster.Node{Name: fmt.Sprintf("node-%05d", i), Allocatable: cluster.Amounts{32_000, 256 * gib}}
		reads[i] = predicted(cluster.Amounts{int64(i%70) * 320, 90 * gib})
	}
	return viewOf(infos, reads)
}

// BenchmarkNewBoard resolves the lines against a view and builds the board.
func BenchmarkNewBoard(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			view, set := fleet(nodes), testConfig().set(b)
			b.ReportAllocs()
			for b.Loop() {
				NewBoard(view, set.Resolve(view), testConfig().Config)
			}
		})
	}
}

// BenchmarkScore scores all nodes of a request, and BenchmarkRefused checks each of them.
func BenchmarkScore(b *testing.B) {
	for _, nodes := range []int{100, 500, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			board, request, scores := testConfig().board(b, fleet(nodes)), indices(nodes), make([]int8, nodes)
			b.ReportAllocs()
			for b.Loop() {
				board.Score(request, pod, scores)
			}
		})
	}
}

func BenchmarkRefused(b *testing.B) {
	for _, nodes := range []int{100, 500, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			board := testConfig().board(b, fleet(nodes))
			asked, refused := indices(nodes), 0
			b.ReportAllocs()
			for b.Loop() {
				for range board.Refused(asked, pod) {
					refused++
				}
			}
			if refused == 0 {
				b.Error("no node was refused")
			}
		})
	}
}

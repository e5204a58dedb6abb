package thresholds

import (
	"fmt"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// BenchmarkJudge evaluates all answers about lines that one observation needs: both resources over
// three windows, available memory and a pressure, with distances from the mean and absolute levels.
func BenchmarkJudge(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			fleet := make([]node, nodes)
			for i := range fleet {
				fleet[i] = steady(int64(i%100)*100, int64(i%90))
				fleet[i].io = float64(i % 50)
			}
			view := viewOf(fleet...)
			rules := []Rule{evictAt(usage.IOPressure, usage.Avg5m, 45), evictAt(MemoryAvailable, usage.Avg5m, 10).reversed()}
			for _, window := range view.Windows {
				rules = append(rules,
					Rule{Metric: usage.CPU, Window: window, Levels: levels(40, 60, 65, 55)},
					Rule{Metric: usage.Memory, Window: window, Levels: levels(10, 10, 15, 5), Deviation: true})
			}
			set := setOf(b, rules...)
			b.ReportAllocs()
			for b.Loop() {
				r, hot := set.Resolve(view), 0
				for i := range view.Nodes {
					if _, ok := r.Over(i); ok {
						hot++
						r.Need(i, cluster.Amounts{})
					}
					r.Left(i)
					r.Cool(i)
					r.Ceiling(i)
				}
				if hot == 0 {
					b.Fatal("no node is hot")
				}
			}
		})
	}
}

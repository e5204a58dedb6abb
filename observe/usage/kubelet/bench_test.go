package kubelet

import (
	"bytes"
	"testing"
)

// BenchmarkDecode decodes the summaries of 100 nodes with 30 pods of two containers each, with and
// without contention.
func BenchmarkDecode(b *testing.B) {
	b.Run("usage", func(b *testing.B) { benchDecode(b, false, 8) })
	b.Run("contention", func(b *testing.B) { benchDecode(b, true, 10) })
}

func benchDecode(b *testing.B, contention bool, readings int) {
	const nodes, pods = 100, 30
	node, text := manyPods(pods), fullSummary(b, pods)
	reader := newScanner()
	b.SetBytes(int64(nodes * len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for range nodes {
			s, err := decodeSummary(bytes.NewReader(text), reader, node, contention)
			if err != nil {
				b.Fatal(err)
			}
			if got, _ := summarized(node, s, nil); len(got.pods) != pods || len(got.readings) != readings {
				b.Fatal(len(got.pods), len(got.readings))
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*nodes), "µs/node")
}

// BenchmarkDecodeResource decodes the resource metrics of 100 nodes with one pod each, 30 times.
func BenchmarkDecodeResource(b *testing.B) {
	node := aNode("n1", aPod("shop", "p"))
	text := []byte(exposed(1000, 10, noon))
	var kept counters
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		x, err := decodeExposition(bytes.NewReader(text), node)
		if err != nil {
			b.Fatal(err)
		}
		if _, kept = rated(node, x, kept, clock); len(kept) != 2 {
			b.Fatal(kept)
		}
	}
}

package slim_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/internal/testkit"
)

// BenchmarkTransform transforms a replica, which happens each time the watch reports one. For
// comparison, it also decodes the replica, which is the minimum that any informer costs.
func BenchmarkTransform(b *testing.B) {
	told, err := testkit.Pod().Marshal()
	if err != nil {
		b.Fatal(err)
	}
	decode := func(b *testing.B) *v1.Pod {
		pod := &v1.Pod{}
		if err := pod.Unmarshal(told); err != nil {
			b.Fatal(err)
		}
		return pod
	}
	b.Run("decode alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = decode(b)
		}
	})
	b.Run("decode and transform", func(b *testing.B) {
		b.ReportAllocs()
		s := slim.New()
		for b.Loop() {
			if _, err := s.Transform(decode(b)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

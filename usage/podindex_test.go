package usage

import (
	"fmt"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// Every pod is found by its name and namespace, whatever others are called, and no other is.
func TestPodIndexFindsEveryPod(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5, 1000} {
		var series []*podSeries
		for i := range n {
			series = append(series, &podSeries{pod: &cluster.Pod{Namespace: fmt.Sprint("ns-", i%3), Name: fmt.Sprint("db-", i/3)}, place: int32(i)}) //nolint:gosec // few
		}
		store := &Store{order: series, index: newPodIndex(series)}
		for _, ps := range series {
			if got := store.pod(ps.pod.Namespace, ps.pod.Name); got != ps {
				t.Fatalf("of %d pods %q is found as %v", n, ps.pod.Key(), got)
			}
		}
		for _, absent := range []cluster.Pod{{}, {Namespace: "ns-0"}, {Name: "db-0"}, {Namespace: "db-0", Name: "ns-0"}, {Namespace: "ns-3", Name: "db-0"}} {
			if got := store.pod(absent.Namespace, absent.Name); got != nil {
				t.Fatalf("of %d pods %q is found as %q", n, absent.Key(), got.pod.Key())
			}
		}
	}
}

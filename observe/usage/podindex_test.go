package usage

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// Every pod, and nothing else, is found by its name and namespace, whatever the names of the others
// are. This also holds after many pods have come and left, and if a pod takes the name of another
// before that one has left.
func TestPodIndexFindsEveryPod(t *testing.T) {
	for seed := range uint64(20) {
		index := newPodIndex()
		rng, there := rand.New(rand.NewPCG(seed, 1)), map[string]*podSeries{}
		for step := range 3000 {
			n := rng.IntN(300)
			pod := cluster.Pod{Namespace: fmt.Sprint("ns-", n%3), Name: fmt.Sprint("db-", n/3)}
			before := there[pod.Key()]
			if got := index.pod(pod.Namespace, pod.Name); got != before {
				t.Fatalf("step %d: %q is found as %v, want %v", step, pod.Key(), got, before)
			}
			if before == nil || rng.IntN(3) == 0 {
				there[pod.Key()] = &podSeries{pod: &pod}
				index.add(there[pod.Key()])
			}
			if before != nil && rng.IntN(2) == 0 {
				if index.remove(before); there[pod.Key()] == before {
					delete(there, pod.Key())
				}
			}
			if len(index.series) != len(there) {
				t.Fatalf("step %d: %d series are held for %d pods", step, len(index.series), len(there))
			}
		}
		for _, absent := range []cluster.Pod{{}, {Namespace: "ns-0"}, {Name: "db-0"}, {Namespace: "db-0", Name: "ns-0"}, {Namespace: "ns-3", Name: "db-0"}} {
			if got := index.pod(absent.Namespace, absent.Name); got != nil {
				t.Fatalf("%q is found as %q", absent.Key(), got.pod.Key())
			}
		}
	}
}

func TestAnEmptyPodIndexFindsNothing(t *testing.T) {
	index := newPodIndex()
	index.remove(&podSeries{pod: &cluster.Pod{}})
	if got := index.pod("", ""); got != nil {
		t.Errorf("found %v", got)
	}
}

package usage

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// docs/forecast.md states the memory of a workload: 510 bytes.
func TestSizeOfAWorkload(t *testing.T) {
	const many = 100_000
	before := heap()
	w := workloads{known: map[Workload]*workload{}, part: 1}
	for i := range many {
		kin := Kin{Namespace: "ns", Owner: cluster.Owner{Kind: "StatefulSet", Name: fmt.Sprint(i)}}
		w.hold(workloadOf(&kin)).add(1, 5)
	}
	w.begin(2)
	took := (heap() - before) / many
	runtime.KeepAlive(w)
	t.Logf("%.0f bytes", took)
	if took > 560 {
		t.Errorf("a workload takes %.0f bytes", took)
	}
}

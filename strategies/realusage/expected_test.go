package realusage

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// What a hot node is expected to use is what stays there: a pod that leaves makes
// no other move worth less, or more.
func TestLeavingPodsAreNotExpected(t *testing.T) {
	y := newYard(t)
	for i := range y.observed.View.Nodes {
		for k := range y.observed.View.Nodes[i].Pods {
			pod := &y.observed.View.Nodes[i].Pods[k]
			pod.Expected = forecast.Constant(pod.Used[cluster.CPU])
		}
	}
	expected := func() (hot, cool int64) {
		in := y.input(t)
		return in.Nodes[0].Load.Lasting(), in.Nodes[1].Load.Lasting()
	}
	if hot, cool := expected(); hot != 24_300 || cool != 3000 {
		t.Errorf("the hot node is expected to use %d, a cool one %d; want 24300 and 3000 as now", hot, cool)
	}
	y.pods["node-00000"][2].DeletionTimestamp = &metav1.Time{}
	if hot, cool := expected(); hot != 16_100 || cool != 3000 {
		t.Errorf("without the pod that leaves the hot node is expected to use %d, a cool one %d; want 16100 and 3000", hot, cool)
	}
}

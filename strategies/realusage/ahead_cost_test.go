package realusage

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// If all nodes are busy at the same hour, nothing is moved.
func TestCycleWhereAllAreBusyAtOneHour(t *testing.T) {
	f := newFleetOf(t, 5000, 1<<30, plain)
	f.observed.States["node-00000"] = thresholds.NodeState{State: thresholds.Cool}
	for _, recurs := range []bool{false, true} {
		t.Run(fmt.Sprintf("recurs: %v", recurs), func(t *testing.T) {
			for i := range f.observed.View.Nodes {
				for k := range f.observed.View.Nodes[i].Pods {
					pod := &f.observed.View.Nodes[i].Pods[k]
					used := pod.Used[cluster.CPU]
					pod.Expected = forecast.Constant(used)
					pod.Lasts = true
					if pod.Pattern.Pattern = nil; recurs {
						pod.Pattern.Pattern = &forecast.Pattern{Periods: 7, Off: 1e4, Spread: 1e6}
						for part := range pod.Pattern.Means {
							pod.Pattern.Means[part] = float32(used)
						}
						pod.Pattern.Means[20], pod.Pattern.Means[21] = float32(used)*2.2, float32(used)*2.2
					}
				}
			}
			f.observed.View.At = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
			plugin := f.plugin(t, f.begin, func(o *plugin.Options) {
				o.Recurs, o.MinHotTimeSaved = forecast.Clock{Period: 24 * time.Hour}, 10*time.Minute
			})
			made, err := plugin.Plan(klog.NewContext(t.Context(), logr.Discard()), &f.observed, f.nodes)
			if err != nil {
				t.Fatal(err)
			}
			if moves := len(made.Plan.Moves); moves > 0 {
				t.Errorf("%d moves", moves)
			}
		})
	}
}

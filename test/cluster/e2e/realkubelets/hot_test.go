package realkubelets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
)

// evictLine is in percent, of CPU and memory, as Fast has it.
const evictLine = 65

// skew is request-skew in small: the hot node looks emptiest by requests.
//
//	hot node:   4 hog × 115m = 460 of 500m = 92 %; requests 4 × 20m =  80m; without one hog 69 %, without two 46 %
//	other node: 1 bg  ×  30m =  30 of 500m =  6 %; requests 1 × 250m = 250m
//
// metrics-server also counts the 15m that kubelet and containerd use, 3 %.
func skew(f *stage.Fixture, nodes []*kubelets.Node) (fewest int) {
	f.T.Helper()
	hog := burning("hog", cluster.Resources{CPU: "20m", Memory: "32Mi"}, kubelets.Burn{MilliCPU: 115, MemoryMiB: 30, Linger: 3 * time.Second})
	bg := burning("bg", cluster.Resources{CPU: "250m", Memory: "32Mi"}, kubelets.Burn{MilliCPU: 30, MemoryMiB: 30})
	err := f.Place(f.T.Context(),
		cluster.Placement{Workload: hog, On: stage.On(4, nodes[0].Name)},
		cluster.Placement{Workload: bg, On: stage.On(1, nodes[1].Name, nodes[2].Name)})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(time.Minute, "metrics-server to measure the hot node and the cool ones", func(ctx context.Context) bool {
		used, err := f.MeasuredUsage(ctx)
		return err == nil && used[nodes[0].Name].CPUPercent > 75 && used[nodes[1].Name].CPUPercent < 30 && used[nodes[2].Name].CPUPercent < 30
	})
	return 2
}

// wantRelieved waits until moves have made the hot node cool, and checks each: its
// replacement is on the planned node, and it helped.
func wantRelieved(f *stage.Fixture, hot, metrics string, mark cluster.AuditMark, fewest int) {
	t := f.T
	t.Helper()
	f.Eventually(2*time.Minute, "the hot node to be cool", func(ctx context.Context) bool {
		used, err := f.MeasuredUsage(ctx)
		return err == nil && f.Evictions(mark) >= fewest && used[hot].CPUPercent < evictLine && used[hot].MemoryPercent < evictLine
	})
	helped := 0
	f.Eventually(2*time.Minute, "every move to be judged", func(context.Context) bool {
		value, err := f.ReadMetric(metrics, `evenkeel_moves_evaluated_total{criterion="helped",result="met"}`)
		helped = int(value)
		return err == nil && helped >= fewest
	})
	if got := f.Evictions(mark); got != fewest {
		t.Errorf("%d evictions, want %d", got, fewest)
	}
	if helped != fewest {
		t.Errorf("%d moves helped, want %d", helped, fewest)
	}
	running := map[string]string{}
	for _, pod := range f.Pods(t.Context(), "hog") {
		if pod.Status.Phase == "Running" {
			running[string(pod.UID)] = pod.Spec.NodeName
		}
	}
	for _, move := range f.Moves() {
		if move.State == "Cancelled" { // its pod was not evicted then, because a node was not ready
			continue
		}
		if node := running[move.Replacement]; move.From != hot || node != move.To {
			t.Errorf("move of %s from %s to %s: its replacement runs on %q", move.Pod, move.From, move.To, node)
		}
	}
	used, err := f.MeasuredUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("figures: %s after %d evictions", strings.Join(percentages(used), "; "), f.Evictions(mark))
}

func percentages(used map[string]cluster.NodeLoad) (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(used)) {
		texts = append(texts, fmt.Sprintf("%s %.0f%% CPU, %.0f%% memory", name, used[name].CPUPercent, used[name].MemoryPercent))
	}
	return texts
}

// The whole way with nothing simulated: containers burn CPU, kubelets measure it,
// metrics-server scrapes them, pods end gracefully and keep burning meanwhile.
func TestRealPodsAreMoved(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 3)
	fewest := skew(f, nodes)
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, loadPolicy), "--metrics-address", metrics)
	wantRelieved(f, nodes[0].Name, metrics, mark, fewest)
}

// Usage comes from /stats/summary of the kubelets. That of the hot node is restarted
// after the first eviction, which neither stops the relief nor moves a pod too many.
//
//e2e:tier all
func TestRealPodsAreMovedBySummary(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 3)
	f.Component("kubelet-source")
	fewest := skew(f, nodes)
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, fromKubelets("Summary")), "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "the first eviction", func(context.Context) bool { return f.Evictions(mark) > 0 })
	if err := nodes[0].RestartKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRelieved(f, nodes[0].Name, metrics, mark, fewest)
}

// Usage comes from /metrics/resource of the kubelets, where CPU is a counter.
//
//e2e:tier all
func TestRealPodsAreMovedByResourceMetrics(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 3)
	f.Component("kubelet-source")
	fewest := skew(f, nodes)
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, fromKubelets("Resource")), "--metrics-address", metrics)
	wantRelieved(f, nodes[0].Name, metrics, mark, fewest)
}

// Pods that hold memory are moved as well. Node and pods agree on it although the node
// also has page cache, and a node has its memory back as soon as a pod has ended.
//
//	hot node:   4 hog × 420Mi = 1680 of 1948Mi = 86 %; without one 65 %, without two 43 %; kubelet and containerd add 3 to 5 %
//	other node: 1 bg  ×  60Mi
//
//e2e:tier all
func TestRealMemoryIsRelieved(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 3)
	hog := burning("hog", cluster.Resources{CPU: "20m", Memory: "32Mi"}, kubelets.Burn{MilliCPU: 10, MemoryMiB: 420, Linger: 3 * time.Second})
	bg := burning("bg", cluster.Resources{CPU: "20m", Memory: "600Mi"}, kubelets.Burn{MilliCPU: 10, MemoryMiB: 60})
	err := f.Place(t.Context(),
		cluster.Placement{Workload: hog, On: stage.On(4, nodes[0].Name)},
		cluster.Placement{Workload: bg, On: stage.On(1, nodes[1].Name, nodes[2].Name)})
	if err != nil {
		t.Fatal(err)
	}
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, loadPolicy), "--metrics-address", metrics)
	wantRelieved(f, nodes[0].Name, metrics, mark, 2)
}

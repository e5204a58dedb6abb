package thresholds

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// memoryPlay samples a node's memory every 15 s. percentAt returns it in percent of 100 GiB for
// each second. memoryPlay returns when the node becomes hot, and its memory at that second.
func memoryPlay(t *testing.T, urgent Urgent, lag, phase int, percentAt func(second int) float64) (second int, percent float64, hot bool) {
	t.Helper()
	windows := []usage.Window{usage.Avg5m, median5m, quarter}
	store, err := usage.NewStore(usage.Config{
		SampleInterval: interval, MaxAge: 90 * time.Second, MinWindow: 150 * time.Second, Startup: 3 * time.Minute,
		Rise: time.Minute, Windows: windows,
	}, at(-7200))
	if err != nil {
		t.Fatal(err)
	}
	set := setOf(t, append(rulesOf(usage.CPU, windows...), memoryRules(windows...)...)...)
	set.Urgent = urgent
	size := cluster.Amounts{rigSize, 100 * gib}
	snapshot := &cluster.Snapshot{Nodes: []*cluster.NodePods{{
		Node: cluster.Node{Name: "n", Allocatable: size, Capacity: size, Ready: true, Schedulable: true},
		Pods: []*cluster.Pod{{UID: "uid-p", Namespace: "ns", Name: "p", Node: "n", Started: at(-7200), Created: at(-7200)}},
	}}}
	var states map[string]NodeState
	for second := phase - 1200; second <= 900; second += 15 {
		measured := at(second - lag)
		used := cluster.Amounts{1000, int64(percentAt(second-lag) * gib)}
		store.Ingest(snapshot, usage.Batch{
			Source: "test", Received: at(second),
			Nodes: []usage.NodeSample{{Name: "n", Readings: usage.LastReadings(measured, used)}},
			Pods:  []usage.PodSample{{Namespace: "ns", Name: "p", Last: usage.Sample{At: measured, Used: used.Minus(cluster.Amounts{500, gib})}}},
		})
		states = set.Resolve(store.View(snapshot, at(second), nil)).Classify(states, HotRule{ConsecutiveSamples: 3, SampleInterval: interval})
		if states["n"].State == Hot {
			return second, percentAt(second), true
		}
	}
	return 0, 0, false
}

func memoryRules(windows ...usage.Window) (rules []Rule) {
	for _, w := range windows {
		rules = append(rules, Rule{Metric: usage.Memory, Window: w, Levels: levels(60, 75, 80, 75)})
	}
	return rules
}

var shippedUrgent = Urgent{FullPercent: 95, Within: 3 * time.Minute}

// A leak of 5 % of the node's memory per minute, from any level, is detected before 92 %, which
// leaves time to evict.
func TestLeakIsUrgent(t *testing.T) {
	for _, from := range []float64{40, 60, 75, 79} {
		for _, lag := range []int{0, 10, 20} {
			for phase := 0; phase < 15; phase += 5 {
				leak := func(second int) float64 { return from + 5*max(float64(second), 0)/60 }
				second, percent, hot := memoryPlay(t, shippedUrgent, lag, phase, leak)
				if !hot || percent > 92 {
					t.Errorf("from %g %%, lag %d, phase %d: hot %v at %d with %.1f %%", from, lag, phase, hot, second, percent)
				}
				if _, percent, hot := memoryPlay(t, Urgent{}, lag, phase, leak); hot && percent < 95 {
					t.Errorf("from %g %%: hot at %.1f %% without this path: the test shows nothing", from, percent)
				}
			}
		}
	}
}

// A rise that ends is judged by the windows, whether memory falls again or stays.
func TestRisesThatAreNotUrgent(t *testing.T) {
	step := func(from, to float64, seconds int) func(int) float64 {
		return func(second int) float64 {
			if second >= 0 && second < seconds {
				return to
			}
			return from
		}
	}
	plays := map[string]func(int) float64{
		"a spike of 55 s":           step(60, 99, 55),
		"a spike of 55 s, near it":  step(79, 99, 55),
		"a step that stays a while": step(60, 90, 240),
		"a step above the line": func(second int) float64 {
			if second >= 0 && second < 200 {
				return step(83, 93, 140)(second - 60)
			}
			return 60
		},
		"a slow rise": func(second int) float64 { return min(70+0.5*max(float64(second), 0)/60, 78) },
		"a rise that ends": func(second int) float64 {
			if second > 300 {
				return 60
			}
			return min(70+6*max(float64(second), 0)/60, 82)
		},
		"a saw": func(second int) float64 { return 68 + float64((second+100_000)%50)/50*20 },
	}
	for name, play := range plays {
		for _, lag := range []int{0, 10} {
			for phase := 0; phase < 15; phase += 3 {
				t.Run(fmt.Sprintf("%s, lag %d, phase %d", name, lag, phase), func(t *testing.T) {
					if second, percent, hot := memoryPlay(t, shippedUrgent, lag, phase, play); hot {
						t.Errorf("hot at %d with %.1f %%", second, percent)
					}
				})
			}
		}
	}
}

func TestRisingMemoryOfANode(t *testing.T) {
	rising := func(change func(*usage.NodeUsage)) *Resolved {
		n := steady(1000, 85)
		n.average[1], n.highest[1] = 70, 70
		n.change = func(_ *cluster.Node, read *usage.NodeUsage) {
			read.Rise = usage.Rise{Lowest: 81 * gib, BytesPerMinute: 4 * gib}
			if change != nil {
				change(read)
			}
		}
		set := setOf(t, memoryRules(usage.Last, usage.Avg5m)...)
		set.Urgent = shippedUrgent
		return set.Resolve(viewOf(n))
	}
	r := rising(nil)
	if metric, over := r.Over(0); !over || metric != usage.Memory {
		t.Errorf("over %v by %q, want by memory", over, metric)
	}
	if need := r.Need(0, cluster.Amounts{}); need[cluster.Memory] != 5*gib {
		t.Errorf("need %v, want 5 GiB: by the newest sample", need)
	}
	if got, want := InWords(r.Evidence(0))[0], "memory 85.0% (last) is above the 80% evict line, rising by 4.0% a minute"; got != want {
		t.Errorf("evidence %q, want %q", got, want)
	}
	quiet := map[string]func(*usage.NodeUsage){
		"too slow":                func(read *usage.NodeUsage) { read.Rise.BytesPerMinute = 3 * gib },
		"a sample below the line": func(read *usage.NodeUsage) { read.Rise.Lowest = 79 * gib },
		"the pod has left":        func(read *usage.NodeUsage) { read.Current[usage.AtLast][cluster.Memory] -= 10 * gib },
		"the rest is below it":    func(read *usage.NodeUsage) { read.Current[usage.AtLast][cluster.Memory] -= 2 * gib },
	}
	for name, change := range quiet {
		if metric, over := rising(change).Over(0); over {
			t.Errorf("%s: over by %q", name, metric)
		}
	}
}

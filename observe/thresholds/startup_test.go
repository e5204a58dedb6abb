package thresholds

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// worker is a pod in a play, with its usage since its containers started.
type worker struct {
	cluster.Pod
	start int // the second in which its newest container started
	// The pod uses burst milli-cores for the given number of seconds, and then steady milli-cores.
	burst, seconds, steady int64
}

func (w *worker) at(second int) int64 {
	switch since := int64(second - w.start); {
	case since < 0:
		return 0
	case since < w.seconds:
		return w.burst
	}
	return w.steady
}

// play is a node with workers, observed by a process that starts at second begins.
type play struct {
	workers []worker
	// ready is when the node became ready.
	ready, begins int
	// windows reports whether the source provides windows, as Prometheus does. Otherwise it
	// provides samples.
	windows bool
	startup time.Duration
}

const (
	playSystem = 500
	scrape     = 15
	playLag    = 10
)

// rate returns a worker's usage between the two scrapes before second scraped.
func (p *play) rate(use func(int) int64, scraped int) int64 {
	sum := int64(0)
	for s := scraped - scrape; s < scraped; s++ {
		sum += use(s)
	}
	return sum / scrape
}

func (p *play) node(second int) int64 {
	used := int64(playSystem)
	for i := range p.workers {
		used += p.workers[i].at(second)
	}
	return min(used, rigSize)
}

// rates returns the rates of the scrapes in the last over seconds, oldest first. The first scrape
// was at second first.
func (p *play) rates(use func(int) int64, first, scraped, over int) (rates []int64) {
	for s := max(first+scrape, scraped-over+scrape); s <= scraped; s += scrape {
		rates = append(rates, p.rate(use, s))
	}
	return rates
}

func meanOf(values []int64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(max(len(values), 1))
}

var quarter = usage.Window{Kind: usage.KindAvg, Over: 15 * time.Minute}

// read returns the source's reading at a second.
func (p *play) read(second int) usage.Batch {
	scraped := second - playLag
	measured := at(scraped)
	batch := usage.Batch{Source: "test", Received: at(second)}
	memory := float64(8 << 30)
	if !p.windows {
		batch.Nodes = []usage.NodeSample{{Name: "n", Readings: usage.LastReadings(measured, cluster.Amounts{p.rate(p.node, scraped), int64(memory)})}}
	} else if p.ready+scrape <= scraped {
		sample := usage.NodeSample{Name: "n"}
		for _, w := range []usage.Window{usage.Avg5m, median5m, quarter} {
			rates := p.rates(p.node, p.ready, scraped, int(w.Over/time.Second))
			value := meanOf(rates)
			if w.Kind == usage.KindQuantile {
				slices.Sort(rates)
				value = float64(rates[(len(rates)-1)/2])
			}
			sample.Readings = append(sample.Readings, usage.Reading{Metric: usage.CPU, Window: w, At: measured, Value: value},
				usage.Reading{Metric: usage.Memory, Window: w, At: measured, Value: memory})
		}
		batch.Nodes = []usage.NodeSample{sample}
	}
	for i := range p.workers {
		w := &p.workers[i]
		if first := int(w.Started.Sub(at(0)) / time.Second); first+2*scrape <= scraped { // a rate needs two scrapes
			sample := usage.PodSample{Namespace: "ns", Name: w.Name}
			if p.windows {
				sample.Avg5m = usage.Sample{At: measured, Used: cluster.Amounts{int64(meanOf(p.rates(w.at, first, scraped, 300))), 1 << 30}}
			} else {
				sample.Last = usage.Sample{At: measured, Used: cluster.Amounts{p.rate(w.at, scraped), 1 << 30}}
			}
			batch.Pods = append(batch.Pods, sample)
		}
	}
	return batch
}

// snapshot returns the cluster as the watch shows it at a second.
func (p *play) snapshot(second int) *cluster.Snapshot {
	size := cluster.Amounts{rigSize, 256 << 30}
	node := &cluster.NodePods{Node: cluster.Node{
		Name: "n", Allocatable: size, Capacity: size, Ready: true, ReadySince: at(p.ready), Schedulable: true,
	}}
	for i := range p.workers {
		w := &p.workers[i]
		if int(w.Started.Sub(at(0))/time.Second) > second {
			continue
		}
		pod := w.Pod
		if w.start <= second {
			pod.RunningAfter = int32(at(w.start).Sub(w.Started) / time.Second)
		}
		node.Pods = append(node.Pods, &pod)
	}
	return &cluster.Snapshot{Nodes: []*cluster.NodePods{node}}
}

// firstHot runs the play with the shipped rule and returns the first second at which the node is
// hot. It checks that no starting pod counts as measured.
func (p *play) firstHot(t *testing.T, until int) (int, bool) {
	t.Helper()
	windows := []usage.Window{usage.Avg5m, median5m, quarter}
	store, err := usage.NewStore(usage.Config{
		SampleInterval: interval, MaxAge: 90 * time.Second, MinWindow: 150 * time.Second, Startup: p.startup, Windows: windows,
		Estimate: usage.Estimate{PercentOfRequest: cluster.Percents{85, 70}, Default: cluster.Amounts{250, 200 << 20}},
	}, at(-7200))
	if err != nil {
		t.Fatal(err)
	}
	set, err := New([]Pool{{Name: "default", Rules: append(rulesOf(usage.CPU, windows...), rulesOf(usage.Memory, windows...)...)}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var states map[string]NodeState
	for second := max(p.begins, p.ready); second <= until; second += 15 {
		snapshot := p.snapshot(second)
		store.Ingest(snapshot, p.read(second))
		view := store.View(snapshot, at(second), nil)
		states = set.Resolve(view).Classify(states, HotRule{ConsecutiveSamples: 3, SampleInterval: interval, Startup: p.startup})
		for j, pod := range snapshot.Nodes[0].Pods {
			if age := at(second).Sub(pod.NewestStart(at(second), p.startup)); view.Nodes[0].Pods[j].Measured && age < p.startup {
				t.Fatalf("second %d: %s counts as measured %v after its start", second, pod.Name, age)
			}
		}
		if states["n"].State == Hot {
			return second, true
		}
	}
	return 0, false
}

// aWorker returns a pod of an owner that requests 500m.
func aWorker(i int, owner string, created, start int, burst, seconds, steady int64) worker {
	return worker{
		Pod: cluster.Pod{
			UID: fmt.Sprintf("uid-%02d", i), Namespace: "ns", Name: fmt.Sprintf("p-%02d", i), Node: "n", Ready: true,
			Owner: cluster.Owner{UID: owner, Kind: "ReplicaSet", Name: owner}, Requests: cluster.Amounts{500, 1 << 30},
			Created: at(created), Started: at(created),
		},
		start: start, burst: burst, seconds: seconds, steady: steady,
	}
}

const longAgo = -7200

// base returns pods that have been running for a long time. Together with the system, they use 58 %
// of the node.
func base() (pods []worker) {
	for i := range 10 {
		pods = append(pods, aWorker(i, "old", longAgo, longAgo, 0, 0, 1800))
	}
	return pods
}

// scenarios returns, by name, plays whose pods use much more for the given
// number of seconds.
func scenarios(seconds int64) map[string]play {
	const burst, steady = 2600, 250 // five of them raise the node to 98 %, later to 62 %
	young := base()
	for i := range 5 {
		young = append(young, aWorker(10+i, "new", 0, 2, burst, seconds, steady))
	}
	var joined []worker
	for i := range 12 {
		joined = append(joined, aWorker(10+i, "new", 5, 8, burst, seconds, steady))
	}
	restarted := base()
	for i := range 5 {
		restarted = append(restarted, aWorker(10+i, "web", longAgo, 0, burst, seconds, steady))
	}
	pulled := base() // images are pulled for a minute first
	for i := range 5 {
		pulled = append(pulled, aWorker(10+i, "new", 0, 60, burst, seconds, steady))
	}
	var moved []worker // by a drain, one after the other
	for i := range 12 {
		moved = append(moved, aWorker(10+i, "new", 5*i, 5*i+2, burst, seconds, steady))
	}
	late := int(min(seconds, 180))
	return map[string]play{
		"pods start on an old node":         {workers: young, ready: longAgo, begins: -1200},
		"containers restart in old pods":    {workers: restarted, ready: longAgo, begins: -1200},
		"containers start after a pull":     {workers: pulled, ready: longAgo, begins: -1200},
		"a drain moves pods to an old node": {workers: append(base(), moved[:5]...), ready: longAgo, begins: -1200},
		"a drain moves pods to a new node":  {workers: moved, ready: -20, begins: -1200},
		"a new node joins":                  {workers: joined, ready: 0, begins: -1200},
		"a process starts before it":        {workers: young, ready: longAgo, begins: -30},
		"a process starts with it":          {workers: young, ready: longAgo, begins: 0},
		"a process starts early in it":      {workers: young, ready: longAgo, begins: 20},
		"a process starts late in it":       {workers: young, ready: longAgo, begins: late - 20},
		"a process starts after it":         {workers: young, ready: longAgo, begins: late + 20},
		"a process starts with a new node":  {workers: joined, ready: 0, begins: 10},
	}
}

// eachPlay calls do with each scenario, source and sampling phase.
func eachPlay(t *testing.T, seconds int64, startup time.Duration, do func(t *testing.T, name string, p *play)) {
	t.Helper()
	for name, p := range scenarios(seconds) {
		for _, windows := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, windows %v, %d s", name, windows, seconds), func(t *testing.T) {
				for phase := 0; phase < 15; phase += 4 {
					p := p
					p.windows, p.startup = windows, startup
					p.begins += phase
					do(t, name, &p)
				}
			})
		}
	}
}

// Usage of pods that are starting never makes their node hot.
func TestStartupIsNoHeat(t *testing.T) {
	for _, seconds := range []int64{60, 120, 180} {
		eachPlay(t, seconds, 3*time.Minute, func(t *testing.T, _ string, p *play) {
			if second, hot := p.firstHot(t, 1500); hot {
				t.Errorf("process started at %d: hot at %d", p.begins, second)
			}
		})
	}
}

// If the startup is turned off, most of these plays make the node hot.
func TestWithoutStartupItIsHeat(t *testing.T) {
	hot := map[string]bool{}
	eachPlay(t, 180, 0, func(t *testing.T, name string, p *play) {
		if _, is := p.firstHot(t, 1500); is {
			hot[name] = true
		}
	})
	if want := len(scenarios(0)) - 1; len(hot) < want {
		t.Errorf("%d of the plays make the node hot, want %d: %v", len(hot), want, hot)
	}
}

// The same usage makes the node hot if it lasts beyond the startup. Pods that have no siblings and
// request far less count once the samples or the mean after the startup cover enough time.
func TestHeatThatOutlastsTheStartup(t *testing.T) {
	latest := map[bool]int{}
	eachPlay(t, forever, 3*time.Minute, func(t *testing.T, name string, p *play) {
		second, hot := p.firstHot(t, 1500)
		if most := 60 + 140 + 180 + 300 + 60; !hot || second > most {
			t.Errorf("process started at %d: hot %v at %d, want at most %d", p.begins, hot, second, most)
		}
		latest[p.windows] = max(latest[p.windows], second)
	})
	t.Logf("by samples within %d s, by windows within %d s", latest[false], latest[true])
}

// Pods with known siblings count from their start, so a real scale-up makes its
// node hot as soon as the windows allow.
func TestScaleUpIsHeat(t *testing.T) {
	for _, windows := range []bool{false, true} {
		p := play{workers: base(), ready: longAgo, begins: -1200, windows: windows, startup: 3 * time.Minute}
		for i := range 6 {
			p.workers = append(p.workers, aWorker(10+i, "old", 0, 2, 1800, forever, 0))
		}
		if second, hot := p.firstHot(t, 1500); !hot || second > 300 {
			t.Errorf("windows %v: hot %v at %d", windows, hot, second)
		}
	}
}

// A process that starts while a node has been hot for a long time calls the node hot within three
// minutes, or at once if the source provides windows.
func TestHeatBeforeTheProcess(t *testing.T) {
	for windows, most := range map[bool]int{false: 165, true: 0} {
		p := play{workers: base(), ready: longAgo, windows: windows, startup: 3 * time.Minute}
		for i := range p.workers {
			p.workers[i].steady = 2600
		}
		if second, hot := p.firstHot(t, 1500); !hot || second > most {
			t.Errorf("windows %v: hot %v at %d, want at most %d", windows, hot, second, most)
		}
	}
}

// A node's usage counts once its windows that are over a line no longer reach back into its
// startup. Of a longer window, only the last five minutes matter. Until then the node does not even
// stay hot.
func TestNodesThatBecameReadyRecently(t *testing.T) {
	five, hourly := evictAt(usage.CPU, usage.Avg5m, 65), evictAt(usage.CPU, hour, 65)
	last := evictAt(usage.CPU, usage.Last, 65)
	cases := map[string]struct {
		ready   time.Duration // how long ago
		startup time.Duration
		rules   []Rule
		used    int64
		want    NodeState
	}{
		"in its startup": {time.Minute, 3 * time.Minute, []Rule{last}, 9000, NodeState{State: Warm, Starting: at(120)}},
		"after it, with a window that reaches back":    {7 * time.Minute, 3 * time.Minute, []Rule{last, five}, 9000, NodeState{State: Warm, Starting: at(60)}},
		"after it, with a window that does not":        {4 * time.Minute, 3 * time.Minute, []Rule{last}, 9000, NodeState{State: Hot, Over: 3}},
		"five minutes after it, by an hour":            {9 * time.Minute, 3 * time.Minute, []Rule{five, hourly}, 9000, NodeState{State: Hot, Over: 3}},
		"long after it":                                {time.Hour, 3 * time.Minute, []Rule{five}, 9000, NodeState{State: Hot, Over: 3}},
		"without a startup":                            {time.Second, 0, []Rule{five}, 9000, NodeState{State: Hot, Over: 3}},
		"by a clock that is ahead":                     {-time.Minute, 3 * time.Minute, []Rule{last}, 9000, NodeState{State: Warm, Starting: at(240)}},
		"by a clock that is wrong":                     {-time.Hour, 3 * time.Minute, []Rule{five}, 9000, NodeState{State: Hot, Over: 3}},
		"over no evict line, but above its leave line": {time.Minute, 3 * time.Minute, []Rule{{Metric: usage.CPU, Window: usage.Last, Levels: levels(45, 60, 65, 60)}}, 6200, NodeState{State: Warm, Starting: at(120)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := steady(tc.used, 10)
			n.change = func(node *cluster.Node, read *usage.NodeUsage) {
				node.Name, node.Ready, node.ReadySince, read.Sampled = "n", true, at(0).Add(-tc.ready), at(0)
				read.SourceSpan = make([]time.Duration, 3)
			}
			r := resolve(t, n, tc.rules...)
			r.view.At = at(0)
			before := map[string]NodeState{"n": {State: Hot, Over: 2, Sampled: at(-15)}}
			got := r.Classify(before, HotRule{ConsecutiveSamples: 3, SampleInterval: interval, Startup: tc.startup})["n"]
			if got.State != tc.want.State || got.Over != tc.want.Over || !got.Starting.Equal(tc.want.Starting) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

package rivals_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/rivals"
)

func pod(id int, cpu, memory int64) rivals.Pod {
	return rivals.Pod{ID: id, Owner: id, Used: cluster.Amounts{cpu, memory}, Requests: cluster.Amounts{10, 10}}
}

func tenWanted(int) rivals.Owner { return rivals.Owner{Wanted: 10} }

func ids(jobs []rivals.Job) (ids []int) {
	for _, job := range jobs {
		ids = append(ids, job.Pod.ID)
	}
	return ids
}

// looks lets Koordinator look at nodes n times, ten seconds apart, and returns the jobs of the last
// look.
func looks(k *rivals.Koordinator, n int, nodes ...rivals.Node) []int {
	at := now
	for i := range n {
		at = now.Add(time.Duration(i) * rivals.LookInterval)
		k.Look(at, nodes, tenWanted)
	}
	return ids(k.Due(at))
}

// A node above 75% of CPU or 80% of memory is abnormal from the sixth look on. It is relieved while
// another node is below 45% and 55%.
func TestKoordinatorThresholds(t *testing.T) {
	hot := func(cpu, memory int64) rivals.Node { return node("hot", 0, 0, pod(1, cpu, memory)) }
	low := func(cpu, memory int64) rivals.Node { return node("low", 0, 0, pod(2, cpu, memory)) }
	for name, tc := range map[string]struct {
		looks    int
		hot, low rivals.Node
		want     []int
	}{
		"five looks":               {5, hot(751, 0), low(0, 0), nil},
		"six looks":                {6, hot(751, 0), low(0, 0), nil}, // of 750, it cannot accept 751
		"not above":                {9, hot(750, 0), low(0, 0), nil},
		"memory":                   {9, hot(0, 801), low(0, 0), nil},
		"nobody low":               {9, node("hot", 0, 0, pod(1, 400, 0), pod(3, 400, 0)), low(451, 0), nil},
		"nobody low by memory":     {9, node("hot", 0, 0, pod(1, 400, 0), pod(3, 400, 0)), low(0, 551), nil},
		"relieved":                 {6, node("hot", 0, 0, pod(1, 400, 0), pod(3, 400, 0)), low(100, 0), []int{1}},
		"relieved at the low line": {6, node("hot", 0, 0, pod(1, 500, 0), pod(3, 260, 0)), low(450, 550), []int{3}},
		"relieved by memory":       {6, node("hot", 0, 0, pod(1, 0, 401), pod(3, 0, 400)), low(100, 100), []int{1}}, // the low node is charged with 1
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, looks(rivals.NewKoordinator(), tc.looks, tc.hot, tc.low)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// If a node is 100 above its threshold, pods that cover the excess are chosen first, the closest
// one before the others. The largest of those that do not cover it come next.
func TestKoordinatorChoosesWhoCovers(t *testing.T) {
	nodes := []rivals.Node{
		node("hot", 0, 0, pod(1, 90, 0), pod(2, 450, 0), pod(3, 110, 0), pod(4, 200, 0)), node("low", 0, 0),
	}
	if diff := cmp.Diff([]int{3}, looks(rivals.NewKoordinator(), 6, nodes...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	small := []rivals.Node{node("hot", 0, 0), node("low", 0, 0), node("other", 0, 0)}
	for i := range 20 { // from 40 to 59, 990 in total; none covers 240
		small[0].Pods = append(small[0].Pods, pod(i, int64(40+i), 0))
	}
	if diff := cmp.Diff([]int{19, 18}, looks(rivals.NewKoordinator(), 6, small...)); diff != "" {
		t.Errorf("two jobs per node (-want +got):\n%s", diff)
	}
}

// There are never more jobs than the workload allows, nor a second one for a pod. A job gives up
// after five minutes, and an eviction delays the next one of its workload.
func TestKoordinatorKeepsItsLimits(t *testing.T) {
	pods := []rivals.Pod{pod(1, 400, 0), pod(2, 400, 0)}
	pods[0].Owner, pods[1].Owner = 7, 7
	nodes := []rivals.Node{node("hot", 0, 0, pods...), node("low", 0, 0)}
	for name, tc := range map[string]struct {
		owner rivals.Owner
		want  int
	}{
		"ten pods":               {rivals.Owner{Wanted: 10}, 1},
		"one of them is missing": {rivals.Owner{Wanted: 10, Missing: 1}, 1},
		"two are missing":        {rivals.Owner{Wanted: 10, Missing: 2}, 0},
		"three pods":             {rivals.Owner{Wanted: 3}, 1},
		"one of three missing":   {rivals.Owner{Wanted: 3, Missing: 1}, 0},
		"a single pod":           {rivals.Owner{Wanted: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			k := rivals.NewKoordinator()
			for i := range 7 {
				k.Look(now.Add(time.Duration(i)*rivals.LookInterval), nodes, func(int) rivals.Owner { return tc.owner })
			}
			if got := len(k.Due(now.Add(time.Minute))); got != tc.want {
				t.Errorf("%d jobs, want %d", got, tc.want)
			}
		})
	}
	k := rivals.NewKoordinator()
	looks(k, 6, nodes...)
	job := k.Due(now.Add(time.Minute))[0]
	if again := k.Due(now.Add(50*time.Second + 5*time.Minute)); len(again) > 0 {
		t.Errorf("after five minutes there still is %+v", again)
	}
	k.Evicted(job, 10, now)
	looks(k, 9, nodes...) // the pods of one workload, two per five minutes
	if due := k.Due(now.Add(149 * time.Second)); len(due) > 0 {
		t.Errorf("the next job of the workload continues at once: %+v", due)
	}
}

func TestMaxMigrating(t *testing.T) {
	for replicas, want := range map[int]int{1: 1, 3: 1, 4: 2, 10: 2, 11: 1, 25: 2, 100: 10} {
		if got := rivals.MaxMigrating(replicas); got != want {
			t.Errorf("of %d: %d, want %d", replicas, got, want)
		}
	}
}

// The abnormal state ends after a minute, and it then takes six looks again to become abnormal.
func TestKoordinatorForgets(t *testing.T) {
	k := rivals.NewKoordinator()
	nodes := []rivals.Node{node("hot", 0, 0, pod(1, 400, 0), pod(3, 400, 0)), node("low", 0, 0)}
	refuse := func(int) rivals.Owner { return rivals.Owner{Wanted: 1} }
	for i := range 6 {
		k.Look(now.Add(time.Duration(i)*rivals.LookInterval), nodes, refuse)
	}
	abnormal := now.Add(50 * time.Second)
	for i, at := range []time.Duration{61, 71, 81, 91, 101} {
		if k.Look(abnormal.Add(at*time.Second), nodes, tenWanted); len(k.Due(abnormal.Add(at*time.Second))) > 0 {
			t.Errorf("look %d makes a job", i+1)
		}
	}
	if k.Look(abnormal.Add(111*time.Second), nodes, tenWanted); len(k.Due(abnormal.Add(111*time.Second))) != 1 {
		t.Error("the sixth look makes no job")
	}
}

func TestEstimate(t *testing.T) {
	for name, tc := range map[string]struct{ requests, want cluster.Amounts }{
		"by requests": {cluster.Amounts{1000, 1000}, cluster.Amounts{850, 700}},
		"rounded":     {cluster.Amounts{10, 5}, cluster.Amounts{9, 4}}, // 8.5 and 3.5
		"none":        {cluster.Amounts{}, cluster.Amounts{250, 200 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rivals.Estimate(tc.requests); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// Expect returns what a node is expected to use with a pod of 100, estimated at 85 and 70, in
// addition to 50 used by the system. The time is half a minute after the last report.
func TestExpect(t *testing.T) {
	requests := cluster.Amounts{100, 100}
	at := func(used int64, bound, ready time.Duration) rivals.Pod {
		return rivals.Pod{Used: cluster.Amounts{used, 0}, Requests: requests, Bound: now.Add(-bound), Ready: now.Add(-ready)}
	}
	for name, tc := range map[string]struct {
		pods []rivals.Pod
		want cluster.Amounts
	}{
		"alone":                            {nil, cluster.Amounts{135, 70}},
		"an old pod":                       {[]rivals.Pod{at(20, time.Hour, time.Hour)}, cluster.Amounts{155, 70}},
		"one that is not reported yet":     {[]rivals.Pod{at(20, 10*time.Second, 0)}, cluster.Amounts{220, 140}},
		"one that was bound shortly ago":   {[]rivals.Pod{at(20, 80*time.Second, 50*time.Second)}, cluster.Amounts{220, 140}},
		"the same that uses more":          {[]rivals.Pod{at(200, 80*time.Second, 50*time.Second)}, cluster.Amounts{335, 140}},
		"one bound in the interval before": {[]rivals.Pod{at(20, 95*time.Second, 65*time.Second)}, cluster.Amounts{155, 70}},
	} {
		t.Run(name, func(t *testing.T) {
			n := rivals.Node{System: cluster.Amounts{50, 0}, Pods: tc.pods}
			if got := rivals.Expect(now, &n, requests); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestLoadAware(t *testing.T) {
	for name, tc := range map[string]struct {
		expected cluster.Amounts
		score    int64
		admits   bool
	}{
		"idle":               {cluster.Amounts{}, 100, true},
		"half and a quarter": {cluster.Amounts{500, 250}, 62, true}, // (50+75)/2
		"at the line":        {cluster.Amounts{654, 954}, 19, true}, // 65.4 and 95.4 round down; (34+4)/2
		"above it":           {cluster.Amounts{655, 0}, 67, false},  // (34+100)/2
		"memory above it":    {cluster.Amounts{0, 955}, 52, false},
		"more than there is": {cluster.Amounts{1001, 0}, 50, false},
	} {
		t.Run(name, func(t *testing.T) {
			capacity := cluster.Amounts{1000, 1000}
			if score, admits := rivals.LeastUsed(tc.expected, capacity), rivals.Admits(tc.expected, capacity); score != tc.score || admits != tc.admits {
				t.Errorf("%d and %v, want %d and %v", score, admits, tc.score, tc.admits)
			}
		})
	}
}

func TestRiskBalancing(t *testing.T) {
	for name, tc := range map[string]struct {
		used     []cluster.Amounts
		requests cluster.Amounts
		want     int64
	}{
		"idle":             {[]cluster.Amounts{{}}, cluster.Amounts{}, 100},
		"mean":             {[]cluster.Amounts{{500, 0}}, cluster.Amounts{100, 0}, 70},                 // 1 - 0.6/2
		"variation":        {[]cluster.Amounts{{400, 0}, {600, 0}}, cluster.Amounts{100, 0}, 65},       // 1 - (0.6+0.1)/2
		"the riskier":      {[]cluster.Amounts{{400, 800}, {600, 800}}, cluster.Amounts{100, 0}, 60},   // memory: 1 - 0.8/2
		"not above one":    {[]cluster.Amounts{{950, 0}}, cluster.Amounts{100, 0}, 50},                 // mu 1
		"three variations": {[]cluster.Amounts{{0, 0}, {300, 0}, {600, 0}}, cluster.Amounts{0, 0}, 73}, // 1 - (0.3+0.2449)/2
	} {
		t.Run(name, func(t *testing.T) {
			if got := rivals.RiskBalancing(tc.used, cluster.Amounts{1000, 1000}, tc.requests); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestTargetLoad(t *testing.T) {
	for name, tc := range map[string]struct {
		used   int64
		recent time.Duration
		want   int64
	}{
		"packs below the target":  {50, time.Hour, 70},         // 5% + 15%: 60*20/40+40
		"at the target":           {250, time.Hour, 100},       // 40%
		"spreads above it":        {550, time.Hour, 20},        // 70%: 40*30/60
		"counts who came shortly": {400, 59 * time.Second, 20}, // 40% + 15% + 15%
		"never above all":         {860, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := node("a", 0, 0, rivals.Pod{Requests: cluster.Amounts{100, 0}, Bound: now.Add(-tc.recent)})
			if got := rivals.TargetLoad(now, &n, []cluster.Amounts{{tc.used, 0}}, cluster.Amounts{100, 0}); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}
